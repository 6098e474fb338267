"""How much later regular calls begin to be answered because lines run beside them, and what that costs the lines."""

import math
from collections import deque

SPAN_S = 600.0
"""How long a time to first byte is remembered."""
LEAST = 20
"""Calls that a percentile is taken from, at least."""
SLACK_S = 0.005
"""What is never called harm, in seconds."""
_MOST = 2000
_LOOK_S = 5.0
_STEP_S = 10.0
_RELEASE_S = 60.0
_PAUSE_S = 1.0
_PAUSE_EVERY_S = 60.0
_DRAIN_S = 5.0
_DEAREST = 20.0
"""Pauses take no more than this part (one in so many) of the time."""


class _Times:
    """Times to first byte of the last ten minutes, with when they were taken."""

    def __init__(self) -> None:
        self._times: deque[tuple[float, float]] = deque(maxlen=_MOST)

    def add(self, now: float, seconds: float) -> None:
        self._times.append((now, seconds))

    def since(self, then: float) -> list[float]:
        while self._times and self._times[0][0] < then - SPAN_S:
            self._times.popleft()
        return [seconds for at, seconds in self._times if at >= then]


class Harm:
    """Holds calls beside which lines ran against calls that had the model to themselves.

    ``reserve`` grows by one while the 95th percentile beside lines passes that without by more than ``most`` (0.05: by
    5 %) and 5 ms, for certain and not by chance; it falls again slowly. Lines pause for a second a minute where there
    would otherwise be nothing to hold against. ``most`` None: measured only.
    """

    def __init__(self, most: float | None) -> None:
        self.most = most
        self.reserve = 0
        self.ratio: float | None = None
        """95th percentile beside lines by that without; None while too few calls are known."""
        self.pausing = False
        self._beside = _Times()
        self._alone = _Times()
        self._looked = float("-inf")
        self._stepped = float("-inf")
        self._needed = False
        self._paused = float("-inf")
        self._quiet: float | None = None
        self._next_pause = float("-inf")

    def note(self, now: float, seconds: float, *, beside: bool) -> None:
        """A regular call's answer began after ``seconds``; ``beside``: lines were under way when it was made."""
        (self._beside if beside else self._alone).add(now, seconds)

    def tick(self, now: float, *, lines: int, capacity: int) -> None:
        """Judges every five seconds; at most one step in ten, each on calls that were made since the one before."""
        if now - self._looked >= _LOOK_S:
            self._looked = now
            self._look(now, capacity)
        self._rest(now, lines=lines)

    def _look(self, now: float, capacity: int) -> None:
        alone, beside = self._alone.since(now - SPAN_S), self._beside.since(now - SPAN_S)
        fresh = self._beside.since(max(self._stepped, now - SPAN_S))
        known = len(alone) >= LEAST
        self._needed = self.most is not None and not known and len(beside) >= LEAST
        if known and len(fresh) >= LEAST:
            self.ratio = _p95(fresh) / max(_p95(alone), 1e-6)
        elif not beside:
            self.ratio = None
        if self.most is None or now - self._stepped < _STEP_S:
            return
        allowed = _p95(alone) * (1 + self.most) + SLACK_S if known else float("inf")
        if len(fresh) >= LEAST and _late(fresh, allowed, sure=2) and self.reserve < capacity:
            self.reserve, self._stepped = self.reserve + 1, now
            return
        calm = now - self._stepped >= _RELEASE_S and not _late(self._beside.since(now - _RELEASE_S), allowed)
        if self.reserve and calm:
            self.reserve, self._stepped = self.reserve - 1, now

    def _rest(self, now: float, *, lines: int) -> None:
        """Begins a pause when one is due; ends it a second after the last line, or when that takes too long."""
        if not self.pausing:
            if self._needed and lines and now >= self._next_pause:
                self.pausing, self._paused, self._quiet = True, now, None
            return
        if self._quiet is None and not lines:
            self._quiet = now
        over = self._quiet is not None and now - self._quiet >= _PAUSE_S
        if over or (self._quiet is None and now - self._paused >= _DRAIN_S):
            self.pausing = False
            self._next_pause = now + max(_PAUSE_EVERY_S, _DEAREST * (now - self._paused)) - (now - self._paused)


def _late(times: list[float], allowed: float, sure: float = 0) -> bool:
    """Whether more than one of twenty is later than allowed, by so many standard deviations of that number."""
    fair = len(times) / 20
    return sum(seconds > allowed for seconds in times) > fair + sure * math.sqrt(fair * 0.95)


def _p95(times: list[float]) -> float:
    return sorted(times)[max(0, -(-len(times) * 19 // 20) - 1)]
