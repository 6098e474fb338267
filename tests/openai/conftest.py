"""A real server with every dialect mounted, in front of the mock model server."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import openai
import pytest

from bench.client import Client
from bench.hornada import KEY, Hornada, table
from tests.listener import ALLOWED, Listener, listening
from tests.seed.conftest import Serve
from tests.seed.guide import Guide, configuration

MOUNTED = {
    "/v1": "infernode",
    "/infernode/v1": "infernode",
    "/openai/v1": "novita",
    "/strict/v1": "openai",
}
DIALECTS = table("[server.dialects]", {f'"{path}"': name for path, name in MOUNTED.items()})
SLASHED = "org/m big:v1"
MODEL = table("[[models]]", {"name": SLASHED, "upstream": "http://127.0.0.1:9/v1"})
HOOKS = table("[webhooks]", ALLOWED)
SMALL = 1 << 20
"""The largest file of a server whose limits are tried out."""


@pytest.fixture(scope="session")
def server(backend: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    """The server that most tests share."""
    with Hornada(tmp_path_factory.mktemp("openai"), configuration(backend, more=DIALECTS + MODEL + HOOKS)) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture(scope="session")
def small(backend: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    """A server that takes files of 1 MiB."""
    with Hornada(tmp_path_factory.mktemp("small"), configuration(backend, more=DIALECTS, file_bytes=SMALL)) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture
def serve(backend: Client, tmp_path: Path) -> Iterator[Serve]:
    """Starts a server of the test's own: a ``plan``, or limits by name."""
    with ExitStack() as stack:

        def start(**settings: object) -> Hornada:
            hornada = stack.enter_context(Hornada(tmp_path, configuration(backend, more=DIALECTS, **settings)))  # type: ignore[arg-type]
            hornada.start()
            return hornada

        yield start


@pytest.fixture
def listener() -> Iterator[Listener]:
    """What webhooks are sent to."""
    with listening() as listener:
        yield listener


@pytest.fixture(params=MOUNTED)
def base(request: pytest.FixtureRequest) -> str:
    """Each path at which a dialect is mounted."""
    path: str = request.param
    return path


@pytest.fixture
def guide(server: Hornada, base: str, backend: Client) -> Guide:
    """Plain calls under that path."""
    return opened(server, base, backend)


@pytest.fixture
def sdk(server: Hornada, base: str) -> Iterator[openai.OpenAI]:
    """OpenAI's SDK under that path, which takes no answer that its types do not allow."""
    with strict(server, base) as client:
        yield client


def opened(server: Hornada, base: str, backend: Client) -> Guide:
    """Plain calls under a path of a server."""
    return Guide(Client(f"http://127.0.0.1:{server.port}{base}", KEY), backend)


def strict(server: Hornada, base: str) -> openai.OpenAI:
    """The SDK under a path of a server; Novita's batches are not what it takes for valid."""
    url, validated = f"http://127.0.0.1:{server.port}{base}", MOUNTED[base] != "novita"
    return openai.OpenAI(base_url=url, api_key=KEY, max_retries=0, _strict_response_validation=validated)
