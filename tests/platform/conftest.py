"""A mock model server and a real ``hornada serve`` with an operator's key."""

import sys
from collections.abc import Iterator

import pytest

from bench.client import Client
from bench.hornada import Hornada, answers
from bench.process import Process, free_port
from tests.platform.operator import Operator, configuration


@pytest.fixture(scope="session")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The mock model server; a client of its root."""
    port = free_port()
    client = Client(f"http://127.0.0.1:{port}")
    log = tmp_path_factory.mktemp("backend") / "backend.log"
    with Process([sys.executable, "-m", "tests.cases.backend", "--port", str(port)], log) as process:
        process.until(lambda: answers(client, "/health"), 20)
        yield client


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
