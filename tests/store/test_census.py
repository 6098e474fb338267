"""How many batches live."""

from hornada.core.batch import Status
from hornada.store import census
from hornada.store import stage as stages
from hornada.store.database import Database
from tests.store.ledgers import accepted, fresh
from tests.store.nouns import NOW


async def live(db: Database) -> dict[Status, int]:
    async with db.read() as tx:
        return await census.live(tx)


async def test_live_batches_are_counted_by_status(db: Database) -> None:
    assert set((await live(db)).values()) == {0}
    await fresh(db)
    await fresh(db)
    await accepted(db)
    assert await live(db) == {
        Status.VALIDATING: 2,
        Status.IN_PROGRESS: 1,
        Status.FINALIZING: 0,
        Status.CANCELLING: 0,
    }


async def test_a_batch_that_has_ended_is_not_counted(db: Database) -> None:
    await fresh(db)
    async with db.write() as tx:
        stage = await stages.take_unchecked(tx, "me")
        assert stage is not None
        await stages.reject(tx, stage, (), NOW)
    assert set((await live(db)).values()) == {0}
