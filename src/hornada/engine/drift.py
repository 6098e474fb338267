"""Whether more calls at once only wait longer: latency against the number of calls, for servers without a gauge."""

import math
from collections import deque
from collections.abc import Iterable

from msgspec import Struct

SAMPLES = (16, 64)
"""Calls that a latency is taken from, at least: few see soonest what is plain, more see what is not."""
_SPAN = 0.7
"""Latency is held against that at no more than this part of the present calls, so that a difference can show."""
_SURE = 1.8
"""Standard errors by which a difference must pass the bound."""
_BACK = (0.8, 0.5)
"""To which part of the calls that did not seem to wait a step down goes, to see the latency there afresh: where about
half of what was added had to wait, and where all of it had to, so that those before it may have waited too."""
_KEPT = 256
_ENOUGH = 256


class Span(Struct, frozen=True):
    """Calls that ended while ``level`` were allowed at once: their number, and sums of their latencies' logarithms."""

    level: int
    count: int
    total: float
    squares: float

    @property
    def mean(self) -> float:
        """Logarithm of the typical latency."""
        return self.total / self.count

    @property
    def error(self) -> float:
        """Square of the mean's standard error."""
        return max(0.0, self.squares / self.count - self.mean**2) / self.count


class Drift:
    """Compares what calls take now with what they took when fewer were under way.

    If latency grows half as fast as the number of calls, or faster, more calls bring more waiting than work: that is
    where throughput by latency is greatest (L. Kleinrock, "Power and deterministic rules of thumb", 1979). Both
    latencies are from the present climb, so that what the past was like does not count.
    """

    def __init__(self) -> None:
        self._spans: deque[Span] = deque(maxlen=_KEPT)
        self._count = 0
        self._total = 0.0
        self._squares = 0.0
        self._settling = False

    @property
    def enough(self) -> bool:
        """Whether more calls of this span would tell nothing more."""
        return self._count >= _ENOUGH

    def add(self, latency: float) -> None:
        """A call took ``latency`` seconds."""
        log = math.log(max(latency, 1e-4))
        self._count += 1
        self._total += log
        self._squares += log * log

    def begin(self, level: int | None = None) -> None:
        """Calls that end from now on belong to another span; those since the last time were ``level`` at once.

        None: they say nothing.
        """
        if level is not None and self._count and not self._settling:
            self._spans.append(Span(level, self._count, self._total, self._squares))
        self._count, self._total, self._squares, self._settling = 0, 0.0, 0.0, False

    def forget(self) -> None:
        """Another climb begins; calls that are still under way are none of it."""
        self._spans.clear()
        self.begin()
        self._settling = True

    def verdict(self) -> int | None:
        """To how many calls to go back, None when nothing speaks for it."""
        verdicts = (self._verdict(samples) for samples in SAMPLES)
        return next((verdict for verdict in verdicts if verdict is not None), None)

    def _verdict(self, samples: int) -> int | None:
        now = _pool(reversed(self._spans), samples)
        if now is None:
            return None
        then = _pool((span for span in reversed(self._spans) if span.level <= _SPAN * now.level), samples)
        if then is None:
            return None
        longer = now.mean - then.mean
        surely = longer - _SURE * math.sqrt(now.error + then.error)
        more = math.log(now.level / then.level)
        if surely <= 0.5 * more:
            return None
        waits = min(1.0, 2 * longer / more - 1)
        back = _BACK[0] + waits * (_BACK[1] - _BACK[0])
        return max(1, round(back * now.level * math.exp(-longer)))


def _pool(spans: Iterable[Span], samples: int) -> Span | None:
    """The first of ``spans`` that hold so many calls, as one."""
    count, level, total, squares = 0, 0, 0.0, 0.0
    for span in spans:
        count += span.count
        level += span.level * span.count
        total += span.total
        squares += span.squares
        if count >= samples:
            return Span(round(level / count), count, total, squares)
    return None
