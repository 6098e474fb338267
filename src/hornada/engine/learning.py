"""How many requests at once the servers of a model take, learned from what they do with those they get."""

from hornada.core.catalog import MOST_SLOTS
from hornada.engine.drift import Drift
from hornada.engine.gauge import Load

WINDOW_S = 1.0
"""How long everything must go well before one more request is allowed."""
_LEAST = 16
"""Requests that must have ended in a window, beside every slot's, before latency says anything."""
_PATIENCE = 32
"""Windows to wait, at most, before what did not go well the last times is tried again."""
_NEAR = 2
"""So many requests more or fewer are the same place."""


class Limiter:
    """The capacity in force of one model, from 1 to ``most``.

    It grows by one a window in which all of it was used and nothing spoke against it. Strongest first: a refusal
    (429, 503) takes it just below the requests that were under way; requests that wait in the server, twice in a row,
    down to what the server works on; a timeout halves it; and where no gauge is published, ``Drift`` judges by latency.
    Only refusals count for a capacity that was configured (``learns`` False): it is a bound that may prove too high.
    """

    def __init__(self, most: int, start: int, *, learns: bool) -> None:
        self.limit = max(1, min(start, most))
        self.most = most
        self.learns = learns
        self.reason = ""
        """Why the limit is lower than it was, in words for people; empty when nothing has lowered it."""
        self._drift = Drift()
        self._began: float | None = None
        self.turned = 0
        """Requests that have ended since the start, whatever came of them: whoever ends one counts it here."""
        self._turned_then = 0
        self._soiled = False
        self._patience = 1
        self._rest = 0
        self._too_many: int | None = None
        self._before: int | None = None
        self._half = 0
        self._late_until = 0
        self._last: Load | None = None
        self.by_latency = learns
        """Whether latency is all that there is to judge by."""

    @classmethod
    def fixed(cls, capacity: int) -> "Limiter":
        """For a capacity that was configured."""
        return cls(capacity, capacity, learns=False)

    @classmethod
    def auto(cls, start: int) -> "Limiter":
        """For a capacity that is to be found."""
        return cls(MOST_SLOTS, start, learns=True)

    @property
    def why(self) -> str:
        """One short sentence about the limit."""
        slots = f"{self.limit} slot{'s' if self.limit != 1 else ''}"
        if self.learns:
            slots = f"auto: {slots}"
        elif self.limit < self.most:
            slots = f"{self.limit} of {self.most} slots"
        return f"{slots}; {self.reason}" if self.reason else slots

    @property
    def timed(self) -> bool:
        """Whether it is of use to know how long lines take."""
        return self.by_latency and not self._drift.enough

    def answered(self, latency: float) -> None:
        """A line took ``latency`` seconds; only needed while ``timed``."""
        self._drift.add(latency)

    def refused(self, in_flight: int) -> None:
        """The server was too busy for one of ``in_flight`` requests that were under way, this one included."""
        self._soiled = True
        if in_flight <= self.limit:
            self._step_down(in_flight - 1, in_flight, "the server refused requests")

    def timed_out(self, in_flight: int) -> None:
        """A request got no answer in time. Others that began before the limit was halved do not halve it again."""
        if self.learns and self.turned >= self._late_until:
            self._step_down(self.limit // 2, in_flight, "a request timed out")
            self._late_until = self.turned + in_flight
        self._soiled = True

    def follow(self, limit: int, reason: str) -> None:
        """Takes over what another process has learned."""
        if limit != self.limit:
            self.limit, self.reason = max(1, min(limit, self.most)), reason
            self._began, self._before = None, None
            self._drift.forget()

    def restore(self) -> None:
        """The last refusals turn out to say nothing of what the server takes: it was away."""
        if self._before is not None:
            self.limit, self._before, self._half = max(self.limit, self._before), None, 0
            self._patience, self._rest, self._too_many, self.reason = 1, 0, None, ""

    def tick(self, now: float, *, full: bool, in_flight: int, load: Load | None) -> None:
        """Looks at the last half second or so.

        ``full``: all of the limit was used and lines waited; ``load``: what gauges say, None where there are none.
        """
        if not full or self._began is None:
            self._begin(now)
            self._last = load
            return
        if self.learns:
            self.by_latency = load is None
            if load is not None:
                self._heed(load, in_flight)
        turned = self.turned - self._turned_then
        if now - self._began >= WINDOW_S and (not self.by_latency or turned >= max(self.limit, _LEAST)):
            self._judge(now)

    def _heed(self, load: Load, in_flight: int) -> None:
        """One reading may be a moment's; what two in a row say is so. A gauge that falls silent is not a good sign."""
        last, self._last = self._last, load
        if not load.waiting and not load.silent:
            return
        self._soiled = True
        if last is None or not (last.waiting or last.silent):
            return
        self._last = None
        waiting = min(last.waiting, load.waiting)
        if last.silent or load.silent:
            self._step_down(self.limit - 1, in_flight, "the server is too busy to say how many requests wait")
        elif (lower := min(max(last.running, load.running), in_flight - waiting)) < self.limit:
            plural = "s" if waiting != 1 else ""
            self._step_down(lower, in_flight, f"the server had {waiting} request{plural} waiting")

    def _judge(self, now: float) -> None:
        """A window has passed in which all of the limit was used."""
        if not self.by_latency:
            self._drift.begin()
        else:
            self._drift.begin(self.limit)
            lower = self._drift.verdict()
            if lower is not None and lower < self.limit:
                self._step_down(lower, self.limit, "more requests at once only made each of them slower")
                self._rest = 1
        if not self._soiled:
            self._before = None
            self._rest -= 1
            if self._rest <= 0 and self.limit < self.most:
                self._grow()
        self._begin(now)

    def _grow(self) -> None:
        """By one; twofold up to half of what was known to go well before."""
        self.limit = min(self.most, max(self.limit + 1, min(self.limit * 2, self._half)))
        self.reason = ""

    def _step_down(self, to: int, in_flight: int, reason: str) -> None:
        """``in_flight`` requests were too many; if about as many were the last time, it waits longer to try again."""
        lower = max(1, to)
        self.reason = reason
        self._soiled = True
        if lower >= self.limit:
            return
        if self._before is None:
            again = self._too_many is not None and abs(in_flight - self._too_many) <= _NEAR
            self._patience = min(_PATIENCE, self._patience * 2) if again else 1
            self._before, self._half = self.limit, self.limit // 2
        self._too_many, self._rest = in_flight, self._patience
        self.limit = lower
        self._drift.forget()

    def _begin(self, now: float) -> None:
        self._began, self._turned_then, self._soiled = now, self.turned, False
        if not self.by_latency:
            self._drift.begin()
