"""The seam, on both databases."""

import asyncio
import sys

import pytest

from hornada.core.clock import SystemClock
from hornada.core.errors import Unavailable
from hornada.store import connect
from hornada.store.database import Database, Tx
from tests.conftest import Hands

SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT count(*) AS n FROM n"


async def add(tx: Tx, name: str) -> int:
    return await tx.run(
        "INSERT INTO organization (id, name, plan, created_at) VALUES (:name, :name, 'default', {now})", name=name
    )


async def put(db: Database, name: str) -> None:
    async with db.write() as tx:
        await add(tx, name)


async def names(db: Database) -> list[str]:
    async with db.read() as tx:
        return [row["name"] for row in await tx.rows("SELECT name FROM organization ORDER BY name")]


async def test_what_a_write_commits_a_read_sees(db: Database) -> None:
    await put(db, "a")
    assert await names(db) == ["a"]


async def test_a_block_that_raises_leaves_nothing(db: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        async with db.write() as tx:
            await add(tx, "a")
            _ = 1 / 0
    assert await names(db) == []


async def test_a_block_without_a_statement_is_no_trouble(db: Database) -> None:
    async with db.write():
        pass
    async with db.read():
        pass


async def test_run_answers_how_many_rows_changed(db: Database) -> None:
    async with db.write() as tx:
        assert await add(tx, "a") == 1
        await add(tx, "b")
        assert await tx.run("UPDATE organization SET plan = 'other'") == 2
        assert await tx.run("UPDATE organization SET plan = 'other' WHERE id = :id", id="c") == 0
        assert await tx.run("DELETE FROM organization") == 2


async def test_many_runs_once_for_each_set(db: Database) -> None:
    async with db.write() as tx:
        await tx.many(
            "INSERT INTO organization (id, name, plan, created_at) VALUES (:id, :id, 'default', {now})",
            [{"id": "a"}, {"id": "b"}],
        )
        await tx.many("DELETE FROM organization WHERE id = :id", [])
    assert await names(db) == ["a", "b"]


async def test_bytes_and_big_numbers_come_back_as_they_were(db: Database) -> None:
    async with db.write() as tx:
        await tx.run(
            "INSERT INTO segment (batch, idx, epoch, seq, object, byte_off, byte_len, sha256, model, n_ok, n_failed,"
            " lines) VALUES ('b', 0, 0, 0, 'ñ', :big, 0, '', '', 0, 0, :lines)",
            big=2**63 - 1,
            lines=b"\x00\xff",
        )
        row = await tx.row("SELECT object, byte_off, lines FROM segment")
    assert row is not None
    assert (row["object"], row["byte_off"], bytes(row["lines"])) == ("ñ", 2**63 - 1, b"\x00\xff")


async def test_the_time_is_that_of_the_clock(db: Database, clock: Hands) -> None:
    clock.advance(5)
    async with db.read() as tx:
        row = await tx.row("SELECT {now} + :more AS at", more=1)
    assert row is not None
    assert row["at"] == clock.now() + 1


async def test_a_read_sees_one_moment(db: Database) -> None:
    await put(db, "a")
    async with db.read() as tx:
        before = await tx.rows("SELECT name FROM organization")
        await put(db, "b")
        assert len(await tx.rows("SELECT name FROM organization")) == len(before) == 1
    assert await names(db) == ["a", "b"]


async def test_a_read_cannot_write(db: Database) -> None:
    with pytest.raises(Exception, match=r"(?i)read-?only"):
        async with db.read() as tx:
            await add(tx, "a")
    assert await names(db) == []


async def test_a_transaction_in_which_a_statement_failed_is_undone_even_if_the_failure_was_swallowed(
    db: Database,
) -> None:
    with pytest.raises(Exception, match=r"(?i)unique"):
        async with db.write() as tx:
            await add(tx, "a")
            for _ in range(2):
                try:
                    await add(tx, "a")
                except Exception as error:  # noqa: BLE001
                    assert not isinstance(error, Unavailable)
    assert await names(db) == []


async def test_a_view_of_one_statement_is_asked_no_second(db: Database) -> None:
    await put(db, "a")
    async with db.read(single=True) as tx:
        row = await tx.row("SELECT name FROM organization")
        assert row is not None
        with pytest.raises(RuntimeError, match="second"):
            await tx.rows("SELECT name FROM organization")
    assert row["name"] == "a"
    assert await names(db) == ["a"]


async def test_a_view_of_one_statement_that_failed_is_no_trouble_to_the_next(db: Database) -> None:
    for _ in range(12):
        with pytest.raises(Exception, match=r"(?i)nothing_there"):
            async with db.read(single=True) as tx:
                await tx.rows("SELECT 1 FROM nothing_there")
    assert await names(db) == []


async def test_work_done_at_once_is_committed_whole_or_not_at_all(db: Database) -> None:
    async def work(tx: Tx) -> int:
        return await add(tx, "a") + await add(tx, "b")

    async def twice(tx: Tx) -> int:
        return await add(tx, "c") + await add(tx, "a")

    async def swallowed(tx: Tx) -> None:
        await add(tx, "c")
        try:
            await add(tx, "a")
        except Exception as error:  # noqa: BLE001
            assert not isinstance(error, Unavailable)

    async def refused(tx: Tx) -> None:
        await add(tx, "c")
        raise ZeroDivisionError

    async def nothing(tx: Tx) -> str:
        return "nothing"

    assert await db.transact(work) == 2
    for fails in (twice, swallowed):
        with pytest.raises(Exception, match=r"(?i)unique"):
            await db.transact(fails)
    with pytest.raises(ZeroDivisionError):
        await db.transact(refused)
    assert await db.transact(nothing) == "nothing"
    assert await names(db) == ["a", "b"]


async def test_work_done_at_once_does_not_lose_the_updates_of_others(db: Database) -> None:
    await put(db, "0")

    async def work(tx: Tx) -> None:
        row = await tx.row("SELECT name FROM organization {for_update}")
        assert row is not None
        await tx.run("UPDATE organization SET name = :name", name=str(int(row["name"]) + 1))

    async def beside() -> None:
        async with db.write() as tx:
            await work(tx)

    await asyncio.gather(*(db.transact(work) if n % 2 else beside() for n in range(20)))
    assert await names(db) == ["20"]


async def test_work_done_at_once_and_given_up_by_its_caller_is_known_to_have_happened(db: Database) -> None:
    begun = asyncio.Event()
    told: list[int] = []

    async def work(tx: Tx) -> int:
        loop.call_soon_threadsafe(begun.set)
        await tx.rows(SLOW)
        return await add(tx, "a")

    async def caller() -> None:
        told.append(await db.transact(work))

    loop = asyncio.get_running_loop()
    task = asyncio.create_task(caller())
    await begun.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await names(db) == ["a"] * len(told)


async def test_a_mistake_in_a_statement_is_not_taken_for_an_outage(db: Database) -> None:
    with pytest.raises(Exception, match="nowhere") as caught:
        async with db.read() as tx:
            await tx.rows("SELECT * FROM nowhere")
    assert not isinstance(caught.value, Unavailable)


async def test_writers_do_not_lose_each_others_updates(db: Database) -> None:
    await put(db, "a")

    async def raise_by_one() -> None:
        async with db.write() as tx:
            row = await tx.row("SELECT created_at FROM organization WHERE id = 'a' {for_update}")
            assert row is not None
            await tx.run("UPDATE organization SET created_at = :at", at=row["created_at"] + 1)

    async with db.write() as tx:
        await tx.run("UPDATE organization SET created_at = 0")
    await asyncio.gather(*(raise_by_one() for _ in range(20)))
    async with db.read() as tx:
        row = await tx.row("SELECT created_at FROM organization")
    assert row is not None
    assert row["created_at"] == 20


async def test_more_readers_than_connections_take_turns(db: Database) -> None:
    await put(db, "a")
    assert await asyncio.gather(*(names(db) for _ in range(20))) == [["a"]] * 20


async def test_a_write_cancelled_during_a_statement_leaves_no_transaction_open(db: Database) -> None:
    async def long() -> None:
        async with db.write() as tx:
            await add(tx, "a")
            started.set()
            await tx.rows(SLOW)

    started = asyncio.Event()
    task = asyncio.create_task(long())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await put(db, "b")
    assert await names(db) == ["b"]


async def test_reads_cancelled_during_a_statement_give_their_connections_back(db: Database) -> None:
    async def long() -> None:
        async with db.read() as tx:
            started.release()
            await tx.rows(SLOW)

    started = asyncio.Semaphore(0)
    tasks = [asyncio.create_task(long()) for _ in range(2)]
    for _ in tasks:
        await started.acquire()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert all(task.cancelled() for task in tasks)
    await put(db, "b")
    assert await asyncio.gather(*(names(db) for _ in range(10))) == [["b"]] * 10


async def test_a_write_cancelled_at_any_moment_happens_whole_or_not_and_knows_which(db: Database) -> None:
    known: list[str] = []

    async def write(name: str) -> None:
        async with db.write() as tx:
            await add(tx, name)
            await tx.run("UPDATE organization SET plan = 'other' WHERE id = :id", id=name)
        known.append(name)
        await asyncio.Event().wait()

    for turns in range(0, 240, 4):
        task = asyncio.create_task(write(f"{turns:03}"))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await names(db) == known


async def test_a_writer_cancelled_while_it_waits_its_turn_does_not_take_it(db: Database) -> None:
    async with db.write() as tx:
        await add(tx, "a")
        task = asyncio.create_task(put(db, "b"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await put(db, "c")
    assert await names(db) == ["a", "c"]


async def test_what_postgresql_needs_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "hornada.store.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(ValueError, match=r"pip install 'hornada\[postgres\]'"):
        await connect("postgresql://u@h/d", SystemClock())
