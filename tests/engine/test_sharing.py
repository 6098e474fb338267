"""Several processes on one PostgreSQL share the slots of a model."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from msgspec.structs import replace

from hornada.core.catalog import Catalog, Model, Server
from hornada.engine.capacity import Gate, Gates
from hornada.engine.ground import here
from hornada.engine.sharing import Sharing
from hornada.store import connect
from hornada.store.database import Database
from tests.conftest import Hands, _empty
from tests.engine.town import Counted

MODEL = Model(name="m", servers=(Server(url="http://x"),), capacity=8, batch_slots=8, reserve=0)
CALLS_S = 60.0


class Process:
    """What one process has of the model ``m``: lines that wait, lines and regular calls under way."""

    def __init__(self, name: str, db: Database, clock: Hands, model: Model, *, lines: bool, ground: str | None) -> None:
        self.name, self.clock, self.model = name, clock, model
        self.began = clock.monotonic()
        self.db = Counted(db)
        self.gates = Gates(clock)
        self.waiting = 0
        self.rests = False
        self.starved: list[str] = []
        self.rung = 0
        self.sharing = Sharing(
            self.db,
            clock,
            self.gates,
            lambda: Catalog(models={self.model.name: self.model}, aliases={}),
            lambda _: (self.waiting, False),
            process=name,
            calls_s=lambda: CALLS_S,
            lines=lines,
            resting=lambda: self.rests,
            on_starved=self.starved.append,
            ground=ground,
        )
        self.sharing.bell(self._ring)
        self.gate: Gate = self.gates.of(model)

    def _ring(self) -> None:
        self.rung += 1

    def run(self) -> int:
        """Starts what may start; lines under way."""
        while self.waiting and self.gate.try_line():
            self.waiting -= 1
            self.began = self.clock.monotonic()
        return self.gate.lines

    def end(self, lines: int) -> None:
        """So many lines end; each slot that may be kept is used again."""
        for _ in range(lines):
            if self.waiting and self.gate.keep_line():
                self.waiting -= 1
                self.began = self.clock.monotonic()
            else:
                self.gate.line_done()

    def time_out(self) -> None:
        """Ends what must have ended by now, if all of it has."""
        if self.clock.monotonic() - self.began >= CALLS_S:
            for _ in range(self.gate.lines):
                self.gate.line_done()

    async def turn(self) -> int:
        await self.sharing.once()
        return self.run()


class Yard:
    """Processes that share a database and a clock."""

    def __init__(self, url: str, clock: Hands, stack: AsyncExitStack) -> None:
        self._url, self.clock, self._stack = url, clock, stack
        self.model = MODEL

    async def process(self, name: str, *, waiting: int = 0, lines: bool = True, ground: str | None = None) -> Process:
        db = await connect(self._url, self.clock)
        self._stack.push_async_callback(db.close)
        process = Process(name, db, self.clock, self.model, lines=lines, ground=ground)
        process.waiting = waiting
        return process

    async def turns(self, *processes: Process, n: int = 1) -> list[int]:
        """All of them, every half second; the lines under way then."""
        found: list[int] = []
        for _ in range(n):
            self.clock.advance(0.5)
            found = [await process.turn() for process in processes]
        return found

    async def settled(self, *processes: Process) -> list[int]:
        """Where they end up when lines end all the time."""
        for _ in range(3):
            await self.turns(*processes)
            for process in processes:
                process.end(process.gate.lines)
        return await self.turns(*processes)

    async def granted(self) -> dict[str, int]:
        db = await connect(self._url, self.clock)
        async with db.read() as tx:
            rows = await tx.rows("SELECT worker, slots FROM slot_grant WHERE reserved_until > {now}")
        await db.close()
        return {row["worker"]: row["slots"] for row in rows}


@pytest.fixture
async def yard(shared_postgres: str, clock: Hands) -> AsyncIterator[Yard]:
    async with AsyncExitStack() as stack:
        db = await connect(shared_postgres, clock)
        await db.migrate()
        await _empty(shared_postgres)
        await db.close()
        yield Yard(shared_postgres, clock, stack)


async def test_a_worker_alone_gets_all_slots(yard: Yard) -> None:
    a = await yard.process("a", waiting=50)
    assert a.run() == 0
    assert await yard.turns(a) == [8]
    assert await yard.granted() == {"a": 8}


async def test_lines_that_find_no_slot_ask_for_some_at_once(yard: Yard) -> None:
    a = await yard.process("a")
    assert not a.gate.closed
    assert not a.gate.want()
    assert a.rung == 1
    await a.sharing.once()
    assert a.gate.want()
    assert a.gate.allowed == 8


async def test_who_waits_for_slots_does_not_ask_again_and_again(yard: Yard) -> None:
    a, b = await yard.process("a", waiting=500), await yard.process("b")
    await yard.turns(a)
    for _ in range(10):
        assert not b.gate.want()
        await b.sharing.once()
    assert (b.rung, b.db.writes) == (1, 2)  # and one to sweep


async def test_a_second_worker_gets_its_half_as_the_lines_of_the_first_end(yard: Yard) -> None:
    a, b = await yard.process("a", waiting=500), await yard.process("b", waiting=500)
    assert await yard.turns(a) == [8]
    assert await yard.turns(b, a) == [0, 8]
    a.end(3)
    assert (a.gate.lines, await yard.turns(a, b)) == (5, [5, 3])
    a.end(5)
    assert await yard.turns(a, b) == [4, 4]
    a.end(4)
    assert a.gate.lines == 4


async def test_slots_that_one_does_not_need_go_to_the_other(yard: Yard) -> None:
    a, b = await yard.process("a", waiting=2), await yard.process("b", waiting=500)
    assert await yard.turns(a, b) == [2, 6]
    a.end(2)
    assert await yard.turns(a, b) == [0, 8]
    assert await yard.granted() == {"b": 8}


async def test_a_worker_that_starts_nothing_any_more_gives_back_slots_as_its_lines_end(yard: Yard) -> None:
    a, b = await yard.process("a", waiting=500), await yard.process("b", waiting=500)
    await yard.turns(a)
    a.rests, a.waiting = True, 0
    assert await yard.turns(a, b) == [8, 0]
    a.end(5)
    assert await yard.turns(a, b) == [3, 5]
    a.end(3)
    assert await yard.turns(a, b) == [0, 8]


async def test_a_worker_that_says_goodbye_leaves_its_slots_at_once(yard: Yard) -> None:
    a, b = await yard.process("a", waiting=4), await yard.process("b", waiting=500)
    await yard.turns(a, b)
    a.end(4)
    await a.sharing.close()
    assert await yard.turns(b) == [8]


async def test_slots_of_a_dead_worker_stay_reserved_until_its_calls_must_have_ended(yard: Yard) -> None:
    a, b = await yard.process("a", waiting=500), await yard.process("b", waiting=500)
    assert await yard.settled(a, b) == [4, 4]
    yard.clock.advance(15 + CALLS_S - 1)
    b.end(4)
    assert await yard.turns(b) == [4]
    yard.clock.advance(1)
    assert await yard.turns(b) == [8]


async def test_slots_of_a_worker_that_is_known_to_have_ended_are_free_at_once(yard: Yard) -> None:
    dead = await yard.process("a", waiting=500, ground=f"{here()}0")
    b = await yard.process("b", waiting=500)
    await yard.turns(dead)
    assert await yard.turns(b) == [8]
    assert await yard.granted() == {"b": 8}


async def test_a_worker_that_slept_starts_nothing_before_it_has_renewed(yard: Yard) -> None:
    a = await yard.process("a", waiting=500)
    await yard.turns(a)
    yard.clock.advance(13.4)
    assert a.gate.keep_line()
    yard.clock.advance(0.1)
    assert not a.gate.keep_line()
    a.end(8)
    assert a.run() == 0
    assert await a.turn() == 8


async def test_a_zombie_that_wakes_up_late_finds_its_slots_taken(yard: Yard) -> None:
    a, b = await yard.process("a", waiting=500), await yard.process("b", waiting=500)
    await yard.turns(a)
    yard.clock.advance(15 + CALLS_S)
    assert await yard.turns(b) == [8]
    a.end(8)
    assert await a.turn() == 0


async def test_regular_calls_elsewhere_take_slots_from_all_workers(yard: Yard) -> None:
    a, b = await yard.process("a", waiting=500), await yard.process("b", waiting=500)
    api = await yard.process("x", lines=False)
    assert await yard.settled(a, b) == [4, 4]
    for _ in range(4):
        api.gate.enter()
    await yard.turns(api, a, b)
    a.end(4)
    b.end(4)
    assert (await yard.turns(api, a, b, n=2))[1:] == [2, 2]
    for _ in range(4):
        api.gate.leave()
    await yard.turns(api)
    assert (await yard.turns(api, a, b, n=2))[1:] == [4, 4]


async def test_the_load_of_a_dead_process_ends_with_its_lease(yard: Yard) -> None:
    a, api = await yard.process("a", waiting=500), await yard.process("x", lines=False)
    for _ in range(8):
        api.gate.enter()
    assert await yard.turns(api, a) == [0, 0]
    yard.clock.advance(13.9)
    assert await yard.turns(a) == [0]
    assert await yard.turns(a, n=2) == [8]


async def test_a_reserve_is_kept_while_other_processes_have_regular_calls(yard: Yard) -> None:
    yard.model = replace(MODEL, capacity=32, batch_slots=32, reserve=None)
    a, api = await yard.process("a", waiting=500), await yard.process("x", lines=False)
    api.gate.enter()
    api.gate.leave()
    assert (await yard.turns(api, a))[1] == 30
    yard.clock.advance(60)
    assert (await yard.turns(api, a))[1] == 32


async def test_regular_calls_of_this_very_process_take_a_slot_before_anybody_is_told(yard: Yard) -> None:
    a = await yard.process("a", waiting=500)
    await yard.turns(a)
    a.gate.enter()
    assert not a.gate.keep_line()
    assert a.gate.allowed == 7


async def test_an_idle_process_writes_nothing(yard: Yard) -> None:
    a, api = await yard.process("a"), await yard.process("x", lines=False)
    await yard.turns(a, api, n=20)
    assert (a.db.writes, api.db.writes) == (0, 0)
    a.waiting = 3
    api.gate.enter()
    api.gate.leave()
    await yard.turns(a, api, n=10)
    a.end(3)
    yard.clock.advance(60)
    a.gate.tick(waiting=False)
    api.gate.tick(waiting=False)
    await yard.turns(a, api, n=3)
    before = a.db.writes, api.db.writes
    await yard.turns(a, api, n=20)
    assert (a.db.writes, api.db.writes) == before


async def test_what_one_worker_learns_holds_for_all(yard: Yard) -> None:
    a, b = await yard.process("a", waiting=500), await yard.process("b", waiting=500)
    assert await yard.settled(a, b) == [4, 4]
    assert (a.gate.leads, b.gate.leads) == (True, False)
    b.gate.status(429)
    assert b.gate.capacity == 8
    await yard.turns(b, a)
    await yard.turns(b)
    assert (a.gate.capacity, b.gate.capacity) == (7, 7)


async def test_a_regular_call_that_is_refused_elsewhere_teaches_the_workers(yard: Yard) -> None:
    a, api = await yard.process("a", waiting=500), await yard.process("x", lines=False)
    await yard.turns(api, a)
    api.gate.enter()
    await yard.turns(api, a)
    api.gate.status(503)
    await yard.turns(api, a)
    assert a.gate.capacity == 8  # nine were under way, one more than was thought to fit
    a.end(1)
    api.gate.status(503)
    await yard.turns(api, a)
    assert a.gate.capacity == 7
    await yard.turns(api)
    assert api.gate.capacity == 7


async def test_a_learned_capacity_grows_with_what_all_workers_use(yard: Yard) -> None:
    yard.model = replace(MODEL, auto=True, batch_slots=1024)
    a, b = await yard.process("a", waiting=900), await yard.process("b", waiting=900)
    for _ in range(60):
        yard.clock.advance(0.5)
        for each in (a, b):
            each.end(each.gate.lines)
            for _ in range(40):
                each.gate.answered(0.1)
            each.gate.tick(waiting=True)
            await each.turn()
    assert a.gate.capacity == b.gate.capacity > 16
    assert abs(a.gate.lines - b.gate.lines) <= 1


async def test_who_takes_over_goes_on_with_what_was_learned(yard: Yard) -> None:
    yard.model = replace(MODEL, auto=True, batch_slots=1024)
    a, b = await yard.process("a", waiting=500), await yard.process("b")
    await yard.turns(a)
    a.gate.status(429)
    assert a.gate.capacity == 7
    await yard.turns(a)
    a.waiting = 0
    a.end(8)
    await yard.turns(a)
    await a.sharing.close()
    b.waiting = 500
    assert await yard.turns(b) == [7]
    assert b.gate.leads


async def test_harm_measured_by_one_process_is_heeded_by_all_workers(yard: Yard) -> None:
    a, api = await yard.process("a", waiting=500), await yard.process("x", lines=False)
    await yard.turns(api, a)
    api.gate.harm.reserve = 3
    await yard.turns(api, a)
    a.end(8)
    assert await yard.turns(api, a) == [0, 5]
    api.gate.harm.pausing = True
    await yard.turns(api, a)
    a.end(5)
    assert await yard.turns(a, api) == [0, 0]
    assert not api.gate.beside
    api.gate.harm.pausing, api.gate.harm.reserve = False, 0
    assert api.gate.beside
    assert await yard.turns(api, a) == [0, 8]


async def test_calls_know_of_the_lines_of_other_processes(yard: Yard) -> None:
    a, api = await yard.process("a", waiting=500), await yard.process("x", lines=False)
    await yard.turns(a)
    api.gate.enter()
    await yard.turns(a, api)
    assert api.gate.beside
    assert (api.gate.others.lines, api.gate.under_way) == (8, 9)


async def test_a_worker_whose_lines_get_no_slot_hands_them_on(yard: Yard) -> None:
    yard.model = replace(MODEL, capacity=1, batch_slots=1)
    a, b = await yard.process("a", waiting=500), await yard.process("b", waiting=5)
    for _ in range(12):
        await yard.turns(a, b)
        a.end(1)
    assert (a.starved, b.starved) == ([], ["m"])


async def test_what_is_cut_is_cut_for_lines_that_start_while_it_is_written(yard: Yard) -> None:
    a, b = await yard.process("a", waiting=500), await yard.process("b", waiting=500)
    await yard.turns(a)
    yard.clock.advance(0.5)
    await b.turn()
    yard.clock.advance(0.5)
    turning = asyncio.ensure_future(a.sharing.once())
    while not turning.done():
        a.end(1)
        a.run()
        await asyncio.sleep(0)
    granted = await yard.granted()
    assert a.gate.lines <= granted["a"]


@pytest.mark.parametrize("seed", range(3))
async def test_grants_never_sum_to_more_than_the_capacity(yard: Yard, seed: int) -> None:
    """Eight workers that join, work, lose the database, die and come back, at the same time as far as they can."""
    chance = random.Random(seed)
    alive = [await yard.process(f"w{at}") for at in range(8)]
    dead: list[Process] = []
    most = 0
    for step in range(100):
        yard.clock.advance(chance.choice([5, 20, 80]) if chance.random() < 0.05 else 0.5)
        for process in (*alive, *dead):
            process.time_out()
        for at, process in enumerate(alive):
            process.waiting = chance.choice([0, process.waiting, process.waiting + 3, 40])
            process.end(chance.randint(0, process.gate.lines))
            if chance.random() < 0.03:
                dead.append(process)  # as far as anybody can know, its calls go on
                alive[at] = await yard.process(f"w{step}.{at}")
        await asyncio.gather(*(process.turn() for process in alive if chance.random() < 0.8))
        granted = await yard.granted()
        under_way = {process.name: process.gate.lines for process in (*alive, *dead)}
        assert sum(granted.values()) <= 8
        assert sum(under_way.values()) <= 8
        assert all(lines <= granted.get(name, 0) for name, lines in under_way.items())
        most = max(most, sum(under_way.values()))
    assert most == 8


async def test_who_looks_is_told_what_the_others_do(yard: Yard) -> None:
    a, api = await yard.process("a", waiting=500), await yard.process("x", lines=False)
    await yard.turns(a, api)
    assert api.gate.others.lines == 0
    api.gate.look()
    await yard.turns(a, api)
    assert (api.gate.others.lines, api.gate.capacity) == (8, 8)
    writes = api.db.writes
    yard.clock.advance(10)
    await yard.turns(a, api)
    assert (api.gate.others.lines, api.db.writes) == (0, writes)
