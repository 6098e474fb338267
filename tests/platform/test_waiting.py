"""What a batch waits for is told the same by a process that runs no lines."""

import json
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from bench.client import Client, granted
from bench.hornada import Hornada
from bench.process import free_port
from tests.platform.fleet import Fleet, until
from tests.platform.operator import OPERATOR_KEY, ended
from tests.platform.work import Work

CAPACITY = 8


def waits_for(api: Hornada, batch: str) -> str | None:
    said: str | None = api.client.batch(batch)["hornada"]["waiting_for"]
    return said


def model(api: Hornada, name: str) -> dict[str, Any]:
    found = granted(api.client.call("GET", "/models/capacity"), "capacity")["data"]
    return {row["id"]: row for row in found}[name]


def notes(api: Hornada) -> list[str]:
    found: list[str] = Client(f"http://127.0.0.1:{api.port}").call("GET", "/readyz").json.get("notes", [])
    return found


@contextmanager
def calling(api: Hornada, backend: Client) -> Iterator[None]:
    """Regular calls take every slot of the model."""
    word = uuid.uuid4().hex
    content = f"wait @@{json.dumps({'hold': word})}"
    body = {"model": "m-chat", "messages": [{"role": "user", "content": content}]}
    with ThreadPoolExecutor(CAPACITY) as pool:
        calls = [pool.submit(api.client.call, "POST", "/chat/completions", body) for _ in range(CAPACITY)]
        try:
            until(lambda: backend.call("GET", "/__stats").json["calls"].get(content, 0) == CAPACITY)
            yield
        finally:
            backend.call("POST", "/__open", word.encode())
        assert [call.result().status for call in calls] == [200] * CAPACITY


def test_that_a_model_is_away(fleet: Fleet, work: Work) -> None:
    api, _ = fleet.add("api"), fleet.add("worker")
    operator = Client(f"http://127.0.0.1:{api.port}", OPERATOR_KEY)
    granted(operator.call("PUT", "/admin/models/m-gone", {"upstream": f"http://127.0.0.1:{free_port()}/v1"}), "put")
    began = int(time.time())
    batch = api.client.submit(work.lines(20).replace(b'"m-chat"', b'"m-gone"'))
    until(lambda: (waits_for(api, batch) or "").startswith("model m-gone is away since "))
    assert began <= model(api, "m-gone")["away_since"] <= time.time()
    assert notes(api) == ["model m-gone is away; its lines wait"]
    granted(api.client.call("POST", f"/batches/{batch}/cancel"), "cancel")
    assert ended(api.client, batch).counts == (0, 20)
    until(lambda: notes(api) == [])


def test_that_every_slot_is_busy(fleet: Fleet, backend: Client, work: Work) -> None:
    api, other, _ = fleet.add("api"), fleet.add("api"), fleet.add("worker")
    warm = api.client.submit(work.lines(1, delay=0))
    assert ended(api.client, warm).counts == (1, 0)
    with calling(api, backend):
        until(lambda: model(other, "m-chat")["regular"] == CAPACITY)
        batch = other.client.submit(work.lines(4, delay=0))
        for each in (other, api):
            until(lambda at=each: (waits_for(at, batch) or "").startswith("capacity: 8 of 8 slots busy (8 regular)"))
    assert ended(other.client, batch).counts == (4, 0)


@pytest.mark.parametrize("role", ["api", "all"])
def test_that_its_lines_run_wherever_that_is(fleet: Fleet, work: Work, role: str) -> None:
    asked, _ = fleet.add(role), fleet.add("worker")
    batch = asked.client.submit(work.lines(60, free=0))
    until(lambda: work.calls() >= CAPACITY)
    assert {waits_for(asked, batch) for _ in range(5)} == {None}
    granted(asked.client.call("POST", f"/batches/{batch}/pause"), "pause")
    assert waits_for(asked, batch) == "paused"
