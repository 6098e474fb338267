"""A mock model server, a real ``hornada serve`` with an operator's key, and several that share a ledger."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.client import Client
from bench.hornada import Hornada, model, settings, table
from tests.conftest import weed_or_not
from tests.database_server import DatabaseServer
from tests.object_store import ObjectStore
from tests.platform.fleet import Fleet
from tests.platform.operator import OPERATOR_KEY, Operator, configuration
from tests.platform.work import Work

CAPACITY = 8


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    """The server that all tests share."""
    with Hornada(tmp_path_factory.mktemp("platform"), configuration()) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture
def operator(server: Hornada, backend: Client) -> Operator:
    """The operator of the server, with words of this test's own."""
    return Operator(server, backend)


@pytest.fixture(scope="module")
def database() -> Iterator[DatabaseServer]:
    with DatabaseServer() as server:
        yield server


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with ObjectStore(weed_or_not(), tmp_path_factory.mktemp("bucket")) as store:
        yield store


@pytest.fixture
def fleet(database: DatabaseServer, bucket: ObjectStore, backend: Client, tmp_path: Path) -> Iterator[Fleet]:
    """An empty installation without a process."""
    upstream = f"http://127.0.0.1:{backend.port}/v1"
    url = database.make(f"db_{uuid.uuid4().hex}")
    storage = {"database": url, "blobs": bucket.url()}
    config = settings([model("m-chat", upstream, capacity=CAPACITY, batch=CAPACITY)])
    config += table("[storage]", storage) + table("[server]", {"operator_key": OPERATOR_KEY})
    fleet = Fleet(tmp_path, config, url)
    yield fleet
    fleet.end()


@pytest.fixture
def work(backend: Client) -> Work:
    return Work(backend)
