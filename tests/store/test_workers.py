"""Rows of ``worker``: who is alive by the database's clock, and who is no more."""

from hornada.core.clock import SECOND
from hornada.store import worker as workers
from hornada.store.database import Database
from hornada.store.worker import REMEMBERED, Crew, Ended
from tests.conftest import Hands

TTL = 15 * SECOND


async def join(db: Database, worker: str, role: str = "worker") -> None:
    async with db.write(durable=False) as tx:
        await workers.join(tx, worker, role, f"host of {worker}", TTL)


async def renew(db: Database, worker: str) -> bool:
    async with db.write(durable=False) as tx:
        return await workers.renew(tx, worker, TTL)


async def end_late(db: Database, limit: int = 10) -> list[Ended]:
    async with db.write() as tx:
        return await workers.end_late(tx, limit)


async def crew(db: Database) -> Crew:
    async with db.read() as tx:
        return await workers.crew(tx)


async def gone(db: Database) -> list[str]:
    async with db.read() as tx:
        return list(await workers.ended(tx))


async def test_a_worker_is_ended_when_its_time_is_over_and_not_before(db: Database, clock: Hands) -> None:
    await join(db, "a")
    clock.advance(14.9)
    assert (await end_late(db), await gone(db)) == ([], [])
    clock.advance(0.1)
    assert await end_late(db) == [Ended("a", "worker", "host of a")]
    assert (await end_late(db), await gone(db)) == ([], ["a"])


async def test_who_renews_in_time_lives_on(db: Database, clock: Hands) -> None:
    await join(db, "a")
    for _ in range(3):
        clock.advance(10)
        assert await renew(db, "a")
        assert await end_late(db) == []


async def test_who_is_late_lives_on_unless_somebody_ended_it(db: Database, clock: Hands) -> None:
    await join(db, "a")
    await join(db, "b")
    clock.advance(20)
    assert await renew(db, "a")
    assert [each.id for each in await end_late(db)] == ["b"]
    assert not await renew(db, "b")
    assert not await renew(db, "never there")


async def test_ending_is_bounded(db: Database, clock: Hands) -> None:
    for at in range(5):
        await join(db, f"w{at}")
    clock.advance(15)
    assert [len(await end_late(db, limit=2)) for _ in range(4)] == [2, 2, 1, 0]


async def test_who_leaves_is_gone_at_once(db: Database) -> None:
    await join(db, "a")
    async with db.write() as tx:
        await workers.leave(tx, "a")
    assert (await gone(db), await renew(db, "a"), await crew(db)) == (["a"], False, Crew({}, None))


async def test_the_dead_are_forgotten_long_after_their_end(db: Database, clock: Hands) -> None:
    await join(db, "a")
    clock.advance(15)
    await end_late(db)
    for expected in (0, 1):
        async with db.write() as tx:
            assert await workers.forget(tx) == expected
        clock.advance(REMEMBERED / SECOND + 1)
    assert await gone(db) == []


async def test_the_first_of_those_that_run_batches_is_told_from_the_others(db: Database, clock: Hands) -> None:
    await join(db, "x", "api")
    clock.advance(1)
    await join(db, "b")
    clock.advance(1)
    await join(db, "a", "all")
    assert await crew(db) == Crew({"api": 1, "worker": 1, "all": 1}, "b")
    clock.advance(13.5)
    assert await crew(db) == Crew({"worker": 1, "all": 1}, "b")
    clock.advance(1)
    assert await crew(db) == Crew({"all": 1}, "a")


async def test_everybody_can_be_forgotten_where_nobody_can_be_alive(db: Database) -> None:
    await join(db, "a")
    async with db.write() as tx:
        await workers.clear(tx)
    assert await crew(db) == Crew({}, None)
