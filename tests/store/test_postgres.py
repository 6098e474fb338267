"""What only the server database does."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from hornada.core.clock import SystemClock
from hornada.core.errors import Unavailable
from hornada.store import connect, postgres, silence
from tests.conftest import Hands
from tests.database_server import DatabaseServer
from tests.store.test_database import add, names, put


async def test_a_server_that_is_not_there_is_an_outage(tmp_path: Path, clock: Hands) -> None:
    db = await connect(f"postgresql://nobody@/none?host={tmp_path}", clock)
    with pytest.raises(Unavailable, match="did not answer"):
        await names(db)
    await db.close()


async def test_a_lost_connection_is_an_outage_and_the_next_transaction_has_another(
    shared_postgres: str, clock: Hands
) -> None:
    db = await connect(shared_postgres, clock)
    await db.migrate()
    with pytest.raises(Unavailable):
        async with db.write() as tx:
            await add(tx, "lost")
            await tx.rows("SELECT pg_terminate_backend(pg_backend_pid())")
    assert "lost" not in await names(db)
    await db.close()


async def test_a_deadlock_is_an_outage_for_one_of_the_two(shared_postgres: str, clock: Hands) -> None:
    db = await connect(shared_postgres, clock)
    await db.migrate()
    both = asyncio.Barrier(2)

    async def lock(*numbers: int) -> None:
        async with db.write() as tx:
            for number in numbers:
                await tx.rows("SELECT pg_advisory_xact_lock(:number)", number=number)
                if number == numbers[0]:
                    await both.wait()

    outcomes = await asyncio.gather(lock(1, 2), lock(2, 1), return_exceptions=True)
    assert sorted(type(outcome) for outcome in outcomes if outcome) == [Unavailable]
    await db.close()


async def test_with_the_machines_clock_the_server_tells_the_time(shared_postgres: str) -> None:
    db = await connect(shared_postgres, SystemClock())
    async with db.read() as tx:
        row = await tx.row("SELECT {now} AS now, clock_timestamp() AS there")
    await db.close()
    assert row is not None
    assert 0 <= row["there"].timestamp() * 1e6 - row["now"] < 10e6


async def test_rows_that_another_process_holds_are_skipped(fresh_postgres: Callable[[], str], clock: Hands) -> None:
    url = await asyncio.to_thread(fresh_postgres)
    one, two = await connect(url, clock), await connect(url, clock)
    await one.migrate()
    await put(one, "a")
    await put(one, "b")
    take = "SELECT name FROM organization ORDER BY name LIMIT 1 {skip_locked}"
    async with one.write() as first, two.write() as second:
        found = [await first.row(take), await second.row(take)]
    assert [row["name"] for row in found if row] == ["a", "b"]
    await one.close()
    await two.close()


async def test_processes_that_migrate_at_once_do_not_meet(fresh_postgres: Callable[[], str], clock: Hands) -> None:
    url = await asyncio.to_thread(fresh_postgres)
    databases = [await connect(url, clock) for _ in range(3)]
    await asyncio.gather(*(db.migrate() for db in databases))
    for db in databases:
        await db.close()
    connection = await asyncpg.connect(url)
    assert await connection.fetchval("SELECT count(*) FROM schema_version") >= 1
    await connection.close()


async def test_no_more_connections_are_opened_than_allowed(shared_postgres: str, clock: Hands) -> None:
    db = await connect(shared_postgres, clock, connections=4)
    pids: set[int] = set()

    async def ask() -> None:
        async with db.read() as tx:
            row = await tx.row("SELECT pg_backend_pid() AS pid, pg_sleep(0.01)")
            assert row is not None
            pids.add(row["pid"])

    await asyncio.gather(*(ask() for _ in range(20)))
    await db.close()
    assert 1 < len(pids) <= 4


async def test_who_falls_silent_in_the_middle_of_a_write_holds_nobody_up(
    fresh_postgres: Callable[[], str], clock: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await asyncio.to_thread(fresh_postgres)
    two = await connect(url, clock)
    await two.migrate()
    await put(two, "a")
    monkeypatch.setattr(silence, "WRITE_MS", 300)
    one = await connect(url, clock)
    take = "SELECT name FROM organization {for_update}"
    with pytest.raises(Unavailable):
        async with one.write() as stopped:
            await stopped.row(take)
            async with asyncio.timeout(60), two.write() as other:
                assert await other.row(take)
            await add(stopped, "lost")
    assert await names(one) == ["a"]
    await one.close()
    await two.close()


@pytest.fixture(scope="module")
def server() -> Iterator[DatabaseServer]:
    """One that is spoken to over TCP."""
    with DatabaseServer() as server:
        yield server


async def test_a_session_whose_machine_is_gone_is_given_up_in_seconds(server: DatabaseServer, clock: Hands) -> None:
    db = await connect(server.url(), clock)
    async with db.write() as tx:
        rows = await tx.rows("SELECT name, setting FROM pg_settings")
    await db.close()
    found = {row["name"]: row["setting"] for row in rows}
    assert {name: found[name] for name in silence.KEEPALIVE} == silence.KEEPALIVE


class Wire:
    """Passes on what two sides say to each other, until it is ``cut``: then it is silent, and nobody is told."""

    def __init__(self, port: int) -> None:
        self.cut = False
        self._port = port

    async def joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._port)
        with suppress(OSError):
            await asyncio.gather(self._pass(reader, there_writer), self._pass(there_reader, writer))
        writer.close()
        there_writer.close()

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 16):
            if not self.cut:
                target.write(data)
                await target.drain()
        target.close()


@pytest.mark.parametrize("begun", [False, True])
async def test_who_is_cut_off_in_a_write_gives_up_when_it_wanted_to(
    begun: bool, server: DatabaseServer, clock: Hands, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(postgres, "_UNDO_TIMEOUT_S", 0.2)
    port = urlsplit(server.url()).port
    assert port is not None
    wire = Wire(port)
    async with await asyncio.start_server(wire.joined, "127.0.0.1", 0) as listening:
        near = listening.sockets[0].getsockname()[1]
        db = await connect(server.url().replace(f":{port}/", f":{near}/"), clock)
        async with db.write() as tx:
            await tx.rows("SELECT 1")
        wire.cut = not begun
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60), asyncio.timeout(0.3), db.write() as tx:
                await tx.rows("SELECT 2")
                wire.cut = True
                await tx.rows("SELECT 3")
        wire.cut = False
        async with asyncio.timeout(60), db.write() as tx:
            assert len(await tx.rows("SELECT 4")) == 1
        await db.close()
    assert caplog.records == []
