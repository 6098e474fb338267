"""Rows of ``chunk``: leased under a growing epoch, committed only by the holder of that epoch."""

import asyncio

import pytest
from msgspec.structs import replace

from hornada.core.batch import Event, Status, StopReason
from hornada.core.chunk import ChunkState, Span
from hornada.core.clock import SECOND
from hornada.store import batch as batches
from hornada.store import chunk as chunks
from hornada.store.database import Database
from tests.conftest import Hands
from tests.store.ledgers import accepted, claim, commit, seen, states, stop
from tests.store.nouns import NOW


async def void(db: Database, owner: str) -> list[str]:
    async with db.write() as tx:
        return await chunks.void(tx, owner, 100)


async def free(db: Database, *owners: str, limit: int = 100) -> list[str]:
    async with db.write() as tx:
        return await chunks.free(tx, owners, limit)


async def hand_back(db: Database, chunk: chunks.Chunk, wait: int = 0) -> None:
    async with db.write() as tx:
        await chunks.hand_back(tx, chunk, wait)


async def ready_models(db: Database) -> set[str]:
    async with db.read() as tx:
        return await chunks.ready_models(tx)


async def test_chunks_are_planned_in_order_with_nothing_done(db: Database) -> None:
    batch = await accepted(db, 100, 9)
    async with db.read() as tx:
        first, second = await chunks.of_batch(tx, batch.id, 0, 10)
        assert await chunks.of_batch(tx, batch.id, 1, 10) == [second]
        assert await chunks.of_batch(tx, batch.id, 0, 1) == [first]
    assert (first.idx, first.span, first.done, first.epoch) == (0, Span(0, 100, 0, 1000), bytes(13), 0)
    assert (second.idx, second.span, second.done) == (1, Span(100, 9, 1000, 90), bytes(2))


async def test_the_earliest_deadline_is_claimed_first(db: Database) -> None:
    late = await accepted(db, 100, 100, expires_at=NOW + 20 * SECOND)
    soon = await accepted(db, 100, expires_at=NOW + 10 * SECOND)
    claimed = await claim(db, 200)
    assert [(work.chunk.batch, work.chunk.idx) for work in claimed] == [(soon.id, 0), (late.id, 0)]


async def test_a_claim_says_what_is_needed_to_run_it(db: Database) -> None:
    batch = await accepted(db, 5)
    (work,) = await claim(db, 1)
    async with db.read() as tx:
        row = await tx.row("SELECT object FROM file WHERE id = :id", id=batch.input_file)
    assert row is not None
    source = work.source
    assert (source.key, source.dialect, source.endpoint, source.input_object, source.expires_at) == (
        "key",
        "openai",
        "/v1/embeddings",
        row["object"],
        batch.expires_at,
    )
    assert (work.chunk.epoch, work.chunk.model, work.chunk.org) == (1, "m", "org")


@pytest.mark.parametrize(("lines", "expected"), [(1, 1), (100, 1), (101, 2), (250, 3), (10_000, 5)])
async def test_a_claim_takes_no_more_chunks_than_it_asks_for(db: Database, lines: int, expected: int) -> None:
    batch = await accepted(db, *[100] * 5)
    assert len(await claim(db, lines)) == expected
    assert (await states(db, batch)).count("leased") == expected


async def test_claims_at_the_same_time_share_no_chunk_and_leave_none(db: Database) -> None:
    await accepted(db, *[100] * 12)
    claims = await asyncio.gather(*(claim(db, 300, owner=f"w{at}") for at in range(4)))
    taken = [work.chunk.idx for claimed in claims for work in claimed]
    assert len(taken) == len(set(taken))
    assert all(len(claimed) <= 3 for claimed in claims)
    assert sorted(taken + [work.chunk.idx for work in await claim(db, 1200)]) == list(range(12))


async def test_a_claim_is_for_one_model(db: Database) -> None:
    await accepted(db, 1, model="a")
    await accepted(db, 1, model="b")
    assert await ready_models(db) == {"a", "b"}
    assert [work.chunk.model for work in await claim(db, 500, model="b")] == ["b"]
    assert await ready_models(db) == {"a"}


async def test_nothing_is_claimed_of_a_batch_that_is_cancelled_or_overdue(db: Database, clock: Hands) -> None:
    cancelled = await accepted(db, 1)
    await stop(db, cancelled, Event.CANCEL, StopReason.CANCELLED)
    await accepted(db, 1, expires_at=NOW + 5 * SECOND)
    clock.advance(5)
    assert await ready_models(db) == set()
    assert await claim(db, 100) == []


async def test_batches_whose_chunks_all_wait_hold_up_no_other(db: Database) -> None:
    for at in range(17):
        await accepted(db, 1, expires_at=NOW + (10 + at) * SECOND)
    for work in await claim(db, 1600):
        await hand_back(db, work.chunk, wait=60 * SECOND)
    for work in await claim(db, 1600):
        await hand_back(db, work.chunk, wait=60 * SECOND)
    batch = await accepted(db, 1)
    assert [work.chunk.batch for work in await claim(db, 100)] == [batch.id]


async def test_a_commit_keeps_bits_and_counts(db: Database) -> None:
    batch = await accepted(db, 9)
    (work,) = await claim(db, 1)
    assert await commit(db, work.chunk, 8, 1, ChunkState.DONE)
    async with db.read() as tx:
        (chunk,) = await chunks.of_batch(tx, batch.id, 0, 1)
    assert (chunk.done, chunk.n_ok, chunk.n_failed) == (b"\xff\x01", 8, 1)
    assert await states(db, batch) == ["done"]


async def test_a_chunk_that_somebody_else_holds_is_not_committed(db: Database) -> None:
    batch = await accepted(db, 3)
    (mine,) = await claim(db, 1, owner="me")
    await void(db, "them")
    (theirs,) = await claim(db, 1, owner="them")
    assert theirs.chunk.epoch == mine.chunk.epoch + 1
    assert not await commit(db, mine.chunk, 3)
    await hand_back(db, mine.chunk)
    assert await states(db, batch) == ["leased"]
    assert (await seen(db, batch)).counts.completed == 0
    assert await commit(db, theirs.chunk, 1)


async def test_a_commit_of_many_chunks_names_those_that_are_still_held(db: Database) -> None:
    batch = await accepted(db, *[1] * 70)
    works = await claim(db, 7000)
    assert len(works) == 70
    lost = {3, 64, 69}
    async with db.write() as tx:
        for at in sorted(lost):
            await chunks.hand_back(tx, works[at].chunk)
    taken = [(replace(work.chunk, done=b"\x01", n_ok=1), ChunkState.DONE) for work in works]
    async with db.write() as tx:
        held = await chunks.commit(tx, taken)
    assert held == {(work.chunk.batch, work.chunk.idx) for at, work in enumerate(works) if at not in lost}
    assert (await seen(db, batch)).counts.completed == 67


async def test_a_commit_of_no_chunk_is_none(db: Database) -> None:
    async with db.write() as tx:
        assert await chunks.commit(tx, []) == set()


async def test_a_chunk_that_is_done_is_not_committed_again(db: Database) -> None:
    batch = await accepted(db, 3)
    (work,) = await claim(db, 1)
    await commit(db, work.chunk, 3, state=ChunkState.DONE)
    assert not await commit(db, work.chunk, 1)
    assert (await seen(db, batch)).counts.completed == 3


async def test_a_chunk_handed_back_is_claimed_again_after_its_wait_with_what_was_done(
    db: Database, clock: Hands
) -> None:
    await accepted(db, 3)
    (work,) = await claim(db, 1)
    await commit(db, work.chunk, 2)
    await hand_back(db, work.chunk, wait=10 * SECOND)
    assert await claim(db, 1) == []
    clock.advance(10)
    (again,) = await claim(db, 1)
    assert (again.chunk.epoch, again.chunk.done, again.chunk.n_ok) == (2, b"\x03", 2)


@pytest.mark.parametrize("event", [Event.CANCEL, Event.EXPIRE])
async def test_a_chunk_of_a_batch_that_stops_is_done_when_it_is_handed_back(db: Database, event: Event) -> None:
    batch = await accepted(db, 3)
    (work,) = await claim(db, 1)
    await stop(db, batch, event, StopReason.CANCELLED)
    await hand_back(db, work.chunk)
    assert await states(db, batch) == ["done"]


async def test_a_chunk_handed_back_while_its_batch_is_cancelled_does_not_stay_ready(db: Database) -> None:
    for _ in range(10):
        batch = await accepted(db, 3)
        (work,) = await claim(db, 1)
        await asyncio.gather(hand_back(db, work.chunk), stop(db, batch, Event.CANCEL, StopReason.CANCELLED))
        assert await states(db, batch) == ["done"]


@pytest.mark.parametrize("reason", [StopReason.CANCELLED, StopReason.REVOKED])
async def test_a_dead_workers_chunk_is_ready_again_only_while_its_batch_runs(db: Database, reason: StopReason) -> None:
    running, stopped = await accepted(db, 1), await accepted(db, 1)
    await claim(db, 200, owner="dead")
    if reason is StopReason.CANCELLED:
        await stop(db, stopped, Event.CANCEL, reason)
    else:
        async with db.write() as tx:
            assert await batches.halt(tx, stopped.id, reason, NOW)
    assert await free(db, "dead", "another") == sorted([running.id, stopped.id])
    assert await states(db, running) == ["ready"]
    assert await states(db, stopped) == ["done"]


async def test_what_workers_that_live_hold_is_left_alone(db: Database) -> None:
    batch = await accepted(db, 1)
    await claim(db, 1, owner="alive")
    assert await free(db, "dead") == await free(db) == []
    assert await states(db, batch) == ["leased"]


async def test_freeing_is_bounded(db: Database) -> None:
    batch = await accepted(db, *[100] * 5)
    await claim(db, 500, owner="dead")
    assert await free(db, "dead", limit=2) == [batch.id]
    assert sorted(await states(db, batch)) == ["leased"] * 3 + ["ready"] * 2


async def test_a_chunk_that_many_workers_died_with_ends_with_what_is_done_of_it(db: Database) -> None:
    batch = await accepted(db, 3, 3)
    for _ in range(chunks.MOST_DEATHS - 1):
        await claim(db, 200, owner="dead")
        await free(db, "dead")
        assert await states(db, batch) == ["ready"] * 2
    good, _ = await claim(db, 200, owner="dead")
    assert await commit(db, good.chunk, 1)
    await free(db, "dead")
    assert await states(db, batch) == ["ready", "done"]
    assert [work.chunk.n_ok for work in await claim(db, 6)] == [1]


async def test_a_process_that_is_started_again_and_again_counts_no_deaths(db: Database) -> None:
    batch = await accepted(db, 3)
    for at in range(chunks.MOST_DEATHS + 1):
        await claim(db, 3, owner=f"p{at}")
        await void(db, f"p{at + 1}")
    assert await states(db, batch) == ["ready"]


async def test_at_a_start_all_that_others_held_is_void_and_nothing_else(db: Database) -> None:
    batch = await accepted(db, 100, 100)
    await claim(db, 1, owner="dead")
    await claim(db, 1, owner="me")
    assert await void(db, "me") == [batch.id]
    assert await states(db, batch) == ["ready", "leased"]


async def test_the_ledger_says_what_a_process_holds(db: Database) -> None:
    await accepted(db, 100, 100, 100)
    mine = await claim(db, 1, owner="me")
    await claim(db, 1, owner="them")
    async with db.read() as tx:
        assert await chunks.leased_by(tx, "me") == [work.chunk for work in mine]
        assert await chunks.leased_by(tx, "nobody") == []


async def test_purging_removes_the_chunks_of_one_batch(db: Database) -> None:
    gone, kept = await accepted(db, 1), await accepted(db, 1)
    async with db.write() as tx:
        await chunks.purge(tx, gone.id)
    assert (await states(db, gone), await states(db, kept)) == ([], ["ready"])


async def test_ended_batches_that_still_have_chunks_are_found(db: Database) -> None:
    ended, live = await accepted(db, 1), await accepted(db, 1)
    async with db.write() as tx:
        await tx.run("UPDATE batch SET status = :to WHERE id = :id", to=Status.COMPLETED, id=ended.id)
        assert await batches.assembled(tx, 10) == [ended.id]
        await chunks.purge(tx, ended.id)
        assert await batches.assembled(tx, 10) == []
    assert await states(db, live) == ["ready"]
