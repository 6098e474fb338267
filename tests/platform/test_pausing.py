"""Models and batches are paused while lines of theirs are in flight, on a server that is killed in between."""

import time

import pytest

from bench.client import Client
from bench.hornada import Hornada
from tests.platform.fleet import metric, until
from tests.platform.operator import CAPACITY, Operator, ended, half_way

LINES, FREE = 60, 8


@pytest.fixture
def client(server: Hornada) -> Client:
    """The first organization."""
    return server.client


def begun(operator: Operator, client: Client, name: str) -> str:
    """A batch of which some lines are answered and as many as there are slots are in flight, until they are let go."""
    batch = client.submit(operator.lines([name] * LINES, free=FREE))
    half_way(client, batch, FREE)
    until(lambda: operator.calls() == FREE + CAPACITY)
    return batch


def rest(operator: Operator, client: Client, batch: str) -> int:
    """Calls that the model server got, once what was in flight has ended; in another second there is none more."""
    operator.open()
    until(lambda: client.batch(batch)["request_counts"]["completed"] == operator.calls())
    calls = operator.calls()
    time.sleep(1)
    assert FREE + CAPACITY <= operator.calls() == calls < LINES
    return calls


def test_a_paused_batch_rests_and_goes_on_without_running_a_line_twice(operator: Operator, client: Client) -> None:
    batch = begun(operator, client, operator.model("m"))
    assert client.call("POST", f"/batches/{batch}/pause").json["paused"] is True
    rest(operator, client, batch)
    assert "paused" not in client.call("POST", f"/batches/{batch}/resume").json
    assert ended(client, batch).counts == (LINES, 0)
    assert operator.calls() == LINES


def test_a_paused_batch_is_cancelled(operator: Operator, client: Client) -> None:
    batch = begun(operator, client, operator.model("m"))
    client.call("POST", f"/batches/{batch}/pause")
    calls = rest(operator, client, batch)
    client.call("POST", f"/batches/{batch}/cancel")
    found = ended(client, batch)
    assert (found.batch["status"], found.counts) == ("cancelled", (calls, LINES - calls))


def test_a_paused_model_answers_regular_calls_and_its_pause_outlives_the_process(
    operator: Operator, client: Client, server: Hornada
) -> None:
    name = operator.model("m")
    batch = begun(operator, client, name)
    assert operator.command("model", "pause", name)["paused"] is True
    until(lambda: metric(server, f'hornada_model_paused{{model="{name}"}}') == 1)
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
