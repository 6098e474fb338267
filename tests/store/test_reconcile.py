"""What the reconciliation finds: every planted difference, and none where there is none."""

import pytest
from msgspec.structs import replace

from hornada.core.segment import Segment
from hornada.store import balance, ledger, segment
from hornada.store import batch as batches
from hornada.store.database import Database
from hornada.store.reconcile import Difference, differences
from tests.store.nouns import a_batch, a_file
from tests.store.test_ledger import entry

LINES, FIGURE = 3, 2**40
"""Of ``entry``."""


@pytest.fixture
async def ended(db: Database) -> str:
    """An ended batch of three good lines and a bad one, its segment still there, billed from a balance."""
    batch = a_batch(a_file())
    part = Segment(
        batch=batch.id,
        idx=0,
        epoch=1,
        seq=1,
        object="seg",
        offset=0,
        length=1,
        sha256="",
        model="m",
        n_ok=LINES,
        n_failed=1,
        index=b"",
    )
    async with db.write() as tx:
        await batches.insert(tx, batch, None)
        await segment.insert(tx, [part])
        await balance.credit(tx, "org", 2 * FIGURE)
        await ledger.insert(tx, [entry("s", batch=batch.id), entry("call", batch=None)])
        await balance.fold(tx, 1)
        await tx.run("UPDATE batch SET status = 'completed', n_ok = :n, cost = :cost", n=LINES, cost=FIGURE)
    return batch.id


async def found(db: Database) -> list[Difference]:
    async with db.read() as tx:
        return await differences(tx)


async def change(db: Database, sql: str) -> None:
    async with db.write() as tx:
        assert await tx.run(sql) >= 1


async def test_a_sound_ledger_has_no_differences(db: Database, ended: str) -> None:
    assert await found(db) == []
    async with db.write() as tx:
        await balance.fold(tx, 100)
    assert await found(db) == []


async def test_an_entry_that_is_missing_is_found_in_segments_counts_and_cost(db: Database, ended: str) -> None:
    await change(db, "DELETE FROM ledger_entry WHERE batch IS NOT NULL AND folded = 0 OR source = 's'")
    assert {(each.what, each.of, each.ledger, each.found) for each in await found(db)} >= {
        ("lines billed and good lines of segments", ended, 0, LINES),
        ("lines billed and completed requests", ended, 0, LINES),
        ("amount billed and cost of the batch", ended, 0, FIGURE),
    }


async def test_a_line_that_was_billed_twice_is_found(db: Database, ended: str) -> None:
    async with db.write() as tx:
        await ledger.insert(tx, [replace(entry("again", batch=ended), lines=1, amount=0)])
    assert await found(db) == [
        Difference(what="lines billed and good lines of segments", of=ended, ledger=LINES + 1, found=LINES),
        Difference(what="lines billed and completed requests", of=ended, ledger=LINES + 1, found=LINES),
    ]


async def test_after_the_segments_are_gone_the_counts_still_prove_it(db: Database, ended: str) -> None:
    await change(db, "DELETE FROM segment")
    assert await found(db) == []
    await change(db, "UPDATE batch SET n_ok = 2")
    assert [(each.what, each.ledger, each.found) for each in await found(db)] == [
        ("lines billed and completed requests", LINES, 2)
    ]


async def test_a_balance_that_moved_otherwise_than_its_entries_is_found(db: Database, ended: str) -> None:
    await change(db, "UPDATE balance SET amount = amount + 5")
    assert await found(db) == [
        Difference(what="amounts folded and movement of the balance", of="org", ledger=FIGURE, found=FIGURE - 5)
    ]


async def test_entries_of_a_batch_that_runs_must_be_its_segments(db: Database, ended: str) -> None:
    await change(db, "UPDATE batch SET status = 'in_progress', cost = NULL, n_ok = 0")
    assert await found(db) == []
    await change(db, "UPDATE segment SET n_ok = 2")
    assert [each.what for each in await found(db)] == ["lines billed and good lines of segments"]


async def test_what_an_erased_organization_leaves_is_no_difference(db: Database, ended: str) -> None:
    await change(db, "DELETE FROM segment")
    await change(db, "DELETE FROM batch")
    assert await found(db) == []
