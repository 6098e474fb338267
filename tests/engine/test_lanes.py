"""How lines are sent: slot by slot, in order, and never after their batch is stopped."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornada.core.batch import StopReason
from hornada.core.catalog import Model, Server
from hornada.core.chunk import Chunk, Span
from hornada.core.line import Reply, Request
from hornada.engine.capacity import Gate
from hornada.engine.held import Backlog, Held
from hornada.engine.lanes import Lanes
from hornada.engine.retries import Again, Kind, Result
from hornada.store.chunk import Source, Work
from tests.conftest import Hands
from tests.engine.house import spelling

OK = Reply(ok=True, status=200, body=b"{}")
NO = Reply(ok=False, status=500, body=b"{}")
SLOTS = 3


class Calls:
    """Calls to a model, each open until the test says what it comes to."""

    def __init__(self, clock: Hands, slots: int = SLOTS) -> None:
        self.clock = clock
        self.open: dict[tuple[int, int], asyncio.Future[Result]] = {}
        self.sent: list[tuple[int, int]] = []
        self.settled = 0
        self.asked = 0
        self.may_start = True
        model = Model(name="m", servers=(Server(url="http://x"),), capacity=slots, batch_slots=slots, reserve=0)
        self.gate = Gate(model)
        self.backlog = Backlog()
        self.lanes = Lanes(
            self.gate,
            self._attempt,
            clock,
            on_low=self._low,
            on_settled=self._settle,
            may_start=lambda: self.may_start,
        )

    async def _attempt(self, held: Held, line: int) -> Result:
        key = (held.work.chunk.idx, line)
        self.sent.append(key)
        self.open[key] = asyncio.get_running_loop().create_future()
        try:
            return await self.open[key]
        finally:
            del self.open[key]

    def _pump(self) -> None:
        self.lanes.pump()

    def _settle(self) -> None:
        self.settled += 1

    def _low(self) -> None:
        self.asked += 1

    def hold(self, idx: int, lines: int, *, expires_in: float = 1000) -> Held:
        chunk = Chunk(
            batch="b", idx=idx, org="o", model="m", span=Span(0, lines, 0, 0), epoch=1, done=bytes((lines + 7) // 8)
        )
        source = Source(
            batch="b",
            org="o",
            key="k",
            dialect="openai",
            endpoint="/v1/x",
            input_object="input/x",
            expires_at=self.clock.now() + round(expires_in * 1e6),
            total=lines,
        )
        work = Work(chunk, source)
        held = Held(work, [Request(str(at), b"{}") for at in range(lines)], spelling("openai"), self.backlog)
        self.lanes.add(held)
        return held

    async def start(self) -> None:
        self.lanes.pump()
        await turn()

    async def end(self, *keys: tuple[int, int], result: Result = OK) -> None:
        for key in keys:
            self.open[key].set_result(result)
        await turn()


async def turn() -> None:
    """Lets everything go on that can."""
    for _ in range(8):
        await asyncio.sleep(0)


@pytest.fixture
async def calls(clock: Hands) -> AsyncIterator[Calls]:
    async with calling(clock) as calls:
        yield calls


@asynccontextmanager
async def calling(clock: Hands, slots: int = SLOTS) -> AsyncIterator[Calls]:
    calls = Calls(clock, slots)
    yield calls
    calls.lanes.close()
    for future in calls.open.values():
        future.cancel()
    await turn()
    assert calls.gate.lines == 0


async def test_lines_are_sent_in_order_and_no_more_than_there_are_slots(calls: Calls) -> None:
    calls.hold(0, 2)
    calls.hold(1, 2)
    await calls.start()
    assert calls.sent == [(0, 0), (0, 1), (1, 0)]
    assert (calls.gate.lines, calls.lanes.waiting) == (3, 1)


async def test_few_lines_start_in_one_turn_of_the_loop_however_many_chunks_come_at_once(clock: Hands) -> None:
    async with calling(clock, 100) as calls:
        for idx in range(10):
            calls.hold(idx, 20)
            calls.lanes.pump()
        before = 0
        while len(calls.sent) < 100:
            await asyncio.sleep(0)
            started, before = len(calls.sent) - before, len(calls.sent)
            assert 0 <= started <= 16
        await turn()
        assert (len(calls.sent), calls.gate.lines, calls.lanes.waiting) == (100, 100, 100)


async def test_a_slot_that_comes_free_takes_the_next_line_while_the_others_are_still_busy(calls: Calls) -> None:
    calls.hold(0, 10)
    await calls.start()
    for at in (0, 2, 3, 4, 5):
        await calls.end((0, at))
        assert len(calls.open) == SLOTS
        assert (0, 1) in calls.open
    assert calls.sent == [(0, at) for at in range(8)]


async def test_a_regular_call_takes_the_slot_of_the_next_line_that_ends(calls: Calls) -> None:
    calls.hold(0, 10)
    await calls.start()
    calls.gate.enter()
    await calls.end((0, 0))
    assert list(calls.open) == [(0, 1), (0, 2)]
    await calls.end((0, 1))
    assert list(calls.open) == [(0, 2), (0, 3)]
    calls.gate.leave()
    await turn()
    assert list(calls.open) == [(0, 2), (0, 3), (0, 4)]


async def test_a_line_that_was_taken_but_not_yet_sent_is_not_sent_once_its_batch_is_stopped(calls: Calls) -> None:
    held = calls.hold(0, 5)
    calls.lanes.pump()
    calls.lanes.stop(held, StopReason.CANCELLED)
    await turn()
    assert calls.sent == []
    assert held.settled
    assert (calls.lanes.waiting, calls.gate.lines) == (0, 0)


async def test_a_stopped_chunk_starts_nothing_and_keeps_what_is_in_flight(calls: Calls) -> None:
    stopped, other = calls.hold(0, 5), calls.hold(1, 5)
    await calls.start()
    calls.lanes.stop(stopped, StopReason.CANCELLED)
    assert not stopped.settled
    await calls.end((0, 0), (0, 1), (0, 2))
    assert stopped.left == 2
    assert stopped.settled
    assert calls.settled
    assert list(calls.open) == [(1, 0), (1, 1), (1, 2)]
    assert calls.lanes.waiting == other.left - other.in_flight


async def test_a_line_that_waits_for_its_next_try_ends_at_once_when_its_batch_is_stopped(calls: Calls) -> None:
    held = calls.hold(0, 1)
    await calls.start()
    await calls.end((0, 0), result=(Again(Kind.BUSY, 30), NO))
    assert not held.settled
    calls.lanes.stop(held, StopReason.CANCELLED)
    assert held.settled
    assert calls.settled == 1
    calls.clock.advance(60)
    await calls.start()
    assert calls.sent == [(0, 0)]


async def test_a_line_is_tried_again_after_its_wait_and_not_before(calls: Calls) -> None:
    calls.hold(0, 1)
    await calls.start()
    await calls.end((0, 0), result=(Again(Kind.BUSY, 30), NO))
    calls.clock.advance(29)
    await calls.start()
    assert calls.open == {}
    calls.clock.advance(4)
    await calls.start()
    assert list(calls.open) == [(0, 0)]


async def test_lines_behind_one_that_waits_go_on(calls: Calls) -> None:
    calls.hold(0, 5)
    await calls.start()
    await calls.end((0, 0), result=(Again(Kind.BUSY, 30), NO))
    assert list(calls.open) == [(0, 1), (0, 2), (0, 3)]


@pytest.mark.parametrize("waits", [False, True])
async def test_no_line_starts_after_its_batchs_deadline(calls: Calls, waits: bool) -> None:
    held = calls.hold(0, 5 if not waits else 1, expires_in=60)
    await calls.start()
    if waits:
        await calls.end((0, 0), result=(Again(Kind.BUSY, 1), NO))
    calls.clock.advance(60)
    await calls.start()
    await calls.end(*list(calls.open))
    assert held.stop is StopReason.EXPIRED
    assert held.settled
    assert len(calls.sent) == (1 if waits else SLOTS)


async def test_nothing_starts_while_results_pile_up(calls: Calls) -> None:
    calls.hold(0, 9)
    await calls.start()
    calls.may_start = False
    await calls.end((0, 0), (0, 1))
    assert list(calls.open) == [(0, 2)]
    calls.may_start = True
    await calls.start()
    assert len(calls.open) == SLOTS


async def test_a_chunk_that_is_dropped_ends_its_calls_and_counts_for_nothing(calls: Calls) -> None:
    held = calls.hold(0, 5)
    await calls.start()
    await calls.end((0, 0))
    assert calls.backlog.bytes > 0
    calls.open[0, 1].set_result(OK)  # too late
    held.forget()
    calls.lanes.drop(held)
    await turn()
    assert calls.open == {}
    assert calls.backlog.bytes == 0
    assert calls.lanes.waiting == 0


async def test_calls_that_are_ended_give_their_slots_back(calls: Calls) -> None:
    held, _ = calls.hold(0, 3), calls.hold(1, 3)
    await calls.start()
    calls.lanes.stop(held, StopReason.EXPIRED)
    calls.lanes.abort(held)
    await turn()
    assert held.settled
    assert list(calls.open) == [(1, 0), (1, 1), (1, 2)]


async def test_after_closing_nothing_starts(calls: Calls) -> None:
    held = calls.hold(0, 9)
    await calls.start()
    calls.lanes.close()
    await calls.end((0, 0), (0, 1), (0, 2))
    assert calls.sent == [(0, 0), (0, 1), (0, 2)]
    assert held.left == 6


async def test_more_lines_are_asked_for_before_the_last_is_sent(calls: Calls) -> None:
    assert calls.lanes.wanted() == 2 * SLOTS
    calls.hold(0, 6)
    assert calls.lanes.wanted() == calls.lanes.low == SLOTS
    await calls.start()
    assert calls.asked == 0
    await calls.end((0, 0))
    assert calls.asked > 0
    assert calls.lanes.wanted() == 2 * SLOTS


async def test_a_fast_model_is_kept_in_lines_for_a_second(calls: Calls) -> None:
    calls.lanes.wanted()
    calls.hold(0, 60)
    await calls.start()
    for at in range(40):
        await calls.end((0, at))
    calls.clock.advance(0.5)
    calls.lanes.wanted()
    assert calls.lanes.low == 20
    for at in range(40, 50):
        await calls.end((0, at))
    assert calls.lanes.wanted() == 80


async def test_a_line_that_is_not_sent_is_no_sign_of_life(calls: Calls) -> None:
    calls.hold(0, 4)
    await calls.start()
    await calls.end((0, 0), result=(Again(Kind.BUSY, unreached=True), NO))
    await calls.end((0, 1), (0, 2), result=(None, NO))
    assert calls.lanes.health.away
    assert calls.open == {}
    assert calls.lanes.health.successes == 0


async def test_lines_that_are_never_sent_leave_room_for_others_between_them(clock: Hands) -> None:
    async with calling(clock) as calls:
        others = 0

        async def refuse(held: Held, line: int) -> Result:
            return None, NO

        async def other() -> None:
            nonlocal others
            while calls.lanes.waiting:
                others += 1
                await asyncio.sleep(0)

        calls.lanes._attempt = refuse
        held = calls.hold(0, 300)
        calls.lanes.pump()
        await other()
        assert others > 50
        await turn()
        assert held.left == 0


async def test_a_model_that_is_away_is_claimed_for_line_by_line(calls: Calls) -> None:
    calls.hold(0, 1)
    await calls.start()
    await calls.end((0, 0), result=(Again(Kind.BUSY, unreached=True), NO))
    assert calls.lanes.wanted() == 1


async def test_what_was_never_tried_is_the_probe_and_not_what_has_failed(calls: Calls, clock: Hands) -> None:
    first = calls.hold(0, 1)
    await calls.start()
    await calls.end((0, 0), result=(Again(Kind.BUSY, unreached=True), NO))
    assert calls.lanes.health.away
    calls.hold(1, 1)
    clock.advance(60)
    await calls.start()
    assert set(calls.open) == {(1, 0)}
    await calls.end((1, 0))
    assert not calls.lanes.health.away
    clock.advance(60)
    await calls.start()
    assert set(calls.open) == {(0, 0)}
    assert first.left == 1


async def test_a_regular_call_that_is_answered_ends_the_absence(calls: Calls) -> None:
    calls.hold(0, 2)
    await calls.start()
    await calls.end((0, 0), (0, 1), result=(Again(Kind.BUSY, unreached=True), NO))
    assert calls.lanes.health.away
    calls.gate.began(calls.gate.enter(), beside=False)
    assert not calls.lanes.health.away


async def test_the_next_probe_does_not_wait_for_lines_that_asked_for_more_time(calls: Calls) -> None:
    calls.hold(0, 9)
    await calls.start()
    await calls.end((0, 0), result=(Again(Kind.BUSY, 60), NO))
    await calls.end((0, 1), (0, 2), (0, 3), result=(Again(Kind.BUSY, unreached=True), NO))
    assert calls.open == {}
    timer = calls.lanes._timer
    assert timer is not None
    assert timer.when() - asyncio.get_running_loop().time() <= 0.5
    calls.clock.advance(0.5)
    await calls.start()
    assert len(calls.open) == 1


Step = tuple[str, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "stop", "drop", "abort", "ok", "busy", "failed", "unreached", "unsent", "wait"]),
        st.integers(0, 1000),
    ),
    max_size=60,
)
RESULTS: dict[str, Callable[[], Result]] = {
    "ok": lambda: OK,
    "busy": lambda: (Again(Kind.BUSY), NO),
    "failed": lambda: (Again(Kind.FAILED), NO),
    "unreached": lambda: (Again(Kind.BUSY, unreached=True), NO),
    "unsent": lambda: (None, NO),
}


@settings(deadline=None, max_examples=150)
@given(steps, st.booleans())
def test_whatever_happens_in_whatever_order_the_accounts_are_right(found: list[Step], lets_go: bool) -> None:
    asyncio.run(_accounts(found, lets_go=lets_go))


async def _accounts(found: list[Step], *, lets_go: bool) -> None:  # noqa: C901 - a case for each step
    clock = Hands()
    async with calling(clock) as calls:
        chunks = list[Held]()
        for what, chance in found:
            if what == "add":
                chunks.append(calls.hold(len(chunks), chance % 7 + 1))
                calls.lanes.pump()
            elif what == "wait":
                clock.advance(chance / 10)
                calls.lanes.pump()
            elif what in RESULTS:
                open_ = [future for future in calls.open.values() if not future.done()]
                if open_:
                    open_[chance % len(open_)].set_result(RESULTS[what]())
            elif chunks:
                held = chunks[chance % len(chunks)]
                if what == "stop":
                    calls.lanes.stop(held, StopReason.CANCELLED)
                elif what == "drop":
                    calls.lanes.drop(held)
                elif held.stop is not None:
                    calls.lanes.abort(held)
            if lets_go:
                await turn()
            running = [held for held in chunks if held.stop is None]
            assert calls.lanes.waiting == sum(held.left - held.in_flight for held in running)
            assert all(held.in_flight >= 0 and held.left >= held.in_flight for held in chunks)
            assert calls.gate.lines <= SLOTS
        await turn()
        assert len(calls.open) == sum(held.in_flight for held in chunks) == calls.gate.lines
        for _ in range(400):
            for future in list(calls.open.values()):
                future.set_result(OK)
            clock.advance(20)
            await calls.start()
        assert all(held.settled for held in chunks)
        assert calls.lanes.waiting == 0
