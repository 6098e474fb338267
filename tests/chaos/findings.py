"""What broke: promises by their number in ``docs/explanation/what-is-promised.md``, each with what was seen."""

import time
from collections import Counter
from threading import Lock

MOST = 5
"""Of one promise, so many are told in full."""


class Findings:
    """Shared by everything that looks."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._began = time.monotonic()
        self.counts: Counter[str] = Counter()
        self.told: list[str] = []
        self.checked: Counter[str] = Counter()
        """How often each promise was looked at."""

    def looked(self, promise: str, times: int = 1) -> None:
        """A promise was held against what is."""
        with self._lock:
            self.checked[promise] += times

    def broke(self, promise: str, message: str) -> None:
        """A promise was not kept."""
        with self._lock:
            self.counts[promise] += 1
            if self.counts[promise] <= MOST:
                said = f"{promise}: {message} (at {time.monotonic() - self._began:.1f} s)"
                self.told.append(said)
                print(f"BROKEN  {said}", flush=True)

    def note(self, message: str) -> None:
        """What may be of use to whoever reads along."""
        print(f"{time.monotonic() - self._began:7.1f} s  {message}", flush=True)
