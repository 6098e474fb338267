"""When what was out of order, so that a check knows what it may ask for."""

import math
import time
from threading import Lock


class Weather:
    """Troubles by name (``ledger``, ``bucket``, ``cut worker-3``, ``frozen api-1``, ``down worker-1``) and time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._over: list[tuple[str, float, float]] = []
        self._on: dict[str, float] = {}
        self.counts: dict[str, int] = {}

    def begin(self, trouble: str) -> None:
        """From now on."""
        with self._lock:
            kind = trouble.partition(" ")[0]
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self._on.setdefault(trouble, time.monotonic())

    def end(self, trouble: str) -> None:
        """Until now."""
        with self._lock:
            began = self._on.pop(trouble, None)
            if began is not None:
                self._over.append((trouble, began, time.monotonic()))

    def among(self, since: float, until: float, *kinds: str) -> list[str]:
        """Troubles of these kinds (any, when none is named) that were on at some time between two moments."""
        with self._lock:
            spans = [*self._over, *((trouble, began, math.inf) for trouble, began in self._on.items())]
        return [
            trouble
            for trouble, began, ended in spans
            if began <= until and ended >= since and (not kinds or trouble.partition(" ")[0] in kinds)
        ]

    def last_end(self, moment: float, *kinds: str) -> float:
        """When the last trouble of these kinds that lasted at a moment, or began within a second of it, was over."""
        with self._lock:
            spans = [*self._over, *((trouble, began, math.inf) for trouble, began in self._on.items())]
        return max(
            (
                ended
                for trouble, began, ended in spans
                if began <= moment + 1 and ended >= moment and trouble.partition(" ")[0] in kinds
            ),
            default=moment,
        )
