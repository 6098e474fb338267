"""Ledger entries."""

from hornada.core.batch import Usage
from hornada.core.ids import new_id
from hornada.store import ledger
from hornada.store.database import Database
from hornada.store.ledger import LedgerEntry
from tests.store.nouns import NOW


def entry(source: str, *, created_at: int = NOW, batch: str | None = "batch", org: str = "org") -> LedgerEntry:
    return LedgerEntry(
        id=new_id(),
        source=source,
        org=org,
        key="key",
        batch=batch,
        model="m",
        endpoint="/v1/embeddings:batch",
        lines=3,
        usage=Usage(10, 4, 5, 2),
        amount=2**40,
        estimated=True,
        created_at=created_at,
    )


async def test_a_source_is_recorded_once_whatever_is_retried(db: Database) -> None:
    first = entry("segment/1")
    async with db.write() as tx:
        await ledger.insert(tx, [first])
        await ledger.insert(tx, [entry("segment/1"), entry("segment/2", org="other")])
        assert await ledger.amount(tx, "org") == 2**40
        assert await ledger.last_event(tx, "org") == first


async def test_the_last_event_is_the_newest(db: Database) -> None:
    old, new = entry("1"), entry("2", created_at=NOW + 1, batch=None)
    async with db.write() as tx:
        await ledger.insert(tx, [new, old])
        assert await ledger.last_event(tx, "org") == new


async def test_the_usage_of_a_batch_is_the_sum_of_its_entries(db: Database) -> None:
    async with db.write() as tx:
        await ledger.insert(tx, [entry("1"), entry("2"), entry("3", batch="other"), entry("4", batch=None)])
        assert await ledger.usage_of(tx, "batch") == Usage(20, 8, 10, 4)


async def test_without_entries_there_is_no_event_and_nothing_used(db: Database) -> None:
    async with db.read() as tx:
        assert await ledger.last_event(tx, "org") is None
        assert await ledger.amount(tx, "org") == 0
        assert await ledger.usage_of(tx, "batch") == Usage()
