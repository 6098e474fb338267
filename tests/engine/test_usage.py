"""Entries of regular calls: each once, whatever the ledger does, and memory stays bounded."""

import asyncio

import pytest

import hornada.engine.usage as using
from hornada.core.batch import Usage
from hornada.core.catalog import Model, Price
from hornada.core.errors import Unavailable
from hornada.core.money import Charge
from hornada.engine.budget import Budget
from hornada.engine.usage import UsageLog, UsageRecord
from hornada.store import ledger
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.failing import Flaky
from tests.engine.house import ANA, CHAT, caller

MODEL = Model(name="m", servers=(), price=Price(input=1))
CALL = UsageRecord(ANA, MODEL, CHAT, Charge(Usage(3, 0, 2), 7, estimated=False))


@pytest.fixture
def flaky(db: Database) -> Flaky:
    return Flaky(db)


@pytest.fixture
def log(flaky: Flaky, clock: Hands) -> UsageLog:
    return UsageLog(flaky, clock, Budget(flaky, clock, on_stopped=lambda batch, reason: None))


async def written(db: Database, org: str = "org") -> tuple[int, int]:
    """Calls and micro-units."""
    async with db.read() as tx:
        (used,) = await ledger.used(tx, org, 0, 1 << 60, ())
    return used.requests, used.amount


async def test_what_was_recorded_is_written_once(log: UsageLog, db: Database) -> None:
    for _ in range(3):
        log.record(CALL)
    assert not await log.once()
    assert not await log.once()
    assert await written(db) == (3, 21)


async def test_who_writes_at_the_same_time_writes_nothing_twice(log: UsageLog, db: Database) -> None:
    log.record(CALL)
    await asyncio.gather(*(log.once() for _ in range(3)))
    assert await written(db) == (1, 7)


async def test_more_than_fits_in_one_go_is_written_in_several(
    log: UsageLog, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(using, "_AT_ONCE", 2)
    for _ in range(5):
        log.record(CALL)
    assert [await log.once() for _ in range(3)] == [True, True, False]
    assert await written(db) == (5, 35)


async def test_what_could_not_be_written_is_written_later(log: UsageLog, db: Database, flaky: Flaky) -> None:
    log.record(CALL)
    flaky.before = 1
    with pytest.raises(Unavailable):
        await log.once()
    log.record(CALL)
    await log.once()
    assert await written(db) == (2, 14)


async def test_a_lost_answer_to_a_commit_writes_nothing_twice(log: UsageLog, db: Database, flaky: Flaky) -> None:
    log.record(CALL)
    flaky.after = 1
    with pytest.raises(Unavailable):
        await log.once()
    await log.once()
    assert await written(db) == (1, 7)


async def test_while_the_ledger_is_away_calls_of_one_kind_become_one_entry(
    log: UsageLog, db: Database, flaky: Flaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(using, "MOST", 10)
    monkeypatch.setattr(log, "_most", 10)
    log.record(CALL)
    flaky.after = 1
    with pytest.raises(Unavailable):
        await log.once()
    for at in range(50):
        log.record(UsageRecord(caller("eve", org="foreign"), MODEL, CHAT, CALL.charge) if at % 5 == 0 else CALL)
    assert len(log._entries) <= 10
    while await log.once():
        pass
    assert await written(db) == (41, 41 * 7)
    assert await written(db, "foreign") == (10, 70)
