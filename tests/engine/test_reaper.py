"""What is tidied: deadlines, abandoned leases, bytes and rows that nobody needs any more."""

import pytest

from hornada.core.batch import RequestCounts, Status, StopReason
from hornada.engine.reaper import Reaper
from hornada.store import idempotency
from hornada.store import stage as stages
from hornada.store.idempotency import Remembered
from tests.conftest import Hands
from tests.engine.house import ANA, House, opened, texts
from tests.engine.model_server import ModelServer


async def test_a_batch_expires_at_its_deadline_and_not_before(house: House, clock: Hands) -> None:
    batch = await house.accepted(*texts(3))
    clock.set(batch.expires_at - 1)
    assert not await house.reaper.once()
    assert (await house.see(batch)).status is Status.IN_PROGRESS
    clock.set(batch.expires_at)
    await house.reaper.once()
    found = await house.see(batch)
    assert (found.status, found.stop, found.finalizing_at) == (Status.FINALIZING, StopReason.EXPIRED, clock.now())
    assert house.stopped == [(batch.id, StopReason.EXPIRED)]
    await house.reaper.once()
    assert house.stopped == [(batch.id, StopReason.EXPIRED)]


@pytest.mark.parametrize("status", [Status.CANCELLING, Status.FINALIZING, Status.COMPLETED])
async def test_a_batch_that_is_ending_does_not_expire(house: House, clock: Hands, status: Status) -> None:
    batch = await house.accepted("a")
    await house.change("UPDATE batch SET status = :to", to=status)
    clock.set(batch.expires_at)
    await house.reaper.once()
    assert (await house.see(batch)).status is status


async def test_more_overdue_batches_than_one_step_takes_are_left_to_the_next(house: House, clock: Hands) -> None:
    file = await house.upload(b"x")
    from tests.engine.house import caller

    who = caller(active_batches=200)
    made = [(await house.create(file, who, metadata={"at": str(at)}))[0] for at in range(101)]
    clock.set(made[0].expires_at)
    assert await house.reaper.once()
    assert not await house.reaper.once()
    assert len(house.stopped) == 101


async def test_at_a_start_what_another_process_held_is_void_at_once(
    house: House, server: ModelServer, url: str
) -> None:
    server.holding = True
    batch = await house.accepted(*texts(3))
    checked = await house.fresh("b")
    await house.dispatcher.once()
    await server.arrived(3)
    async with house.db.write() as tx:
        assert await stages.take_unchecked(tx, "me")
    await house.leave()
    server.holding = False
    async with opened(house.db, house.blobs, house.clock, url, owner="next") as after:
        assert not await after.validator.once()
        await after.reaper.void("next")
        await after.check()
        assert (await after.finish(batch)).counts == RequestCounts(3, 3, 0)
        assert (await after.finish(checked)).status is Status.COMPLETED


async def test_at_a_start_the_chunks_of_a_cancelled_batch_are_done(house: House, server: ModelServer, url: str) -> None:
    server.holding = True
    batch = await house.accepted(*texts(3))
    await house.dispatcher.once()
    await server.arrived(3)
    await house.batches.cancel(ANA, batch.id)
    await house.leave()
    async with opened(house.db, house.blobs, house.clock, url, owner="next") as after:
        await after.reaper.void("next")
        await after.finalizer.once()
        ended = await after.see(batch)
    assert (ended.status, ended.counts) == (Status.CANCELLED, RequestCounts(3, 0, 3))


async def test_segments_and_chunks_of_an_ended_batch_go_and_its_files_stay(house: House) -> None:
    ended = await house.finish(await house.accepted(*texts(3)))
    live = await house.accepted("b")
    await house.dispatcher.once()
    before = await house.results(ended)
    await house.reaper.tidy()
    assert [row["batch"] for row in await house.rows("SELECT batch FROM chunk")] == [live.id]
    assert {row["batch"] for row in await house.rows("SELECT batch FROM segment")} <= {live.id}
    assert not [key for key in await house.keys() if key.startswith(f"seg/{ended.id}/")]
    assert await house.results(ended) == before
    assert (await house.see(ended)).counts == RequestCounts(3, 3, 0)
    assert len(await house.rows("SELECT 1 FROM ledger_entry WHERE batch = :id", id=ended.id)) >= 1


async def test_old_idempotency_keys_are_forgotten(house: House, clock: Hands) -> None:
    async with house.db.write() as tx:
        await idempotency.remember(tx, "org", "batches", "k", Remembered("d", "b"))
    await house.reaper.tidy()
    assert len(await house.rows("SELECT 1 FROM idempotency")) == 1
    clock.advance(86_400)
    await house.reaper.tidy()
    assert await house.rows("SELECT 1 FROM idempotency") == []


async def test_an_expired_file_goes_with_its_bytes_but_not_the_input_of_a_live_batch(
    house: House, clock: Hands
) -> None:
    await house.finish(await house.accepted("a"))
    live = await house.fresh("b")
    clock.advance(31 * 86_400)
    while await house.reaper.tidy():
        pass
    await house.reaper.tidy()
    assert [row["id"] for row in await house.rows("SELECT id FROM file")] == [live.input_file]
    assert await house.keys() == [f"input/{live.input_file}"]


@pytest.mark.parametrize(("entry_days", "left"), [(35, 2), (0, 6)])
async def test_entries_of_the_ledger_are_summed_up_by_day_once_they_are_old(
    house: House, clock: Hands, entry_days: int, left: int
) -> None:
    for text in texts(5):
        await house.finish(await house.accepted(text))
    await house.change("UPDATE ledger_entry SET batch = NULL")  # as those of regular calls
    clock.advance(40 * 86_400)
    await house.finish(await house.accepted("the newest"))
    reaper = Reaper(house.db, house.blobs, clock, house.files, on_stopped=lambda *_: None, entry_days=entry_days)
    while await reaper.tidy():
        pass
    rows = await house.rows("SELECT lines FROM ledger_entry")
    assert (len(rows), sum(row["lines"] for row in rows)) == (left, 6)
