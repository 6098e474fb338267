"""Several real processes deliver webhooks from one PostgreSQL: each event once, also when one of them is killed."""

import json
from collections.abc import Iterator

import pytest

from bench.client import granted
from bench.hornada import Hornada
from tests.listener import Listener, listening
from tests.platform.fleet import Fleet, until
from tests.platform.work import Work

BATCHES = 20


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    """What is sent to, and processes that may send there."""
    monkeypatch.setenv("HORNADA_WEBHOOKS_ALLOW_HTTP", "true")
    monkeypatch.setenv("HORNADA_WEBHOOKS_ALLOW_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("HORNADA_WEBHOOKS_TIMEOUT_S", "20")
    with listening() as listener:
        yield listener


def hear(api: Hornada, listener: Listener) -> str:
    """Has ends of batches sent to the listener; the endpoint's path."""
    body = {"url": listener.url, "event_types": ["batch.completed"]}
    made = granted(api.client.call("POST", "/webhook_endpoints", body), "webhook")
    path = f"/webhook_endpoints/{made['id']}"
    assert granted(api.client.call("POST", f"{path}/test"), "test")["status_code"] == 200
    listener.heard.clear()
    return path


def told(listener: Listener) -> dict[str, set[str]]:
    """The batches that were heard of, each with the ids of its messages."""
    found: dict[str, set[str]] = {}
    for heard in list(listener.heard):
        found.setdefault(json.loads(heard.body)["data"]["id"], set()).add(heard.headers["webhook-id"])
    return found


def test_three_workers_send_each_event_once(fleet: Fleet, work: Work, listener: Listener) -> None:
    api = fleet.add("api")
    for _ in range(3):
        fleet.add("worker")
    path = hear(api, listener)
    made = {api.client.submit(work.lines(2, delay=0, size=at)) for at in range(BATCHES)}
    until(lambda: len(told(listener)) == BATCHES)
    assert told(listener).keys() == made
    assert len(listener.heard) == BATCHES
    log = f"{path}/deliveries?limit=100&status=delivered"
    until(lambda: len(api.client.call("GET", log).json["data"]) == BATCHES + 1)
    assert {each["attempts"] for each in api.client.call("GET", log).json["data"]} == {1}


def test_a_killed_worker_costs_no_event(fleet: Fleet, work: Work, listener: Listener) -> None:
    api, first = fleet.add("api"), fleet.add("worker")
    path = hear(api, listener)
    listener.status = 503
    made = {api.client.submit(work.lines(2, delay=0, size=at)) for at in range(BATCHES)}
    until(lambda: len(listener.heard) >= 1)
    fleet.add("worker")
    first.kill()
    listener.status = 200
    until(lambda: told(listener).keys() == made, 90)
    assert all(len(ids) == 1 for ids in told(listener).values())
    pending = f"{path}/deliveries?status=pending"
    until(lambda: api.client.call("GET", pending).json["data"] == [], 90)
