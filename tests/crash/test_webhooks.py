"""The process is killed between the end of a batch and its message, and while a message is on its way."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.client import granted
from bench.hornada import Hornada, table
from bench.stub import Stub
from tests.crash.story import Story, configuration
from tests.crash.test_crash_points import ARMED
from tests.listener import ALLOWED, Listener, listening

EVENTS = ["batch.completed", "batch.failed", "batch.cancelled", "batch.expired"]


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as listener:
        yield listener


@pytest.fixture
def server(stub: Stub, tmp_path: Path) -> Iterator[Hornada]:
    with Hornada(tmp_path, configuration(stub) + table("[webhooks]", {**ALLOWED, "timeout_s": 2})) as hornada:
        yield hornada


def hear(server: Hornada, listener: Listener) -> str:
    """Has every event sent to the listener; the endpoint's path."""
    body = {"url": listener.url, "event_types": EVENTS}
    made = granted(server.client.call("POST", "/webhook_endpoints", body), "webhook")
    return f"/webhook_endpoints/{made['id']}"


def test_a_kill_between_the_end_and_its_message_only_delays_the_message(
    server: Hornada, stub: Stub, data: Path, listener: Listener
) -> None:
    story = Story(server, stub, data)
    server.start({ARMED: "assembled"})
    path = hear(server, listener)
    story.until_it_dies()
    assert listener.heard == []
    server.start()
    (message,) = listener.wait(1)
    ended = story.go()
    assert (json.loads(message.body)["type"], json.loads(message.body)["data"]["id"]) == (
        "batch.completed",
        ended["id"],
    )
    story.check_end()
    server.start()
    (delivery,) = granted(server.client.call("GET", f"{path}/deliveries"), "log")["data"]
    assert (delivery["status"], delivery["attempts"], len(listener.heard)) == ("delivered", 1, 1)


def test_a_kill_before_a_message_is_noted_sends_it_again_under_the_same_id(
    server: Hornada, stub: Stub, data: Path, listener: Listener
) -> None:
    story = Story(server, stub, data)
    server.start({ARMED: "webhook_sent"})
    path = hear(server, listener)
    story.until_it_dies()
    (first,) = listener.wait(1)
    server.start()
    _, second = listener.wait(2)
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])
    story.go()
    story.check_end()
    server.start()
    (delivery,) = granted(server.client.call("GET", f"{path}/deliveries"), "log")["data"]
    assert (delivery["status"], delivery["attempts"]) == ("delivered", 2)
