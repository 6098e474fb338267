"""Onlookers of batches share one look at the ledger, and none is made when nobody looks."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from hornada.core.batch import Status
from hornada.core.errors import Code, Refusal, Unavailable
from hornada.engine.pace import Pace
from hornada.engine.watching import Watching
from hornada.store.database import Database, Tx
from tests.engine.house import ANA, House, caller, texts


class Counting:
    """A database that counts its views, and fails when told to."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.views = 0
        self.away = False

    @asynccontextmanager
    async def read(self, **how: bool) -> AsyncIterator[Tx]:
        self.views += 1
        if self.away:
            raise Unavailable("away")
        async with self._db.read(**how) as tx:
            yield tx

    def __getattr__(self, name: str) -> object:
        return getattr(self._db, name)


@pytest.fixture
def counting(db: Database) -> Iterator[Counting]:
    return Counting(db)  # type: ignore[return-value]


def watching(house: House, counting: Counting, **change: float) -> Watching:
    pace = Pace(house.clock, lambda batch, *, held: None)
    return Watching(counting, house.batches, pace, **change)  # type: ignore[arg-type]


async def test_a_thousand_onlookers_cost_one_view_an_interval(house: House, counting: Counting) -> None:
    first, second = await house.accepted(*texts(3)), await house.accepted("x")
    watches = watching(house, counting, every_s=3600, most=2000)
    async with AsyncExitStack() as stack:
        seen = [await stack.enter_async_context(watches.watch(ANA, first.id)) for _ in range(1000)]
        seen.append(await stack.enter_async_context(watches.watch(ANA, second.id)))
        assert watches.onlookers == 1001
        await house.work()
        counting.views = 0
        news = [asyncio.create_task(each.later(1, 10)) for each in seen]
        await asyncio.sleep(0)
        await watches.once()
        assert await asyncio.gather(*news) == [True] * 1001
        assert counting.views == 1
        assert {each.batch.status for each in seen if each.batch} == {Status.FINALIZING}
        assert seen[0].batch is not None
        assert seen[0].batch.counts.completed == 3
        assert seen[0].progress.cost == 3 * 7
    assert watches.onlookers == 0
    counting.views = 0
    await watches.once()
    assert counting.views == 0
    await watches.close()


async def test_the_looking_ends_with_the_last_onlooker_and_begins_again(house: House, counting: Counting) -> None:
    batch = await house.fresh("a")
    watches = watching(house, counting, every_s=0.01)
    for _ in range(2):
        async with watches.watch(ANA, batch.id) as watched:
            assert await watched.later(watched.seen, 10)
        async with asyncio.timeout(60):
            while watches._task is not None:
                await asyncio.sleep(0.01)


async def test_a_ledger_that_is_away_is_waited_for(house: House, counting: Counting) -> None:
    batch = await house.fresh("a")
    watches = watching(house, counting, every_s=0.01)
    async with watches.watch(ANA, batch.id) as watched:
        counting.away = True
        views = counting.views
        async with asyncio.timeout(60):
            while counting.views < views + 3:
                await asyncio.sleep(0.01)
        seen = watched.seen
        counting.away = False
        async with asyncio.timeout(60):
            while watched.seen == seen:
                await watched.later(seen, 1)
        assert watched.batch is not None
    await watches.close()


async def test_only_the_organization_and_no_more_than_allowed_may_watch(house: House, counting: Counting) -> None:
    batch = await house.fresh("a")
    watches = watching(house, counting, every_s=3600, most=1)
    with pytest.raises(Refusal) as refused:
        async with watches.watch(caller("eve", org="foreign"), batch.id):
            pass
    assert refused.value.code is Code.BATCH_NOT_FOUND
    async with watches.watch(ANA, batch.id):
        with pytest.raises(Refusal) as refused:
            async with watches.watch(ANA, batch.id):
                pass
        assert refused.value.code is Code.RATE_LIMIT_EXCEEDED
    assert watches.onlookers == 0
    await watches.close()
