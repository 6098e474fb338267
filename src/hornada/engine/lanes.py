"""The lanes of one model: a pool of tasks that pull lines, one slot each, with no task per line."""

import asyncio
import heapq
import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import count

from hornada.core.batch import StopReason
from hornada.core.clock import Clock
from hornada.core.line import Reply
from hornada.engine.capacity import Gate
from hornada.engine.fairness import FairQueue
from hornada.engine.held import Held
from hornada.engine.retries import (
    BUSY_SPAN_S,
    BUSY_TRIES,
    MAX_TRIES,
    Again,
    Elsewhere,
    Health,
    Kind,
    Result,
    Tries,
    backoff,
)
from hornada.engine.tally import Tally
from hornada.store.chunk import Source

Attempt = Callable[[Held, int], Awaitable[Result]]
"""Sends a line once."""


_PACE_S = 0.5
"""How often the pace of a model is measured, in seconds."""
_STARTS = 16
"""Lanes that start in one turn of the event loop: hundreds of connections at once would hold up everybody else."""


class Lanes:
    """Sends the lines of the chunks it is given, in order, as slots come free one by one.

    ``on_low``: fewer lines are left than will be needed soon. ``on_settled``: a chunk has nothing left to do.
    ``may_start``: asked before each line (results that are not yet durable are bounded).
    """

    def __init__(
        self,
        gate: Gate,
        attempt: Attempt,
        clock: Clock,
        *,
        on_low: Callable[[], None],
        on_settled: Callable[[], None],
        may_start: Callable[[], bool],
        tally: Tally | None = None,
    ) -> None:
        self._gate = gate
        self._tally = (tally or Tally(clock)).of(gate.name)
        self._attempt = attempt
        self._clock = clock
        self._on_low = on_low
        self._on_settled = on_settled
        self._may_start = may_start
        self._queue = FairQueue(self._runs)
        self._again: deque[tuple[Held, int]] = deque()
        self._delayed: list[tuple[float, int, Held, int]] = []
        self._order = count()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = self._pumping = False
        self.health = Health(clock, gate.name)
        self.low = 0
        self.waiting = 0
        """Lines held and neither in flight nor done."""
        self._finished = 0
        self._paced_at = clock.monotonic()
        self._rate = 0.0
        gate.watch(self.pump, self._heard)

    def wanted(self) -> int:
        """Lines to have in hand so that no slot runs dry: enough for all slots twice over, and for a second."""
        elapsed = self._clock.monotonic() - self._paced_at
        if elapsed >= _PACE_S:
            self._rate, self._finished = self._finished / elapsed, 0
            self._paced_at += elapsed
        allowed = self._gate.allowed
        self.low = max(allowed, int(self._rate / 4))
        if self.health.away:
            return 1
        return max(2 * allowed, int(self._rate)) if self.waiting <= self.low else self.low

    def time(self, org: str) -> float:
        """An organization's virtual time at this model."""
        return self._queue.time(org)

    def meet(self, sources: Sequence[Source]) -> None:
        """What was found in the ledger for this model."""
        self._queue.meet(sources)

    def add(self, held: Held) -> None:
        """Takes a chunk on."""
        self._queue.add(held)
        self.waiting += held.left

    def stop(self, held: Held, reason: StopReason) -> None:
        """No line of this chunk is started any more; lines that wait for their next try end now."""
        if held.stop is None:
            held.stop = reason
            self.waiting -= held.left - held.in_flight
            if held.settled:
                self._on_settled()
        elif reason is StopReason.EXPIRED:
            held.stop = reason  # what is still in flight has only so long

    def drop(self, held: Held) -> None:
        """Forgets a chunk that somebody else holds now: its calls end and its results do not count."""
        self.stop(held, StopReason.INTERNAL)
        self.abort(held)

    def abort(self, held: Held) -> None:
        """Ends the calls that are still in flight for a chunk."""
        for task in list(held.tasks):
            task.cancel()

    def close(self) -> None:
        """Starts nothing any more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def pump(self) -> None:
        """Starts as many lanes as there are slots and lines; a few in a turn of the loop, for each may dial.

        However often it is called: whoever gives several chunks says so for each.
        """
        if self._pumping:
            return
        for _ in range(_STARTS):
            if self.waiting <= 0 or self._closed or not self._may_start() or not self._gate.try_line():
                return
            item = self._pop()
            if item is None:
                self._gate.line_done()
                return
            task = asyncio.get_running_loop().create_task(self._lane(*item))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._pumping = True
        asyncio.get_running_loop().call_soon(self._pump_on)

    def _pump_on(self) -> None:
        self._pumping = False
        self.pump()

    async def _lane(self, held: Held, line: int) -> None:
        """Sends one line after another on one slot for as long as both are there."""
        task = asyncio.current_task()
        assert task is not None
        try:
            while True:
                await self._send(held, line, task)
                if self._closed or not self._gate.keep_line() or not self._may_start():
                    return
                item = self._pop()
                if item is None:
                    return
                held, line = item
        finally:
            self._gate.line_done()
            if not self._closed:
                asyncio.get_running_loop().call_soon(self.pump)

    async def _send(self, held: Held, line: int, task: asyncio.Task[None]) -> None:
        held.tasks.add(task)
        began = self._clock.monotonic() if self._gate.timed else 0.0
        result: Result | None = None
        try:
            if held.stop is None and not self._closed:  # it may have been stopped since the line was taken
                result = await self._attempt(held, line)
        finally:
            held.in_flight -= 1
            held.tasks.discard(task)
            self._queue.ended(held, _tokens(result))
            if result is None:
                self._lost(held, line)
        match result:
            case Reply():
                self._gate.answered(self._clock.monotonic() - began if began else 0.0)
                if self.health.answered():
                    self._gate.returned()
                    self.pump()
                self._finish(held, line, result)
            case Elsewhere(model):
                self._pass_on(held, line, model)
                await asyncio.sleep(0)  # as below
            case (Again() as again, last):
                self._gate.came_back(last)
                self._retry(held, line, again, last)
            case (None, last):
                self.health.probe_lost()
                self._finish(held, line, last)
                await asyncio.sleep(0)  # nothing was waited for, and the next line may be the same

    def _finish(self, held: Held, line: int, reply: Reply) -> None:
        held.settle(line, reply)
        self._finished += 1
        if reply.ok:
            self._tally.ok += 1
            self._tally.batch.used(reply.usage)
        else:
            self._tally.failed += 1
        if held.left == 0 or held.stop is not None:
            self._on_settled()

    def _pass_on(self, held: Held, line: int, model: str) -> None:
        """A line asks for another model now: it is left to whoever claims the chunk for that one."""
        self.health.probe_lost()
        held.pass_on(line, model)
        if held.settled:
            self._on_settled()

    def _lost(self, held: Held, line: int) -> None:
        """A line was not sent after all, or its call was ended: it is as it was before."""
        self.health.probe_lost()
        if held.stop is None:
            self.waiting += 1
            self._again.append((held, line))
        elif held.settled:
            self._on_settled()

    def _retry(self, held: Held, line: int, again: Again, last: Reply) -> None:
        away = self.health.away
        chunk = held.work.chunk
        self.health.failed((chunk.batch, chunk.idx, line), again)
        if held.stop is not None:
            if held.settled:
                self._on_settled()
            return
        tries = held.tries.setdefault(line, Tries())
        if self._used_up(tries, again, away=away):
            self._finish(held, line, last)
            return
        self.waiting += 1
        if again.kind is Kind.FAILED:
            self._tally.retried += 1
        else:
            self._tally.busy += 1
        wait = backoff(tries.failed if again.kind is Kind.FAILED else min(tries.busy, 6), again.retry_after)
        heapq.heappush(self._delayed, (self._clock.monotonic() + wait, next(self._order), held, line))
        self._wake_later()

    def _used_up(self, tries: Tries, again: Again, *, away: bool) -> bool:
        """Whether this attempt was a line's last. Nothing is counted against a line while its model is away."""
        if away or self.health.away:
            return False
        if again.kind is Kind.FAILED:
            tries.failed += 1
            return tries.failed >= MAX_TRIES
        now = self._clock.monotonic()
        if tries.busy == 0:
            tries.busy_since, tries.successes_then = now, self.health.successes
        tries.busy += 1
        others = self.health.successes > tries.successes_then
        return tries.busy >= BUSY_TRIES and now - tries.busy_since >= BUSY_SPAN_S and others

    def _pop(self) -> tuple[Held, int] | None:
        """The next line to send; it counts as in flight from here."""
        if not self.health.may_start():
            self._wake_later()
            return None
        item = self._next_line()
        if item is None:
            self.health.probe_lost()
            self._wake_later()
        else:
            item[0].in_flight += 1
            self.waiting -= 1
        if self.waiting < self.low or self._queue.dry:
            self._queue.dry = False
            self._on_low()
        return item

    def _next_line(self) -> tuple[Held, int] | None:
        if self.health.away and (fresh := self._queue.next()) is not None:
            return fresh  # the probe: what was never tried tells more of the server than what has failed
        if self._delayed:
            now = self._clock.monotonic()
            while self._delayed and self._delayed[0][0] <= now:
                _, _, held, line = heapq.heappop(self._delayed)
                self._again.append((held, line))
        while self._again:
            held, line = self._again.popleft()
            if self._runs(held):
                self._queue.again(held)
                return held, line
        return self._queue.next()

    def _heard(self) -> None:
        """The model answers regular calls: whatever fails with lines, it is not away."""
        if self.health.away and self.health.answered():
            self.pump()

    def _runs(self, held: Held) -> bool:
        """Whether lines of a chunk may start; deadline and balance count at once, whoever is late to say so."""
        if held.stop is None:
            if self._clock.now() >= held.work.source.expires_at:
                self.stop(held, StopReason.EXPIRED)
            elif held.purse is not None and held.purse.empty:
                self.stop(held, StopReason.NO_CREDIT)
        return held.stop is None

    def _wake_later(self) -> None:
        """One timer, for the earliest of the next try and the next probe; whoever ends a probe looks again itself."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._closed or self.health.probing:
            return
        wait = self._delayed[0][0] - self._clock.monotonic() if self._delayed else math.inf
        if self.health.away:
            wait = max(0 if self._again or self._queue else wait, self.health.wait())
        if wait < math.inf:
            self._timer = asyncio.get_running_loop().call_later(max(0.01, wait), self.pump)


def _tokens(result: Result | None) -> int | None:
    """What a line has used, if its answer says so."""
    if isinstance(result, Reply) and result.ok:
        return result.usage.input + result.usage.output
    return None
