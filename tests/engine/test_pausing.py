"""Batches and models that are paused: nothing of them starts, and nothing is lost."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hornada.core.account import Role
from hornada.core.batch import Batch, Status
from hornada.core.errors import Code, Refusal
from hornada.store.catalog import shelf
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.house import ANA, House, caller, line, opened, texts
from tests.engine.model_server import ModelServer
from tests.engine.town import OPERATOR, SLOTS, Town, town_at

BOB, CID, EVE = caller("bob"), caller("cid", role=Role.ADMIN), caller("eve", org="foreign")
LINES = 250


async def running(house: House, server: ModelServer) -> Batch:
    """A batch with four lines in flight."""
    server.holding = True
    batch = await house.accepted(*texts(LINES))
    await house.dispatcher.once()
    await server.arrived(4)
    return batch


async def answer(house: House, server: ModelServer, calls: int = 4) -> None:
    """Answers what is in flight, and has its results committed."""
    server.release()
    for text in list(server.calls)[:calls]:
        await server.gone(text)
    server.holding = False
    await house.work()


async def refused(house: House, deed: str, who: object, batch: Batch) -> Code:
    with pytest.raises(Refusal) as refusal:
        await getattr(house.batches, deed)(who, batch.id)
    return refusal.value.code


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize("told", [True, False], ids=["told", "seen in the ledger"])
async def test_lines_in_flight_finish_and_no_other_starts(house: House, server: ModelServer, told: bool) -> None:
    batch = await running(house, server)
    if told:
        assert (await house.batches.pause(ANA, batch.id)).paused
    else:
        await house.change("UPDATE batch SET paused_at = 1 WHERE id = :id", id=batch.id)
        await house.dispatcher.once()
    await answer(house, server)
    assert server.total == 4
    seen = await house.see(batch)
    assert (seen.status, seen.paused, seen.counts.completed) == (Status.IN_PROGRESS, True, 4)
    assert {row["state"] for row in await house.rows("SELECT state FROM chunk")} == {"ready"}
    assert house.dispatcher.held == 0


async def test_a_resumed_batch_goes_on_and_runs_no_line_twice(house: House, server: ModelServer) -> None:
    batch = await running(house, server)
    await house.batches.pause(ANA, batch.id)
    await answer(house, server)
    assert not (await house.batches.resume(ANA, batch.id)).paused
    ended = await house.finish(batch)
    assert (ended.status, ended.counts.completed, ended.paused) == (Status.COMPLETED, LINES, False)
    assert set(server.calls.values()) == {1}


async def test_a_resume_while_lines_are_still_in_flight_loses_nothing(house: House, server: ModelServer) -> None:
    batch = await running(house, server)
    await house.batches.pause(ANA, batch.id)
    await house.batches.resume(ANA, batch.id)
    server.holding = False
    server.release()
    ended = await house.finish(batch)
    assert (ended.status, ended.counts.completed, server.total) == (Status.COMPLETED, LINES, LINES)


async def test_another_batch_goes_on_beside_a_paused_one(house: House) -> None:
    paused = await house.accepted(*texts(5, "p"))
    other = await house.accepted(*texts(5, "o"))
    await house.batches.pause(ANA, paused.id)
    assert (await house.finish(other)).status is Status.COMPLETED
    assert (await house.see(paused)).counts.completed == 0


async def test_a_batch_paused_before_it_is_checked_is_checked_and_waits(house: House, server: ModelServer) -> None:
    batch = await house.fresh(*texts(3))
    await house.batches.pause(ANA, batch.id)
    await house.check()
    await house.work()
    assert (await house.see(batch)).status is Status.IN_PROGRESS
    assert server.total == 0


async def test_a_paused_batch_is_cancelled_at_once(house: House, server: ModelServer) -> None:
    batch = await house.accepted(*texts(3))
    await house.batches.pause(ANA, batch.id)
    await house.batches.cancel(ANA, batch.id)
    ended = await house.finish(batch)
    assert (ended.status, ended.counts.failed, server.total) == (Status.CANCELLED, 3, 0)


async def test_a_paused_batch_expires(house: House, server: ModelServer) -> None:
    batch = await house.accepted(*texts(3))
    await house.batches.pause(ANA, batch.id)
    house.clock.advance(86_401)
    await house.reaper.once()
    ended = await house.finish(batch)
    assert (ended.status, ended.counts.failed, server.total) == (Status.EXPIRED, 3, 0)


async def test_what_is_in_flight_of_a_paused_batch_gets_its_time_of_grace_when_it_expires(
    house: House, server: ModelServer
) -> None:
    batch = await running(house, server)
    await house.batches.pause(ANA, batch.id)
    house.clock.advance(86_401)
    await house.reaper.once()
    await house.dispatcher.once()
    house.clock.advance(61)
    await house.dispatcher.once()
    for text in list(server.calls):
        await server.gone(text)
    ended = await house.finish(batch)
    assert (ended.status, ended.counts.completed, ended.counts.failed) == (Status.EXPIRED, 0, LINES)


async def test_a_pause_outlives_the_process(house: House, server: ModelServer, clock: Hands) -> None:
    batch = await house.accepted(*texts(3))
    await house.batches.pause(ANA, batch.id)
    async with opened(house.db, house.blobs, clock, house.model.servers[0].url, owner="next") as after:
        await after.reaper.void("next")
        await after.work()
        assert server.total == 0
        await after.batches.resume(ANA, batch.id)
        assert (await after.finish(batch)).counts.completed == 3


@pytest.mark.parametrize("deed", ["pause", "resume"])
async def test_who_may_and_who_may_not(house: House, deed: str) -> None:
    batch = await house.accepted(*texts(1))
    assert await refused(house, deed, BOB, batch) is Code.PERMISSION_DENIED
    assert await refused(house, deed, EVE, batch) is Code.BATCH_NOT_FOUND
    for who in (ANA, CID, OPERATOR):
        for _ in range(2):
            assert (await getattr(house.batches, deed)(who, batch.id)).paused == (deed == "pause")


async def test_who_did_it_is_written_down_unless_it_was_the_owner(house: House) -> None:
    batch = await house.accepted(*texts(1))
    for who in (ANA, CID):
        await house.batches.pause(who, batch.id)
        await house.batches.resume(who, batch.id)
    assert [row["action"] for row in await house.rows("SELECT action FROM audit ORDER BY action")] == [
        "batch.pause",
        "batch.resume",
    ]


async def test_a_batch_that_has_ended_is_neither_paused_nor_resumed(house: House) -> None:
    ended = await house.finish(await house.accepted(*texts(1)))
    assert await refused(house, "pause", ANA, ended) is Code.BATCH_NOT_PAUSABLE
    assert await refused(house, "resume", ANA, ended) is Code.BATCH_NOT_PAUSABLE


# ---------------------------------------------------------------- models


@pytest.fixture
async def town(db: Database, tmp_path: Path, clock: Hands) -> AsyncIterator[Town]:
    async with town_at(db, tmp_path, clock) as town:
        yield town


async def test_no_line_of_a_paused_model_starts_and_other_models_go_on(town: Town) -> None:
    batch = await town.started(*["m"] * 10)
    other = await town.accepted(line("other", model="n"))
    await town.curator.pause(OPERATOR, "m")
    await town.dispatcher.once()
    ended = await town.finish(other)
    assert ended.counts.completed == 1
    assert town.old.total == SLOTS
    assert (await town.see(batch)).counts.completed == SLOTS
    assert {row["state"] for row in await town.rows("SELECT state FROM chunk WHERE batch = :id", id=batch.id)} == {
        "ready"
    }
    await town.curator.resume(OPERATOR, "m")
    assert (await town.finish(batch)).counts.completed == 10


async def test_lines_of_a_paused_model_follow_their_alias_elsewhere(town: Town) -> None:
    batch = await town.accepted(*(line(f"{at}", model="alias") for at in range(5)))
    await town.curator.pause(OPERATOR, "m")
    await town.work()
    assert town.old.total == 0
    await town.curator.put_alias(OPERATOR, "alias", "n")
    await town.warden.once()
    assert (await town.finish(batch)).counts.completed == 5
    assert town.new.total == 5


async def test_a_pause_of_a_model_is_in_the_ledger_and_stands_through_a_new_price(town: Town) -> None:
    await town.curator.pause(OPERATOR, "m")
    await town.curator.put_price(OPERATOR, "m", town.n.price)
    async with town.db.read() as tx:
        assert (await shelf(tx)).paused == {"m"}
    assert town.catalog.paused == {"m"}
    await town.curator.resume(OPERATOR, "m")
    assert town.catalog.paused == frozenset()


async def test_a_retired_model_that_is_back_is_not_paused(town: Town) -> None:
    await town.curator.pause(OPERATOR, "m")
    await town.curator.retire(OPERATOR, "m")
    await town.curator.put_model(OPERATOR, town.m)
    assert town.catalog.paused == frozenset()


@pytest.mark.parametrize("deed", ["pause", "resume"])
async def test_only_the_operator_pauses_models_and_only_those_that_there_are(town: Town, deed: str) -> None:
    for who, name, code in ((CID, "m", Code.PERMISSION_DENIED), (OPERATOR, "x", Code.MODEL_NOT_FOUND)):
        with pytest.raises(Refusal) as refusal:
            await getattr(town.curator, deed)(who, name)
        assert refusal.value.code is code
