"""A real ``hornada serve`` in front of a model server, seen through each of its spellings."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.hornada import KEY, Hornada, model, settings
from hornada.client import Client
from tests.cli.model_server import MODEL, ModelServer
from tests.client.proxy import Proxy

STRICT = '[server.dialects]\n"/v1" = "infernode"\n"/openai/v1" = "novita"\n"/strict/v1" = "openai"\n'


@pytest.fixture(scope="session")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def server(models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    with Hornada(tmp_path_factory.mktemp("client"), settings([model(MODEL, models.base)]) + STRICT) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture(params=["infernode", "novita", "plain"])
def base(request: pytest.FixtureRequest, server: Hornada) -> Iterator[str]:
    """The server in three spellings, the last of which knows no route beside OpenAI's."""
    root = f"http://127.0.0.1:{server.port}"
    if request.param == "plain":
        with Proxy(f"{root}/strict/v1", plain=True) as proxy:
            yield proxy.base
    else:
        yield root + {"infernode": "/v1", "novita": "/openai/v1"}[request.param]


@pytest.fixture
def client(base: str) -> Client:
    return Client(base, KEY, patience_s=60)


@pytest.fixture
def home(server: Hornada) -> Client:
    """The server where it is."""
    return Client(server.base, KEY, patience_s=60)


def line(custom_id: str, content: str) -> bytes:
    body = {"model": MODEL, "messages": [{"role": "user", "content": content}]}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}).encode()


def write(path: Path, *contents: str) -> Path:
    """A file of requests, whose ids are told apart from other tests' by the file's name."""
    path.write_bytes(b"".join(line(f"{i}-{content}", content) + b"\n" for i, content in enumerate(contents)))
    return path
