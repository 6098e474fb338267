"""Old entries of the ledger become one a day, and nobody who sums them up can tell."""

import random
from itertools import chain, combinations
from typing import Any

from msgspec.structs import replace

from hornada.core.batch import Usage
from hornada.core.clock import DAY
from hornada.store import balance, ledger
from hornada.store import batch as batches
from hornada.store.condense import condense
from hornada.store.database import Database
from hornada.store.reconcile import differences
from tests.store.nouns import NOW, a_batch, a_file
from tests.store.test_ledger import entry

TODAY = NOW // DAY * DAY
ORGS = ("org", "other", "third")
PARTS = ("day", "model", "endpoint")
GROUPINGS = list(chain.from_iterable(combinations(PARTS, size) for size in range(4)))


async def booked(db: Database, n: int, seed: int) -> None:
    """So many entries of the last ten days, those of ``org`` and ``other`` against a balance."""
    chance = random.Random(seed)
    async with db.write() as tx:
        for org in ORGS[:2]:
            await balance.credit(tx, org, 10**15)
        await ledger.insert(
            tx,
            [
                replace(
                    entry(f"{seed}/{at}", org=chance.choice(ORGS), batch=chance.choice([None, "b1", "b2"])),
                    key=chance.choice(["k1", "k2"]),
                    model=chance.choice(["m", "n"]),
                    endpoint=chance.choice(["/v1/embeddings", "/v1/embeddings:batch"]),
                    usage=Usage(*(chance.randrange(10**6) for _ in range(4))),
                    amount=chance.randrange(-(10**6), 10**9),
                    estimated=chance.random() < 0.1,
                    created_at=TODAY - chance.randrange(10 * DAY),
                )
                for at in range(n)
            ],
        )
    async with db.write() as tx:
        await balance.fold(tx, 10 * n)


async def sums(db: Database) -> list[Any]:
    """All that anybody asks of the ledger."""
    told: list[Any] = []
    async with db.read() as tx:
        for org in ORGS:
            told += [await ledger.used(tx, org, TODAY - 20 * DAY, TODAY + DAY, by) for by in GROUPINGS]
            told += [await ledger.amount(tx, org), await ledger.last_event(tx, org), await balance.left(tx, org)]
        for batch in ("b1", "b2"):
            told += [await ledger.usage_of(tx, batch), await ledger.cost_of(tx, batch)]
        assert not [found for found in await differences(tx) if found.what.startswith("amounts folded")]
    return told


async def condensed(db: Database, before: int = TODAY - 2 * DAY, limit: int = 70) -> int:
    """Folds until there is nothing to fold; how many entries were."""
    most = 0
    while True:
        async with db.write() as tx:
            found = await condense(tx, before, limit)
        if not found:
            return most
        most += found


async def entries(db: Database, where: str = "1 = 1") -> int:
    async with db.read() as tx:
        row = await tx.row(f"SELECT COUNT(*) AS n FROM ledger_entry WHERE {where}")  # noqa: S608
    assert row is not None
    return int(row["n"])


async def test_no_sum_changes(db: Database) -> None:
    await booked(db, 2000, seed=1)
    before, rows = await sums(db), await entries(db)
    folded = await condensed(db)
    assert folded > 1000
    assert await sums(db) == before
    groups = 8 * len(ORGS) * 2 * 3 * 2 * 2  # days, organizations, keys, batches, models, endpoints
    assert await entries(db) <= rows - folded + groups


async def test_entries_that_come_later_join_the_sum_of_their_day(db: Database) -> None:
    await booked(db, 500, seed=1)
    await condensed(db)
    once = await entries(db, "folded IN (3, 4)")
    await booked(db, 5000, seed=2)
    before = await sums(db)
    await condensed(db)
    assert await sums(db) == before
    twice = await entries(db, "folded IN (3, 4)")
    await booked(db, 5000, seed=3)
    await condensed(db)
    assert once < twice
    assert await entries(db, "folded IN (3, 4)") <= twice * 1.01, "all groups were there already"
    assert await condensed(db) == 0


async def test_younger_ones_and_those_that_no_balance_has_accounted_for_stay(db: Database) -> None:
    await booked(db, 300, seed=1)
    async with db.write() as tx:
        await ledger.insert(tx, [entry("fresh", created_at=TODAY - 9 * DAY), entry("newest", created_at=TODAY + 5)])
    young = await entries(db, f"created_at >= {TODAY - 2 * DAY}")
    await condensed(db)
    assert await entries(db, "source = 'fresh'") == 1
    assert await entries(db, f"created_at >= {TODAY - 2 * DAY} AND folded < 3") == young


async def test_the_newest_entry_of_an_organization_stays(db: Database) -> None:
    async with db.write() as tx:
        await ledger.insert(tx, [entry(str(at), created_at=TODAY - 9 * DAY + at) for at in range(5)])
        await balance.fold(tx, 10)
    before = await sums(db)
    assert await condensed(db) == 4
    assert await sums(db) == before
    assert await entries(db) == 2


async def test_entries_of_a_live_batch_stay(db: Database) -> None:
    live = a_batch(a_file())
    async with db.write() as tx:
        await batches.insert(tx, live, None)
        await ledger.insert(
            tx,
            [entry(f"{live.id}:0:1:{at}", batch=live.id, created_at=TODAY - 9 * DAY) for at in range(5)]
            + [entry("newest", created_at=TODAY)],
        )
        await balance.fold(tx, 10)
    assert await condensed(db) == 0
    async with db.write() as tx:
        await tx.run("UPDATE batch SET status = 'completed'")
    assert await condensed(db) == 5
