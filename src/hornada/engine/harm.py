"""How much later regular calls begin to be answered because lines run beside them, and what that costs the lines."""

from collections import deque

SPAN_S = 600.0
"""How long a time to first byte is remembered."""
LEAST = 20
"""Calls that a percentile is taken from, at least."""
SLACK_S = 0.005
"""What is never called harm, in seconds."""
_MOST = 2000
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
        self._stepped = float("-inf")
        self._paused = float("-inf")
        self._quiet: float | None = None
        self._next_pause = float("-inf")

    def note(self, now: float, seconds: float, *, beside: bool) -> None:
        """A regular call's answer began after ``seconds``; ``beside``: lines were under way when it was made."""
        (self._beside if beside else self._alone).add(now, seconds)

    def tick(self, now: float, *, lines: int, capacity: int) -> None:
        """Judges; at most one step in ten seconds, each on calls that were made since the one before."""
        alone, beside = self._alone.since(now - SPAN_S), self._beside.since(max(self._stepped, now - SPAN_S))
        known = len(alone) >= LEAST
        if known and len(beside) >= LEAST:
            self.ratio = _p95(beside) / max(_p95(alone), 1e-6)
            if self.most is not None and now - self._stepped >= _STEP_S:
                self._judge(now, _p95(alone) * (1 + self.most) + SLACK_S, beside, capacity)
        elif not beside and not self._beside.since(now - SPAN_S):
            self.ratio = None
        self._rest(now, lines=lines, needed=self.most is not None and not known and len(beside) >= LEAST)

    def _judge(self, now: float, allowed: float, beside: list[float], capacity: int) -> None:
        """Of n calls n/20 may be later than allowed; twice the deviation of that number more is no chance."""
        late = sum(seconds > allowed for seconds in beside)
        fair = len(beside) / 20
        if late > fair + 2 * (fair * 0.95) ** 0.5:
            self.reserve = min(capacity, self.reserve + 1)
            self._stepped = now
        elif late <= fair and self.reserve and now - self._stepped >= _RELEASE_S:
            self.reserve -= 1
            self._stepped = now

    def _rest(self, now: float, *, lines: int, needed: bool) -> None:
        """Begins a pause when one is due; ends it a second after the last line, or when that takes too long."""
        if not self.pausing:
            if needed and lines and now >= self._next_pause:
                self.pausing, self._paused, self._quiet = True, now, None
            return
        if self._quiet is None and not lines:
            self._quiet = now
        over = self._quiet is not None and now - self._quiet >= _PAUSE_S
        if over or (self._quiet is None and now - self._paused >= _DRAIN_S):
            self.pausing = False
            self._next_pause = now + max(_PAUSE_EVERY_S, _DEAREST * (now - self._paused)) - (now - self._paused)


def _p95(times: list[float]) -> float:
    return sorted(times)[max(0, -(-len(times) * 19 // 20) - 1)]
