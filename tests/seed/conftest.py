"""A mock model server and a real ``hornada serve`` in front of it, or several that are set up otherwise."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import openai
import pytest

from bench.client import Client
from bench.hornada import KEY, Hornada
from tests.seed.guide import BASES, Guide, configuration
from tests.seed.platform import OPERATOR_KEY, Platform

Serve = Callable[..., Hornada]
At = Callable[[Hornada], Guide]


@pytest.fixture(scope="session")
def server(backend: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    """The server that most tests share, with room for everything."""
    with Hornada(tmp_path_factory.mktemp("seed"), configuration(backend)) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture
def serve(backend: Client, tmp_path: Path) -> Iterator[Serve]:
    """Starts a server of the test's own: ``more`` settings, a ``plan``, or limits by name."""
    with ExitStack() as stack:

        def start(**settings: Any) -> Hornada:
            hornada = stack.enter_context(Hornada(tmp_path, configuration(backend, **settings)))
            hornada.start()
            return hornada

        yield start


@pytest.fixture(params=BASES)
def base(request: pytest.FixtureRequest) -> str:
    """Each path at which the guide's dialect is mounted."""
    path: str = request.param
    return path


@pytest.fixture
def at(base: str, backend: Client) -> At:
    """Opens the guide at a server of the test's own."""
    return lambda hornada: Guide(Client(f"http://127.0.0.1:{hornada.port}{base}", KEY), backend)


@pytest.fixture
def guide(server: Hornada, at: At) -> Guide:
    """The guide at the server that tests share."""
    return at(server)


@pytest.fixture(scope="session")
def governed(backend: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    """A server with an operator."""
    env = {"HORNADA_SERVER_OPERATOR_KEY": OPERATOR_KEY}
    with Hornada(tmp_path_factory.mktemp("governed"), configuration(backend), env) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture
def platform(governed: Hornada, base: str, backend: Client) -> Platform:
    """Its operator."""
    return Platform(governed, base, backend)


@pytest.fixture
def client(server: Hornada, base: str) -> Iterator[openai.OpenAI]:
    """OpenAI's SDK, set up as the guide says."""
    with openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}{base}", api_key=KEY, max_retries=0) as sdk:
        yield sdk
