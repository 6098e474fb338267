"""Webhooks of a real server: what its metrics and its log say of them, and the switch that turns them off."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bench import lines
from bench.client import Client, granted
from bench.hornada import Hornada, model, settings, table
from bench.stub import Stub
from tests.listener import ALLOWED, Listener, listening

Serve = Callable[..., Hornada]
EVENTS = ["batch.completed"]


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stub]:
    with Stub(tmp_path_factory.mktemp("stub") / "stub.log") as running:
        yield running


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as listener:
        yield listener


@pytest.fixture
def serve(stub: Stub, tmp_path: Path) -> Iterator[Serve]:
    """Starts a server with these settings of ``[webhooks]``."""
    with ExitStack() as stack:

        def start(**webhooks: Any) -> Hornada:
            config = settings([model(lines.MODEL, stub.upstream, capacity=4)]) + table("[webhooks]", webhooks)
            config += table("[server]", {"log_format": "json"})
            hornada = stack.enter_context(Hornada(tmp_path, config))
            hornada.start()
            return hornada

        yield start


def metrics(server: Hornada) -> dict[str, float]:
    """The metrics of webhooks."""
    body = Client(f"http://127.0.0.1:{server.port}").call("GET", "/metrics").body.decode()
    found = [line.rsplit(" ", 1) for line in body.splitlines() if line.startswith("hornada_webhook_")]
    return {name: float(value) for name, value in found}


def run(server: Hornada, folder: Path) -> str:
    """Runs a batch to its end; its id."""
    batch = server.client.submit(lines.write(folder / "input.jsonl", 3))
    return str(server.client.finish(batch, 60, 0.02)["id"])


def test_what_came_of_messages_is_counted_and_logged(serve: Serve, listener: Listener, tmp_path: Path) -> None:
    server = serve(**ALLOWED)
    body = {"url": listener.url + "?token=hush", "event_types": EVENTS}
    made = granted(server.client.call("POST", "/webhook_endpoints", body), "webhook")
    batch = run(server, tmp_path)
    (heard,) = listener.wait(1)
    assert json.loads(heard.body)["data"] == {"id": batch}
    server.running.until(lambda: metrics(server)['hornada_webhook_attempts_total{result="delivered"}'] == 1, 60)
    listener.status = 500
    run(server, tmp_path)
    server.running.until(lambda: metrics(server)['hornada_webhook_attempts_total{result="failed"}'] == 1, 60)
    found = metrics(server)
    assert (found["hornada_webhook_pending"], found["hornada_webhook_given_up_total"]) == (1, 0)
    assert found["hornada_webhook_oldest_pending_seconds"] > 0
    log = (server.folder / "server.log").read_text()
    told = [json.loads(line) for line in log.splitlines() if '"endpoint_id"' in line]
    assert [(each["status"], each["endpoint_id"]) for each in told] == [(200, made["id"]), (500, made["id"])]
    for secret in ("hush", made["signing_secret"].removeprefix("whsec_"), listener.url):
        assert secret not in log


def test_switched_off_there_are_none(serve: Serve, listener: Listener, tmp_path: Path) -> None:
    server = serve(**ALLOWED)
    body = {"url": listener.url, "event_types": EVENTS}
    granted(server.client.call("POST", "/webhook_endpoints", body), "webhook")
    assert server.terminate() == 0
    server = serve(enabled=False)
    assert server.client.call("GET", "/webhook_endpoints").status == 404
    assert not [path for path in _paths(server) if "webhook" in path]
    run(server, tmp_path)
    assert server.terminate() == 0
    server = serve(**ALLOWED)
    assert metrics(server)["hornada_webhook_pending"] == 0
    assert listener.heard == []


def test_a_stop_waits_for_what_is_on_its_way(serve: Serve, listener: Listener, tmp_path: Path) -> None:
    server = serve(**ALLOWED)
    body = {"url": listener.url, "event_types": EVENTS}
    made = granted(server.client.call("POST", "/webhook_endpoints", body), "webhook")
    run(server, tmp_path)
    assert server.terminate() == 0
    server.start()
    listener.wait(1)
    path = f"/webhook_endpoints/{made['id']}/deliveries?status=delivered"
    server.running.until(lambda: bool(server.client.call("GET", path).json["data"]), 60)


def _paths(server: Hornada) -> list[str]:
    return list(Client(f"http://127.0.0.1:{server.port}").call("GET", "/openapi.json").json["paths"])
