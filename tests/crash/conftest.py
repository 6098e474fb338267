"""A stub model server, an input file and a server of its own for every story."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import lines
from bench.hornada import Hornada
from bench.stub import Stub
from tests.crash.story import TOKENS, configuration

LATENCY_MS = 20
SLOW_MS = 300
"""For tests that need the middle of a batch: all its lines take ten seconds."""
LINES = 300


@pytest.fixture(scope="session")
def shared_stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stub]:
    """The stub of this worker."""
    with Stub(tmp_path_factory.mktemp("stub") / "stub.log", latency_ms=LATENCY_MS, tokens=TOKENS) as stub:
        yield stub


@pytest.fixture
def stub(shared_stub: Stub) -> Stub:
    """The stub, with nothing to remember and as fast as ever."""
    shared_stub.reset()
    shared_stub.tune(latency_ms=LATENCY_MS)
    return shared_stub


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three chunks of lines: less than a second of work."""
    return lines.write(tmp_path_factory.mktemp("data") / "input.jsonl", LINES)


@pytest.fixture
def server(stub: Stub, tmp_path: Path) -> Iterator[Hornada]:
    """A server on an empty folder, not yet started."""
    with Hornada(tmp_path, configuration(stub)) as hornada:
        yield hornada
