"""A mock model server and a real Hornada in front of it; each worker of a parallel run has its own pair."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.client import Client
from bench.hornada import Hornada, model, settings

ENDPOINTS = {
    "m-chat": ["/v1/chat/completions", "/v1/responses"],
    "m-other": ["/v1/chat/completions"],
    "m-nobatch": ["/v1/chat/completions"],
    "m-text": ["/v1/completions"],
    "m-embed": ["/v1/embeddings"],
}


def configuration(backend: Client, *, capacity: int = 4, **limits: float) -> str:
    """Five models on the mock, an alias, a plan of five live batches, a short deadline for model calls."""
    upstream = f"http://127.0.0.1:{backend.port}/v1"
    models = [
        model(name, upstream, endpoints=endpoints, capacity=capacity, batch=name != "m-nobatch")
        for name, endpoints in ENDPOINTS.items()
    ]
    aliases = {"Saptiva Turbo": "m-chat"}
    return settings(models, aliases=aliases, limits={"upstream_timeout_s": 5, **limits}, plan={"active_batches": 5})


@pytest.fixture(scope="session")
def server(backend: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    """The server that the cases share."""
    with Hornada(tmp_path_factory.mktemp("cases"), configuration(backend)) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the large input files are written."""
    return tmp_path_factory.mktemp("inputs")
