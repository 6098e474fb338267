"""What has happened since the process started, counted where it happens and shown under /metrics."""

from collections import Counter
from collections.abc import Awaitable
from itertools import count
from typing import TypeVar

from hornada.core.batch import Status, Usage
from hornada.core.clock import Clock, SystemClock
from hornada.core.histogram import Histogram
from hornada.upstream.protocol import Failure

T = TypeVar("T")

CALL_BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Seconds: a model server may take a fraction of one or many minutes."""


class Waiting:
    """The calls to one model that wait for their answer now (a stream: for its beginning)."""

    __slots__ = ("_calls", "_monotonic", "_next", "answered_at")

    def __init__(self, clock: Clock) -> None:
        self._monotonic = clock.monotonic
        self._next = count().__next__
        self._calls: dict[int, float] = {}
        self.answered_at = clock.monotonic()
        """When a call last ended with an answer, on the monotonic clock."""

    def begin(self) -> int:
        """A call is sent; answers what ``end`` wants to know."""
        ticket = self._next()
        self._calls[ticket] = self._monotonic()
        return ticket

    def end(self, ticket: int, *, answered: bool) -> float:
        """A call has ended; for how long it had waited, in seconds."""
        now = self._monotonic()
        if answered:
            self.answered_at = now
        return now - self._calls.pop(ticket)

    @property
    def oldest_s(self) -> float:
        """For how long the call that was sent first waits, in seconds; 0 when none does."""
        began = next(iter(self._calls.values()), None)
        return 0.0 if began is None else self._monotonic() - began

    def since(self, moment: float) -> int:
        """How many wait that were sent at that moment or before."""
        return sum(began <= moment for began in self._calls.values())


class Traffic:
    """Calls of one kind to one model: tokens of what was answered, and how long answers took."""

    __slots__ = ("_waiting", "cached", "input", "output", "seconds")

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self.input = 0
        self.cached = 0
        self.output = 0
        self.seconds = Histogram(CALL_BOUNDS)

    def used(self, usage: Usage) -> None:
        """Adds the tokens of an answer."""
        self.input += usage.input
        self.cached += usage.cached
        self.output += usage.output

    async def timed(self, call: Awaitable[T]) -> T:
        """Waits for a call and measures it; one that ends in a Failure was not answered."""
        ticket = self.begin()
        answer: T | None = None
        try:
            answer = await call
        finally:
            self.end(ticket, answered=answer is not None and not isinstance(answer, Failure))
        return answer

    def begin(self) -> int:
        """A call is sent; answers what ``end`` wants to know."""
        return self._waiting.begin()

    def end(self, ticket: int, *, answered: bool) -> None:
        """A call has ended; an answered one is measured."""
        seconds = self._waiting.end(ticket, answered=answered)
        if answered:
            self.seconds.observe(seconds)


class ModelTally:
    """One model's counts. ``busy`` and ``retried`` count further tries, by why the one before came to nothing."""

    __slots__ = ("batch", "busy", "failed", "ok", "regular", "retried", "stopped", "waiting")

    def __init__(self, clock: Clock) -> None:
        self.waiting = Waiting(clock)
        self.batch = Traffic(self.waiting)
        self.regular = Traffic(self.waiting)
        self.ok = 0
        self.failed = 0
        self.stopped = 0
        """Lines that were never sent, because their batch ended."""
        self.busy = 0
        self.retried = 0


class Tally:
    """The counts of this process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.models: dict[str, ModelTally] = {}
        self.ended = Counter[Status]()
        self.lost = 0
        """Lines of batches that ended without what was stored of them."""

    def of(self, model: str) -> ModelTally:
        """A model's counts."""
        found = self.models.get(model)
        if found is None:
            found = self.models[model] = ModelTally(self._clock)
        return found
