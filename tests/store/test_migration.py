"""The schema and its versions."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

import hornada.store
from hornada.core.errors import Broken, Unavailable
from hornada.store import connect, migration, stepwise
from hornada.store.database import Database
from tests.conftest import Hands

KNOWN = migration.steps()[-1].number
STORE = Path(hornada.store.__file__).parent
NOT_YET = (
    migration.Step(KNOWN + 1, ("ALTER TABLE batch ADD COLUMN later BIGINT",), breaking=False, online=False),
    migration.Step(KNOWN + 2, ("CREATE INDEX {online} later ON batch (later)",), breaking=False, online=True),
)


async def standing(db: Database) -> migration.Version:
    async with db.read() as tx:
        return await migration.version(tx)


async def note(db: Database, number: int, *, breaking: bool = False) -> None:
    """A newer program was here."""
    async with db.write() as tx:
        await migration.note(tx, migration.Step(number, (), breaking, online=False))


@pytest.fixture
async def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: Hands) -> AsyncIterator[Database]:
    """A database in which nothing is."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    if request.param == "postgres":
        url = await asyncio.to_thread(request.getfixturevalue("fresh_postgres"))
    db = await connect(url, clock)
    yield db
    await db.close()


both = pytest.mark.parametrize("ledger", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Gives this program more steps than it has: what a newer one would know."""

    def know(*steps: migration.Step) -> None:
        found = (*migration.steps(), *steps)
        monkeypatch.setattr(migration, "steps", lambda: found)

    return know


@both
async def test_migrating_takes_every_step_once(ledger: Database) -> None:
    every = tuple(step.number for step in migration.steps())
    assert await standing(ledger) == (0, KNOWN, 0, every)
    assert await ledger.migrate() == [step.number for step in migration.steps()]
    assert await standing(ledger) == (KNOWN, KNOWN, 0, ())
    assert await ledger.migrate() == []


@both
async def test_a_database_that_has_some_steps_gets_the_others(ledger: Database, later: Callable[..., None]) -> None:
    await ledger.migrate()
    async with ledger.read() as tx:
        await migration.require(tx)
    later(*NOT_YET)
    async with ledger.read() as tx:
        with pytest.raises(Broken, match=rf"version {KNOWN}, this program needs {KNOWN + 2}: run hornada migrate"):
            await migration.require(tx)
    assert await ledger.migrate() == [KNOWN + 1, KNOWN + 2]
    async with ledger.read() as tx:
        await migration.require(tx)
        assert await tx.rows("SELECT later FROM batch") == []


@both
async def test_a_newer_database_is_used_unless_it_says_otherwise(ledger: Database) -> None:
    await ledger.migrate()
    await note(ledger, 9998)
    assert await ledger.migrate() == []
    async with ledger.read() as tx:
        await migration.require(tx)
    await note(ledger, 9999, breaking=True)
    message = f"version 9999; whoever uses it must know 9999, this program knows up to {KNOWN}: use a newer one"
    with pytest.raises(Broken, match=message):
        await ledger.migrate()
    async with ledger.read() as tx:
        with pytest.raises(Broken, match=message):
            await migration.require(tx)


async def test_a_step_waits_for_no_lock_in_front_of_others(
    fresh_postgres: Callable[[], str], clock: Hands, later: Callable[..., None]
) -> None:
    url = await asyncio.to_thread(fresh_postgres)
    db = await connect(url, clock)
    await db.migrate()
    later(NOT_YET[0])
    async with db.read() as reader:
        await reader.rows("SELECT id FROM batch")
        with pytest.raises(Unavailable, match=r"could not be migrated in 3 s: .*lock timeout"):
            await stepwise.migrate(db, url, patience_s=3)
        migrating = asyncio.create_task(db.migrate())
        for _ in range(8):  # behind a step that waits for its lock they would wait until the first reader has ended
            async with asyncio.timeout(60), db.read() as tx:
                await tx.rows("SELECT id FROM batch")
            await asyncio.sleep(0.1)
    assert await migrating == [KNOWN + 1]
    await db.close()


async def test_an_index_is_built_beside_a_writer_and_after_a_build_that_broke_off(
    fresh_postgres: Callable[[], str], clock: Hands, later: Callable[..., None]
) -> None:
    url = await asyncio.to_thread(fresh_postgres)
    db = await connect(url, clock)
    await db.migrate()
    later(NOT_YET[0])
    await db.migrate()
    connection, builder = await asyncpg.connect(url), await asyncpg.connect(url)
    asked = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('later')"
    async with db.write() as tx:  # an open transaction makes the build wait, and it is broken off there
        await tx.run("UPDATE batch SET later = 1")
        building = asyncio.create_task(builder.execute("CREATE INDEX CONCURRENTLY later ON batch (later)"))
        while await connection.fetchval(asked) is None:
            await asyncio.sleep(0.01)
        await connection.execute("SELECT pg_cancel_backend($1)", builder.get_server_pid())
        with pytest.raises(asyncpg.QueryCanceledError):
            await building
    await builder.close()
    assert await connection.fetchval(asked) is False
    later(NOT_YET[1])
    async with db.write() as tx:
        await tx.run("UPDATE batch SET later = 1")
        migrating = asyncio.create_task(db.migrate())
        await asyncio.sleep(0.3)
        async with db.write() as other:
            await other.run("UPDATE batch SET later = 2")
    assert await migrating == [KNOWN + 2]
    assert await connection.fetchval(asked) is True
    await connection.close()
    await db.close()


async def test_who_comes_second_waits_for_its_turn(
    fresh_postgres: Callable[[], str], clock: Hands, later: Callable[..., None]
) -> None:
    url = await asyncio.to_thread(fresh_postgres)
    one, two = await connect(url, clock), await connect(url, clock)
    taken = await asyncio.gather(one.migrate(), two.migrate())
    assert sorted([*taken[0], *taken[1]]) == [step.number for step in migration.steps()]
    await one.close()
    await two.close()


def test_an_online_index_shares_its_file_with_nothing() -> None:
    with pytest.raises(ValueError, match="needs a file of its own"):
        migration._step("0009_x.sql", "CREATE INDEX {online} a ON b (c); CREATE TABLE d (e BIGINT);")
    found = migration._step("0009_an_end.sql", "-- why\n-- breaking\nDROP TABLE d;")
    assert found == (9, ("DROP TABLE d",), True, False, "an end")


def statements() -> Iterator[tuple[str, str]]:
    for file in sorted((STORE / "migrations").iterdir()):
        yield from ((file.name, each) for each in migration._step(file.name, file.read_text()).statements)


@pytest.mark.parametrize(("name", "statement"), list(statements()))
def test_a_step_only_adds_so_that_older_processes_keep_serving(name: str, statement: str) -> None:
    words = " ".join(statement.split())
    assert re.match(
        r"CREATE (TABLE|(UNIQUE )?INDEX)|DROP INDEX|ALTER TABLE \w+ ADD COLUMN|INSERT INTO|UPDATE ", words
    ), name
    added = re.match(r"ALTER TABLE \w+ ADD COLUMN", words)
    assert not (added and "NOT NULL" in words and "DEFAULT" not in words), "what an older process inserts must fit"


def test_no_statement_names_all_columns_of_a_table() -> None:
    """PostgreSQL refuses a prepared one when a newer process has added a column: the older must keep serving."""
    found = [
        path.name for path in STORE.glob("*.py") if re.search(r"(SELECT|RETURNING) \*(?! FROM \()", path.read_text())
    ]
    assert found == []
