"""A capacity that is learned from two real llama.cpp servers, which queue what is too much and never refuse."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.client import TERMINAL, Client
from bench.hornada import Hornada, model, settings
from tests.acceptance.conftest import MODEL, llama_server

SLOTS = 2
SETTLE_S = 6.0
LINES = 600


@pytest.fixture(scope="module")
def llamas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Two servers with two slots each."""
    with (
        llama_server(tmp_path_factory.mktemp("one"), SLOTS) as one,
        llama_server(tmp_path_factory.mktemp("other"), SLOTS) as other,
    ):
        yield [one, other]


def gauge(address: str, name: str) -> float:
    """A metric's value."""
    text = Client(address).call("GET", "/metrics").body.decode()
    found = re.search(rf"^{name}(?:{{.*}})? ([0-9.e+]+)", text, re.MULTILINE)
    assert found is not None, text
    return float(found[1])


def test_a_batch_fills_the_slots_of_both_servers_and_leaves_nothing_waiting_there(
    llamas: list[str], tmp_path: Path
) -> None:
    roots = [address.removesuffix("/v1") for address in llamas]
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hola"}], "max_tokens": 200}
    line = {"method": "POST", "url": "/v1/chat/completions", "body": {**body, "ignore_eos": True}}
    data = "".join(json.dumps({"custom_id": f"c{at}", **line}) + "\n" for at in range(LINES)).encode()
    config = settings([model(MODEL, llamas, capacity="auto")])
    waited, learned = list[float](), list[float]()
    with Hornada(tmp_path, config) as server:
        server.start()
        batch_id = server.client.submit(data)
        began = time.monotonic()
        for found in server.client.watch(batch_id, timeout=240, poll=0.2):
            if found["status"] not in TERMINAL and time.monotonic() - began > SETTLE_S:
                waited += [gauge(root, "llamacpp:requests_deferred") for root in roots]
                learned.append(gauge(f"http://127.0.0.1:{server.port}", "hornada_capacity_slots"))
        counts = server.client.batch(batch_id)["request_counts"]
    assert (counts["completed"], counts["failed"]) == (LINES, 0)
    assert len(learned) > 5, "the batch was too short to learn from"
    assert sum(waited) / len(waited) < 0.5
    assert 1 < sum(learned) / len(learned) < 2 * SLOTS + 1.5  # one more is tried now and then
