"""A real Chromium at a real ``hornada serve`` in front of the mock model server."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from bench.client import Client
from bench.hornada import Hornada, model, settings, table
from tests.ui.visitor import FLAGS, OPERATOR_KEY, Visitor

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; a test that needs it fails in CI and is skipped elsewhere when it is missing.

    It lasts for a module, because while it is there the thread has a running event loop, which asynchronous tests of
    other modules could not bear.
    """
    program = shutil.which("chromium")
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("chromium is not there: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


def configuration(backend: Client) -> str:
    """Two models, one of which costs something, and an operator."""
    upstream = f"http://127.0.0.1:{backend.port}/v1"
    priced: dict[str, Any] = {"price.input": 150_000, "price.output": 600_000}
    models = [
        model("m-chat", upstream, endpoints=["/v1/chat/completions"], capacity=16, **priced),
        model("m-embed", upstream, endpoints=["/v1/embeddings"], capacity=8),
    ]
    return settings(models, aliases={"Fast": "m-chat"}) + table("[server]", {"operator_key": OPERATOR_KEY})


@pytest.fixture(scope="session")
def server(backend: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    """The server that tests share."""
    with Hornada(tmp_path_factory.mktemp("ui"), configuration(backend)) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture
def own_server(backend: Client, tmp_path: Path) -> Iterator[Hornada]:
    """A server that a test may stop."""
    with Hornada(tmp_path, configuration(backend)) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture
def visit(browser: Browser, server: Hornada) -> Iterator[Visit]:
    """Opens the dashboard at the shared server, or at ``at``; nothing may have gone wrong in it at the end."""
    with ExitStack() as stack:

        def open_one(at: Hornada | None = None, **how: Any) -> Visitor:
            return stack.enter_context(Visitor(browser, at or server, **how))

        yield open_one
