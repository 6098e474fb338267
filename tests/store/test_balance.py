"""Balances: what is left, credit, and folding."""

import asyncio

from msgspec.structs import replace

from hornada.store import balance, ledger
from hornada.store.database import Database
from hornada.store.reconcile import differences
from tests.store.nouns import NOW
from tests.store.test_ledger import entry


async def use(db: Database, *amounts: int, org: str = "org", first: int = 0) -> None:
    entries = [
        replace(entry(f"{org}/{first + at}", org=org, batch=None), amount=amount) for at, amount in enumerate(amounts)
    ]
    async with db.write() as tx:
        await ledger.insert(tx, entries)


async def credit(db: Database, amount: int, org: str = "org") -> int:
    async with db.write() as tx:
        return await balance.credit(tx, org, amount)


async def left(db: Database, org: str = "org") -> int | None:
    async with db.read() as tx:
        return await balance.left(tx, org)


async def fold(db: Database, limit: int = 1000) -> int:
    async with db.write() as tx:
        return await balance.fold(tx, limit)


async def agrees(db: Database) -> bool:
    async with db.read() as tx:
        return await differences(tx) == []


async def test_without_credit_an_organization_is_unlimited(db: Database) -> None:
    await use(db, 5)
    assert await left(db) is None


async def test_entries_are_taken_from_the_balance_at_once(db: Database) -> None:
    assert await credit(db, 100) == 100
    await use(db, 30, 2**40)
    assert await left(db) == 70 - 2**40


async def test_credit_adds_up(db: Database) -> None:
    await credit(db, 100)
    await use(db, 30)
    assert await credit(db, 50) == 120


async def test_what_was_used_without_limit_is_not_taken_from_the_first_credit(db: Database) -> None:
    await use(db, 30)
    await fold(db)
    await use(db, 40, first=1)
    assert await credit(db, 100) == 100
    await use(db, 1, first=2)
    assert await left(db) == 99
    await fold(db)
    assert (await left(db), await agrees(db)) == (99, True)


async def test_folding_changes_no_balance_and_is_bounded(db: Database) -> None:
    await credit(db, 100)
    await credit(db, 10, "other")
    await use(db, *range(7))
    await use(db, 3, org="other")
    await use(db, 9, org="unlimited")
    before = await left(db), await left(db, "other"), await left(db, "unlimited")
    assert before == (79, 7, None)
    assert [await fold(db, 4) for _ in range(4)] == [4, 4, 1, 0]
    assert (await left(db), await left(db, "other"), await left(db, "unlimited")) == before
    assert await agrees(db)


async def test_an_entry_is_folded_once_whoever_folds(db: Database) -> None:
    await credit(db, 100)
    await use(db, *[1] * 50)
    assert sum(await asyncio.gather(*(fold(db, 20) for _ in range(5)))) == 50
    assert (await left(db), await agrees(db)) == (50, True)


async def test_several_balances_are_read_together(db: Database) -> None:
    await credit(db, 100)
    await credit(db, 10, "other")
    await use(db, 1)
    async with db.read() as tx:
        assert await balance.left_of(tx, {"org", "other", "unlimited"}) == {"org": 99, "other": 10}
        assert await balance.left_of(tx, set()) == {}


async def test_usage_is_summed_by_day_model_and_endpoint(db: Database) -> None:
    day = 86_400_000_000
    entries = [
        entry("1", created_at=NOW),
        entry("2", created_at=NOW + 1),
        entry("3", created_at=NOW + day),
        replace(entry("4"), endpoint="/v1/embeddings", lines=1, estimated=False),
        replace(entry("5"), model="n"),
        entry("6", org="other"),
        entry("7", created_at=NOW - day),
    ]
    async with db.write() as tx:
        await ledger.insert(tx, entries)
        found = await ledger.used(tx, "org", NOW // day * day, NOW // day * day + 2 * day, {"day", "model", "endpoint"})
        whole = await ledger.used(tx, "org", 0, NOW * 2, ())
        models = await ledger.used(tx, "org", 0, NOW * 2, {"model"})
    today = NOW // day
    assert [(u.day, u.model, u.endpoint, u.requests, u.estimated) for u in found] == [
        (today, "m", "/v1/embeddings", 1, False),
        (today, "m", "/v1/embeddings:batch", 6, True),
        (today, "n", "/v1/embeddings:batch", 3, True),
        (today + 1, "m", "/v1/embeddings:batch", 3, True),
    ]
    assert [(u.requests, u.amount, u.usage.input) for u in whole] == [(16, 6 * 2**40, 60)]
    assert [(u.day, u.model, u.requests) for u in models] == [(None, "m", 13), (None, "n", 3)]


async def test_nothing_used_is_a_sum_of_nothing(db: Database) -> None:
    async with db.read() as tx:
        assert await ledger.used(tx, "org", 0, NOW, {"day"}) == []
        assert [u.requests for u in await ledger.used(tx, "org", 0, NOW, ())] == [0]


async def test_no_use_is_too_much_to_be_told(db: Database) -> None:
    await credit(db, 100)
    await use(db, 2 * 10**18, *[10**18] * 11)
    assert await left(db) == 100 - 8 * 10**18
    async with db.read() as tx:
        assert await ledger.amount(tx, "org") == 8 * 10**18
        assert [used.amount for used in await ledger.used(tx, "org", 0, 2 * NOW, ("day",))] == [8 * 10**18]
    assert await fold(db) == 12
    assert await left(db) == -(10**18)
    assert await credit(db, 10**15) == 10**15 - 10**18
    async with db.read() as tx:
        assert [found.ledger for found in await differences(tx)] == [8 * 10**18]


async def test_large_amounts_are_added_to_the_last_unit(db: Database) -> None:
    await credit(db, 10**15)
    amounts = (10**15 + 999_999_999, 1, 999_999_999, 10**9, 2**62 // 1000)
    await use(db, *amounts)
    assert await left(db) == 10**15 - sum(amounts)
    async with db.read() as tx:
        assert await ledger.amount(tx, "org") == sum(amounts)
    assert await fold(db) == 5
    assert await left(db) == 10**15 - sum(amounts)
    assert await agrees(db)
