"""A llama.cpp server with a tiny random model, and Hornada in front of it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.client import Client
from bench.hornada import Hornada, answers, model, settings
from bench.process import Process, free_port
from tests.acceptance import tiny_gguf

MODEL = "tiny-random"


@contextmanager
def llama_server(folder: Path, *slots: int) -> Iterator[str]:
    """A model server with so many slots; its base address."""
    path, port = tiny_gguf.write(folder / "tiny.gguf"), free_port()
    command = [sys.executable, "-m", "tests.acceptance.llama", str(path), str(port), MODEL, *map(str, slots)]
    with Process(command, folder / "llama.log") as process:
        process.until(lambda: answers(Client(f"http://127.0.0.1:{port}"), "/health"), 60)
        yield f"http://127.0.0.1:{port}/v1"


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The model server; its base address."""
    with llama_server(tmp_path_factory.mktemp("llama")) as address:
        yield address


@pytest.fixture(scope="session")
def server(llama: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    """Hornada, ready."""
    config = settings([model(MODEL, llama, capacity=8)], aliases={"Saptiva Turbo": MODEL})
    with Hornada(tmp_path_factory.mktemp("acceptance"), config) as hornada:
        hornada.start()
        yield hornada
