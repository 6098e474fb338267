"""Real workers and API processes on one ledger and one bucket share the slots of a model."""

import signal
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.client import Client
from bench.hornada import Hornada, answers, model, settings, table
from bench.process import Process, free_port
from hornada.engine.flushing import BUCKET
from tests.conftest import weed_or_not
from tests.database_server import DatabaseServer
from tests.object_store import CREDENTIALS, ObjectStore
from tests.platform.fleet import until
from tests.platform.operator import ended
from tests.platform.test_shapes import ended_in_the_end
from tests.platform.work import Work

CAPACITY = 8
LEASE_S, TIMEOUT_S = 3, 4


class Fleet:
    """Processes of one installation, and the model server that only they use."""

    def __init__(self, folder: Path, configuration: str, backend: Client, stack: ExitStack) -> None:
        self._folder, self._configuration, self._stack = folder, configuration, stack
        self.backend = backend
        self.work = Work(backend)

    def start(self, name: str, role: str, **env: str) -> Hornada:
        """One more process."""
        process = self._stack.enter_context(Hornada(self._folder / name, self._configuration, CREDENTIALS))
        process.start({"HORNADA_ROLE": role, "HORNADA_ENGINE_LEASE_TTL_S": str(LEASE_S), **env})
        return process

    @property
    def peak(self) -> int:
        """The most calls that the model server had at a time."""
        peak: int = self.backend.call("GET", "/__stats").json["peak"]
        return peak

    def running(self) -> int:
        """The calls that it has now."""
        running: int = self.backend.call("GET", "/__stats").json["running"]
        return running


@pytest.fixture(scope="module")
def database() -> Iterator[DatabaseServer]:
    with DatabaseServer() as server:
        yield server


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with ObjectStore(weed_or_not(), tmp_path_factory.mktemp("bucket")) as store:
        yield store


@pytest.fixture
def fleet(
    request: pytest.FixtureRequest, database: DatabaseServer, bucket: ObjectStore, tmp_path: Path
) -> Iterator[Fleet]:
    """``param``: the plan's requests a minute."""
    port = free_port()
    backend = Client(f"http://127.0.0.1:{port}")
    with ExitStack() as stack:
        command = [sys.executable, "-m", "tests.cases.backend", "--port", str(port)]
        process = stack.enter_context(Process(command, tmp_path / "backend.log"))
        process.until(lambda: answers(backend, "/health"), 60)
        models = [model("m-chat", f"http://127.0.0.1:{port}/v1", capacity=CAPACITY, batch=CAPACITY, reserve=0)]
        storage = {"database": database.make(f"db_{uuid.uuid4().hex}"), "blobs": bucket.url()}
        limits = {"upstream_timeout_s": TIMEOUT_S}
        plan = {"requests_per_minute": getattr(request, "param", 10_000_000)}
        yield Fleet(tmp_path, settings(models, limits=limits, plan=plan) + table("[storage]", storage), backend, stack)


def test_workers_that_join_and_die_never_have_more_under_way_than_the_capacity(fleet: Fleet) -> None:
    api, first = fleet.start("api", "api"), fleet.start("first", "worker")
    client, work = api.client, fleet.work
    delay_s = 0.1
    batch = client.submit(work.lines(500, delay=delay_s))
    until(lambda: work.calls() > 50)
    second = fleet.start("second", "worker")
    until(lambda: work.calls() > 120)
    third = fleet.start("third", "worker")
    until(lambda: work.calls() > 180)
    first.kill()
    until(lambda: work.calls() > 240)
    second.terminate()
    found = ended(client, batch)
    assert (found.batch["status"], found.counts) == ("completed", (500, 0))
    assert fleet.peak == CAPACITY
    lost = CAPACITY * (1 + round(BUCKET.every_s / delay_s))  # in flight, and not yet written
    assert 500 <= work.calls() <= 500 + lost
    third.terminate()


def test_a_worker_that_is_stopped_keeps_its_slots_until_its_calls_have_ended(fleet: Fleet) -> None:
    api, first = fleet.start("api", "api"), fleet.start("first", "worker")
    client, work = api.client, fleet.work
    batch = client.submit(work.lines(100, delay=0.3))
    until(lambda: work.calls() > 20)
    first.running.send(signal.SIGSTOP)
    fleet.start("second", "worker")
    found = ended(client, batch)
    assert (found.batch["status"], found.counts) == ("completed", (100, 0))
    first.running.send(signal.SIGCONT)
    time.sleep(1)
    assert fleet.peak == CAPACITY


def test_they_are_free_before_that_where_the_model_server_says_that_it_has_nothing_to_do(fleet: Fleet) -> None:
    assert fleet.backend.call("POST", "/__gauge").ok
    patient = {"HORNADA_LIMITS_UPSTREAM_TIMEOUT_S": "300"}
    api, first = fleet.start("api", "api"), fleet.start("first", "worker", **patient)
    client, work = api.client, fleet.work
    batch = client.submit(work.lines(60, delay=0.3))
    until(lambda: work.calls() > 10)
    first.running.send(signal.SIGSTOP)
    until(lambda: fleet.running() == 0)
    fleet.start("second", "worker", **patient)
    found = ended(client, batch)
    assert (found.batch["status"], found.counts) == ("completed", (60, 0))
    assert fleet.peak == CAPACITY


def test_the_capacity_holds_through_a_crash_of_the_database(fleet: Fleet, database: DatabaseServer) -> None:
    """What it forgets of the last moments has only ever held more back."""
    api, _ = fleet.start("api", "api"), fleet.start("first", "worker")
    client, work = api.client, fleet.work
    batch = client.submit(work.lines(400, delay=0.1))
    until(lambda: work.calls() > 20)
    fleet.start("second", "worker")
    until(lambda: work.calls() > 100)
    database.stop_hard()
    database.start()
    third = fleet.start("third", "worker")
    found = ended_in_the_end(client, batch)
    assert (found.batch["status"], found.counts) == ("completed", (400, 0))
    assert fleet.peak == CAPACITY
    assert third.terminate() == 0


def test_lines_make_way_for_regular_calls_of_another_process(fleet: Fleet) -> None:
    patient = {"HORNADA_LIMITS_UPSTREAM_TIMEOUT_S": "300"}
    api, worker = fleet.start("api", "api", **patient), fleet.start("worker", "worker", **patient)
    client, work = api.client, fleet.work
    batch = client.submit(work.lines(2000, delay=0.2))
    until(lambda: work.calls() > 20)
    text = 'regular @@{"hold": "regular"}'
    body = {"model": "m-chat", "messages": [{"role": "user", "content": text}]}
    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(client.call, "POST", "/chat/completions", body) for _ in range(6)]
        try:
            until(lambda: fleet.backend.call("GET", "/__stats").json["calls"].get(text) == 6)
            until(lambda: all(fleet.running() <= CAPACITY for _ in range(20) if not time.sleep(0.05)))
        finally:
            fleet.backend.call("POST", "/__open", b"regular")
        assert [call.result().status for call in calls] == [200] * 6
    until(lambda: fleet.running() == CAPACITY)
    client.call("POST", f"/batches/{batch}/cancel")
    assert ended(client, batch).batch["status"] == "cancelled"
    assert worker.terminate() == 0


@pytest.mark.parametrize("fleet", [30], indirect=True)
def test_two_processes_grant_no_more_calls_a_minute_than_one(fleet: Fleet) -> None:
    clients = [fleet.start(name, "api").client for name in ("first", "second")]
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        answers_ = list(pool.map(lambda n: clients[n % 2].call("GET", "/models"), range(100)))
    back = (time.monotonic() - began) * 30 / 60
    granted = [answer for answer in answers_ if answer.status == 200]
    assert 30 <= len(granted) <= 30 + back
    assert {answer.status for answer in answers_} == {200, 429}
    assert {answer.headers["x-ratelimit-limit-requests"] for answer in answers_} == {"30"}
    refused = next(answer for answer in answers_ if answer.status == 429)
    assert refused.headers["x-ratelimit-remaining-requests"] == "0"
    assert 1 <= int(refused.headers["retry-after"]) <= 60
