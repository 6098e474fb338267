"""Models and batches are paused while lines of theirs are in flight, on a server that is killed in between."""

import time

import pytest

from bench.client import Client
from bench.hornada import Hornada
from tests.platform.operator import CAPACITY, Operator, ended, half_way

LINES = 40
STOPPED_WITHIN_S = 1.5
"""A second for the pause, and half of one for what was in flight and the commit of its results."""


@pytest.fixture
def client(server: Hornada) -> Client:
    """The first organization."""
    return server.client


def rest(operator: Operator, client: Client, batch: str) -> int:
    """Calls that the model server has got once a pause must hold; in another second there is none more."""
    time.sleep(STOPPED_WITHIN_S)
    calls = operator.calls()
    time.sleep(1)
    assert operator.calls() == calls < LINES
    assert client.batch(batch)["request_counts"]["completed"] == calls
    return calls


def test_a_paused_batch_rests_and_goes_on_without_running_a_line_twice(operator: Operator, client: Client) -> None:
    batch = client.submit(operator.lines([operator.model("m")] * LINES))
    half_way(client, batch, 2)
    assert client.call("POST", f"/batches/{batch}/pause").json["paused"] is True
    calls = rest(operator, client, batch)
    assert calls <= 2 + 3 * CAPACITY
    assert "paused" not in client.call("POST", f"/batches/{batch}/resume").json
    assert ended(client, batch).counts == (LINES, 0)
    assert operator.calls() == LINES


def test_a_paused_batch_is_cancelled(operator: Operator, client: Client) -> None:
    batch = client.submit(operator.lines([operator.model("m")] * LINES))
    half_way(client, batch, 2)
    client.call("POST", f"/batches/{batch}/pause")
    calls = rest(operator, client, batch)
    client.call("POST", f"/batches/{batch}/cancel")
    found = ended(client, batch)
    assert (found.batch["status"], found.counts) == ("cancelled", (calls, LINES - calls))


def test_a_paused_model_answers_regular_calls_and_its_pause_outlives_the_process(
    operator: Operator, client: Client, server: Hornada
) -> None:
    name = operator.model("m")
    batch = client.submit(operator.lines([name] * LINES))
    half_way(client, batch, 2)
    assert operator.command("model", "pause", name)["paused"] is True
    calls = rest(operator, client, batch)
    body = {"model": name, "messages": [{"role": "user", "content": "a regular call"}]}
    assert client.call("POST", "/chat/completions", body).status == 200
    server.kill()
    server.start()
    time.sleep(1)
    assert operator.calls() == calls
    assert operator.command("model", "resume", name)["paused"] is False
    assert ended(client, batch).counts == (LINES, 0)
    assert operator.calls() == LINES
