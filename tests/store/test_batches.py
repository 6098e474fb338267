"""Rows of ``batch``: every move is a compare-and-set."""

import asyncio
import sqlite3
from collections.abc import Sequence

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hornada.core.batch import Batch, Event, Finding, RequestCounts, Status, StopReason, Usage
from hornada.core.chunk import ChunkState
from hornada.core.clock import SECOND
from hornada.core.errors import Code
from hornada.core.ids import new_id
from hornada.store import batch as batches
from hornada.store import stage as stages
from hornada.store.batch import Standing
from hornada.store.database import Database, Row, Tx, Value
from hornada.store.stage import Stage
from tests.conftest import Hands
from tests.store.ledgers import accept, accepted, claim, commit, fresh, seen, states, stop
from tests.store.nouns import NOW, a_batch, a_file

FINDING = Finding(code=Code.EMPTY_FILE, message="There is nothing in it.", line=3, param="p")


async def take(db: Database, *, drained: bool = False, owner: str = "me") -> Stage | None:
    async with db.write() as tx:
        return await (stages.take_drained if drained else stages.take_unchecked)(tx, owner)


async def taken(db: Database, *, drained: bool = False, owner: str = "me") -> Stage:
    stage = await take(db, drained=drained, owner=owner)
    assert stage is not None
    return stage


async def assemble(db: Database, stage: Stage, to: Status, output: str | None = "out") -> bool:
    async with db.write() as tx:
        return await stages.assemble(
            tx,
            stage,
            to,
            counts=RequestCounts(3, 2, 1),
            usage=Usage(1, 2, 3, 4),
            cost=7,
            output_file=output,
            error_file=None,
            errors=(),
            now=NOW + 5,
        )


async def test_a_batch_is_read_as_it_was_written(db: Database) -> None:
    written = replace(a_batch(a_file()), metadata={"k": "ü"}, output_lifetime_s=3600)
    async with db.write() as tx:
        await batches.insert(tx, written, None)
    assert await seen(db, written) == written


async def test_a_batch_is_seen_by_its_own_organization_only(db: Database) -> None:
    batch = await fresh(db)
    async with db.read() as tx:
        assert await batches.get(tx, "another", batch.id) is None
        assert await batches.page(tx, "another", None, 10) == ()


async def test_two_live_batches_cannot_be_twins(db: Database) -> None:
    await fresh(db, twin="d")
    with pytest.raises((sqlite3.IntegrityError, asyncpg.UniqueViolationError)):
        await fresh(db, twin="d")


async def test_a_batch_that_is_being_cancelled_has_no_twin_any_more(db: Database) -> None:
    first = await fresh(db, twin="d")
    async with db.read() as tx:
        assert await batches.live_twin(tx, "org", "d") == first.id
    await stop(db, first, Event.CANCEL, StopReason.CANCELLED)
    async with db.read() as tx:
        assert await batches.live_twin(tx, "org", "d") is None
    second = await fresh(db, twin="d")
    async with db.read() as tx:
        assert await batches.live_twin(tx, "org", "d") == second.id


async def test_twins_of_two_organizations_do_not_meet(db: Database) -> None:
    await fresh(db, twin="d")
    await fresh(db, twin="d", file=a_file(org="another"))


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(times=st.lists(st.integers(0, 3), min_size=1, max_size=12), limit=st.integers(1, 5))
def test_pages_show_every_batch_once_though_many_were_made_at_the_same_moment(
    database_url: str, clock: Hands, times: list[int], limit: int
) -> None:
    asyncio.run(_pages(database_url, clock, times, limit))


async def _pages(url: str, clock: Hands, times: list[int], limit: int) -> None:
    from hornada.store import connect

    db = await connect(url, clock)
    await db.migrate()
    org = new_id()
    made = [await fresh(db, created_at=NOW + at, file=a_file(org=org)) for at in times]
    position, shown = None, list[Batch]()
    async with db.read() as tx:
        while page := await batches.page(tx, org, position, limit):
            shown += page
            position = (page[-1].created_at, page[-1].id)
    await db.close()
    assert shown == sorted(made, key=lambda batch: (batch.created_at, batch.id), reverse=True)


async def test_counts_are_the_sum_over_chunks_while_a_batch_lives(db: Database) -> None:
    batch = await accepted(db, 3, 4)
    assert batch.counts == RequestCounts(7, 0, 0)
    first, second = await claim(db, 200)
    await commit(db, first.chunk, 2, 1)
    await commit(db, second.chunk, 1)
    assert (await seen(db, batch)).counts == RequestCounts(7, 3, 1)
    async with db.read() as tx:
        assert [b.counts for b in await batches.page(tx, "org", None, 5)] == [RequestCounts(7, 3, 1)]


async def test_counts_of_an_ended_batch_stand_in_its_row(db: Database) -> None:
    batch = await accepted(db, 3)
    (work,) = await claim(db, 3)
    await commit(db, work.chunk, 3, state=ChunkState.DONE)
    async with db.write() as tx:
        assert await batches.drain(tx, batch.id, NOW + 4)
    assert await assemble(db, await taken(db, drained=True), Status.COMPLETED)
    ended = await seen(db, batch)
    assert ended.counts == RequestCounts(3, 2, 1)
    assert (ended.status, ended.usage, ended.output_file, ended.error_file) == (
        Status.COMPLETED,
        Usage(1, 2, 3, 4),
        "out",
        None,
    )
    assert (ended.finalizing_at, ended.completed_at, ended.updated_at) == (NOW + 4, NOW + 5, NOW + 5)


async def test_active_batches_are_those_that_have_not_ended(db: Database) -> None:
    cancelling = await fresh(db)
    await stop(db, cancelling, Event.CANCEL, StopReason.CANCELLED)
    stage = await taken(db)
    async with db.write() as tx:
        assert await batches.active(tx, "org") == 1
        await stages.reject(tx, stage, [FINDING], NOW)
        assert await batches.active(tx, "org") == 0


async def test_queued_lines_are_those_of_accepted_batches_that_have_not_ended(db: Database) -> None:
    await fresh(db, created_at=NOW + 9)
    await accepted(db, 3, 4)
    async with db.read() as tx:
        assert await batches.queued_lines(tx, "org") == 7


async def test_the_oldest_batch_is_checked_first_and_by_one_only(db: Database) -> None:
    younger = await fresh(db, created_at=NOW + 1)
    older = await fresh(db)
    assert (await taken(db, owner="a")).batch.id == older.id
    assert (await taken(db, owner="b")).batch.id == younger.id
    assert await take(db, owner="c") is None


async def test_a_stage_whose_owner_has_ended_is_taken_under_a_higher_epoch(db: Database) -> None:
    await fresh(db)
    await fresh(db)
    first = await taken(db, owner="a")
    other = await taken(db, owner="other")
    assert await take(db, owner="b") is None
    async with db.write() as tx:
        assert await stages.free(tx, ["a", "b"]) == 1
    second = await taken(db, owner="b")
    assert (second.epoch, second.tries) == (first.epoch + 1, first.tries + 1)
    assert (await take(db, owner="c"), second.batch.id == other.batch.id) == (None, False)


async def test_a_stage_that_its_own_loop_lost_is_taken_again(db: Database) -> None:
    await fresh(db)
    first = await taken(db)
    assert (await taken(db)).epoch == first.epoch + 1
    assert await take(db, owner="another") is None


async def test_a_stage_that_was_put_off_is_taken_later(db: Database, clock: Hands) -> None:
    await fresh(db)
    async with db.write() as tx:
        stage = await stages.take_unchecked(tx, "me")
        assert stage is not None
        await stages.postpone(tx, stage, 5 * SECOND)
    clock.advance(4.9)
    assert await take(db) is None
    clock.advance(0.1)
    assert (await taken(db)).tries == 2


async def test_voiding_ends_every_stage_lease(db: Database) -> None:
    await fresh(db)
    await taken(db, owner="dead")
    async with db.write() as tx:
        await stages.void(tx)
    assert (await taken(db, owner="me")).epoch == 2


async def test_who_lost_the_stage_changes_nothing(db: Database) -> None:
    batch = await fresh(db)
    lost = await taken(db)
    await taken(db)
    async with db.write() as tx:
        assert not await stages.accept(tx, lost, Status.IN_PROGRESS, model="m", names=("m",), total=1, now=NOW + 1)
        assert not await stages.reject(tx, lost, [FINDING], NOW + 1)
        await stages.postpone(tx, lost, 0)
    assert await seen(db, batch) == batch
    assert await take(db, owner="another") is None


async def test_who_lost_the_assembly_changes_nothing(db: Database) -> None:
    await accepted(db)
    async with db.write() as tx:
        await tx.run("UPDATE batch SET status = 'finalizing'")
    lost = await taken(db, drained=True)
    won = await taken(db, drained=True)
    assert not await assemble(db, lost, Status.COMPLETED, "lost")
    assert await assemble(db, won, Status.COMPLETED, "won")
    assert not await assemble(db, won, Status.COMPLETED, "again")
    assert (await seen(db, won.batch)).output_file == "won"


async def test_a_batch_cancelled_while_it_is_checked_is_not_accepted_as_if_it_ran(db: Database) -> None:
    batch = await fresh(db)
    stage = await taken(db)
    await stop(db, batch, Event.CANCEL, StopReason.CANCELLED)
    async with db.write() as tx:
        assert not await stages.accept(tx, stage, Status.IN_PROGRESS, model="m", names=("m",), total=1, now=NOW + 1)
    assert (await seen(db, batch)).status is Status.CANCELLING


async def test_a_rejected_batch_keeps_its_findings(db: Database) -> None:
    batch = await fresh(db)
    stage = await taken(db)
    async with db.write() as tx:
        assert await stages.reject(tx, stage, [FINDING], NOW + 7)
    failed = await seen(db, batch)
    assert (failed.status, failed.errors, failed.failed_at, failed.counts) == (
        Status.FAILED,
        (FINDING,),
        NOW + 7,
        RequestCounts(),
    )


async def test_stopping_ends_chunks_that_wait_and_leaves_those_that_run(db: Database) -> None:
    batch = await accepted(db, 1, 1)
    await claim(db, 1)
    assert await stop(db, batch, Event.CANCEL, StopReason.CANCELLED)
    assert await states(db, batch) == ["leased", "done"]
    stopped = await seen(db, batch)
    assert (stopped.status, stopped.stop, stopped.cancelling_at) == (Status.CANCELLING, StopReason.CANCELLED, NOW + 1)


async def test_a_batch_that_has_moved_on_is_not_stopped(db: Database) -> None:
    batch = await accepted(db, 1)
    async with db.write() as tx:
        await tx.run("UPDATE batch SET status = 'finalizing'")
    assert not await stop(db, batch, Event.CANCEL, StopReason.CANCELLED)
    assert await states(db, batch) == ["ready"]


async def test_a_batch_is_drained_once_and_only_when_no_chunk_is_open(db: Database) -> None:
    batch = await accepted(db, 1, 1)
    works = await claim(db, 200)
    for work in works:
        async with db.write() as tx:
            assert not await batches.drain(tx, batch.id, NOW)
        await commit(db, work.chunk, 1, state=ChunkState.DONE)
    async with db.write() as tx:
        assert await batches.drain(tx, batch.id, NOW + 3)
        assert not await batches.drain(tx, batch.id, NOW + 4)
    assert (await seen(db, batch)).finalizing_at == NOW + 3


async def test_of_two_workers_that_end_the_last_two_chunks_one_drains_the_batch(db: Database) -> None:
    batch = await accepted(db, 1, 1)
    works = await claim(db, 200)
    met = asyncio.Barrier(2)

    async def end(at: int) -> bool:
        from hornada.store import chunk as chunks

        async with db.write() as tx:
            await chunks.commit(tx, [(works[at].chunk, ChunkState.DONE)])
            if "postgres" in type(db).__module__:
                await met.wait()  # SQLite lets one write at a time
            return await batches.drain(tx, batch.id, NOW)

    assert sorted(await asyncio.gather(end(0), end(1))) == [False, True]


async def test_a_batch_is_assembled_only_once_it_is_checked_and_drained(db: Database) -> None:
    await stop(db, await fresh(db), Event.CANCEL, StopReason.CANCELLED)
    assert await take(db, drained=True) is None
    batch = await accept(db, 2)
    assert (batch.status, await states(db, batch)) == (Status.CANCELLING, ["done"])
    assert (await taken(db, drained=True)).batch.id == batch.id


async def test_only_batches_that_are_checked_or_run_are_overdue(db: Database) -> None:
    running = await accepted(db, 1)
    checking = await fresh(db)
    finalizing = await fresh(db)
    await stop(db, finalizing, Event.EXPIRE, StopReason.EXPIRED)
    async with db.read() as tx:
        assert {b.id for b in await batches.overdue(tx, running.expires_at, 10)} == {running.id, checking.id}
        assert await batches.overdue(tx, running.expires_at - 1, 10) == ()
        assert len(await batches.overdue(tx, running.expires_at, 1)) == 1


async def test_standing_tells_status_reason_and_model_of_many(db: Database) -> None:
    one, other = await fresh(db), await fresh(db)
    await stop(db, other, Event.CANCEL, StopReason.CANCELLED)
    async with db.read() as tx:
        assert await batches.standing(tx, [one.id, other.id, "gone"]) == {
            one.id: Standing(Status.VALIDATING, None, None),
            other.id: Standing(Status.CANCELLING, StopReason.CANCELLED, None),
        }
        assert await batches.standing(tx, []) == {}


async def test_a_locked_batch_is_moved_by_nobody_else(db: Database) -> None:
    batch = await fresh(db)
    order = list[str]()

    async def first() -> None:
        async with db.write() as tx:
            await batches.get(tx, "org", batch.id, lock=True)
            holds.set()
            await asyncio.sleep(0.05)
            order.append("first")

    async def second() -> None:
        await holds.wait()
        async with db.write() as tx:
            await batches.lock(tx, batch.id)
            order.append("second")

    holds = asyncio.Event()
    await asyncio.gather(first(), second())
    assert order == ["first", "second"]


class Explained:
    """A transaction whose statements are not run: their plans are noted."""

    def __init__(self, tx: Tx, word: str) -> None:
        self._tx = tx
        self._word = word
        self.plan = ""

    async def rows(self, sql: str, **params: Value) -> Sequence[Row]:
        found = await self._tx.rows(f"{self._word} {sql}", **params)
        self.plan = "\n".join(str(list(dict(row).values())[-1]) for row in found)
        return ()


async def test_a_list_of_batches_looks_at_their_chunks_alone_however_many_there_are(
    db: Database, database_url: str
) -> None:
    sqlite = database_url.startswith("sqlite:")
    batch = await accepted(db, *[1] * 20)
    async with db.write() as tx:
        of_batch, of_chunk = [
            ", ".join(row["name"] for row in await tx.rows(f"SELECT name FROM {{columns}} AS c WHERE tbl = '{table}'"))  # noqa: S608
            for table in ("batch", "chunk")
        ]
        copies = [{"id": batch.id, "new": f"{n}"} for n in range(1000)]
        for table, columns, key in (("batch", of_batch, "id"), ("chunk", of_chunk, "batch")):
            kept = ", ".join(f":new AS {key}" if each == key else each for each in columns.split(", "))
            await tx.many(f"INSERT INTO {table} ({columns}) SELECT {kept} FROM {table} WHERE {key} = :id", copies)  # noqa: S608
        if not sqlite:
            await tx.run("ANALYZE batch, chunk")
        for limit in (1, 101):
            explained = Explained(tx, "EXPLAIN QUERY PLAN" if sqlite else "EXPLAIN")
            await batches.page(explained, "org", None, limit)  # type: ignore[arg-type]
            assert "chunk" in explained.plan
            assert "SCAN chunk" not in explained.plan
            assert "Seq Scan on chunk" not in explained.plan
