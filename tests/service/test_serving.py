"""A real server as its operator sees it: what it says at the start, while something is amiss, and at the end."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench import lines
from bench.client import Client
from bench.hornada import KEY, Hornada, model, settings
from bench.process import NotReady, free_port
from bench.stub import Stub

Serve = Callable[..., Hornada]


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stub]:
    """A model server that takes two seconds for an answer."""
    with Stub(tmp_path_factory.mktemp("stub") / "stub.log", latency_ms=2000) as running:
        yield running


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[Stub]:
    """A model server that takes a minute for an answer."""
    with Stub(tmp_path / "endless.log", latency_ms=60_000) as running:
        yield running


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a server on one folder with a model at ``upstream``."""
    with ExitStack() as stack:

        def start(upstream: str, env: dict[str, str] | None = None) -> Hornada:
            hornada = stack.enter_context(Hornada(tmp_path, settings([model(lines.MODEL, upstream, capacity=2)]), env))
            hornada.start()
            return hornada

        yield start


def site(hornada: Hornada) -> Client:
    """A client of the server's root."""
    return Client(f"http://127.0.0.1:{hornada.port}")


def ready(hornada: Hornada) -> tuple[int, dict[str, Any]]:
    answer = site(hornada).call("GET", "/readyz")
    return answer.status, answer.json


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def refused(folder: Path, config: str, **flags: str) -> str:
    """What a server says that does not start."""
    hornada = Hornada(folder, config)
    hornada.data = Path(flags.get("data", hornada.data))
    hornada.port = int(flags.get("port", hornada.port))
    with hornada, pytest.raises(NotReady, match="ended with 2"):
        hornada.start()
    return hornada.log()


def test_a_model_that_is_away_is_logged_once_and_noted_for_as_long(serve: Serve, tmp_path: Path) -> None:
    port = free_port()
    hornada = serve(f"http://127.0.0.1:{port}/v1")
    batch = hornada.client.submit(lines.write(tmp_path / "in.jsonl", 5))
    until(lambda: ready(hornada)[1]["notes"], "the model is noted")
    status, told = ready(hornada)
    assert (status, told["status"], told["reasons"]) == (200, "ready", [])
    assert told["notes"] == [f"model {lines.MODEL} is away; its lines wait"]
    assert f":{port}" not in json.dumps(told)
    assert hornada.log().count(f"model {lines.MODEL} is away") == 1
    assert f'hornada_model_away{{model="{lines.MODEL}"}} 1.0'.encode() in site(hornada).call("GET", "/metrics").body
    assert hornada.client.batch(batch)["status"] == "in_progress"


def test_what_is_made_is_this_user_s_alone(serve: Serve, stub: Stub, tmp_path: Path) -> None:
    hornada = serve(stub.upstream)
    hornada.client.submit(lines.write(tmp_path / "in.jsonl", 2))
    made = [hornada.data, *hornada.data.rglob("*")]
    assert {path.name for path in made} >= {"ledger.db", "ledger.db-wal", "blobs", "input"}
    for path in made:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_folder_that_is_there_keeps_its_mode(serve: Serve, stub: Stub, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o750)
    hornada = serve(stub.upstream)
    assert stat.S_IMODE(hornada.data.stat().st_mode) == 0o750


def test_without_its_data_folder_it_is_unready(serve: Serve, stub: Stub, tmp_path: Path) -> None:
    hornada = serve(stub.upstream)
    hornada.data.rename(tmp_path / "elsewhere")
    status, told = ready(hornada)
    assert (status, told["status"]) == (503, "unready")
    assert f"{hornada.data} is gone" in told["reasons"]
    data = lines.write(tmp_path / "in.jsonl", 2)
    assert hornada.client.upload(data).status == 503
    shutil.copytree(tmp_path / "elsewhere", hornada.data)
    assert f"{hornada.data} was replaced by another" in ready(hornada)[1]["reasons"]


def test_a_key_that_comes_too_late_is_told(serve: Serve, stub: Stub) -> None:
    first = serve(stub.upstream)
    first.terminate()
    first.start()
    assert "bootstrap.key" not in first.log()
    first.terminate()
    hornada = serve(stub.upstream, {"HORNADA_BOOTSTRAP_KEY": "sk-another"})
    assert "bootstrap.key is ignored" in hornada.log()
    assert "hornada admin key create" in hornada.log()
    assert "sk-another" not in hornada.log()


def test_a_new_ledger_is_told_once(serve: Serve, stub: Stub) -> None:
    hornada = serve(stub.upstream)
    hornada.terminate()
    hornada.start()
    assert hornada.log().count(f"new ledger at {hornada.ledger}") == 1


def test_a_server_without_models_says_so(tmp_path: Path) -> None:
    with Hornada(tmp_path, settings([])) as hornada:
        hornada.start()
        assert "there is no model" in hornada.log()
        assert ready(hornada)[1]["notes"] == ["there is no model"]


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = refused(tmp_path, settings([]), data=str(tmp_path / "file"))
    assert f"hornada cannot start: the data folder {tmp_path}/file cannot be made: File exists" in log


def test_an_address_in_use_is_named_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        log = refused(tmp_path, settings([]), port=str(port))
    assert log.splitlines()[-1] == f"hornada cannot start: cannot listen on 127.0.0.1:{port}: Address already in use"


def test_a_stop_says_what_it_waits_for_and_answers_health_meanwhile(serve: Serve, stub: Stub, tmp_path: Path) -> None:
    hornada = serve(stub.upstream)
    batch = hornada.client.submit(lines.write(tmp_path / "in.jsonl", 8))
    until(lambda: stub.stats()["inflight"] == 2, "two lines are in flight")
    hornada.running.send(signal.SIGTERM)
    until(lambda: ready(hornada)[0] == 503, "it is unready")
    assert ready(hornada)[1]["reasons"] == ["the server is stopping"]
    assert site(hornada).call("GET", "/healthz").status == 200
    assert hornada.client.call("GET", "/models").status == 503
    assert hornada.running.wait(60) == 0
    assert "stopping: 2 calls in flight get up to 20 s" in hornada.log()
    assert hornada.log().splitlines()[-1].endswith("stopped")
    hornada.start()
    assert "1 batch goes on" in hornada.log()
    assert hornada.client.batch(batch)["request_counts"]["completed"] == 2


def test_a_second_signal_stops_at_once(serve: Serve, endless: Stub, tmp_path: Path) -> None:
    hornada = serve(endless.upstream, {"HORNADA_SERVER_SHUTDOWN_GRACE_S": "50"})
    hornada.client.submit(lines.write(tmp_path / "in.jsonl", 8))
    until(lambda: endless.stats()["inflight"] == 2, "two lines are in flight")
    hornada.running.send(signal.SIGTERM)
    until(lambda: ready(hornada)[0] == 503, "it is unready")
    hornada.running.send(signal.SIGINT)
    assert hornada.running.wait(30) == 0
    assert "stopping at once" in hornada.log()


@pytest.mark.parametrize("grace", ["20", "0.5"], ids=["by a second signal", "when the time of grace is over"])
def test_calls_that_are_cut_off_are_told_in_one_line(serve: Serve, endless: Stub, tmp_path: Path, grace: str) -> None:
    hornada = serve(endless.upstream, {"HORNADA_SERVER_SHUTDOWN_GRACE_S": grace})
    batch = hornada.client.submit(lines.write(tmp_path / "in.jsonl", 8))
    until(lambda: endless.stats()["inflight"] == 2, "two lines are in flight")
    asked = json.dumps({"model": lines.MODEL, "messages": [{"role": "user", "content": "?"}]}).encode()
    calls = {
        b"POST /v1/chat/completions": (b"content-type: application/json", asked, b""),
        f"GET /v1/batches/{batch}/events".encode(): (b"accept: text/event-stream", b"", b" 200 OK"),
        b"POST /v1/files": (b"content-type: multipart/form-data; boundary=b\r\nexpect: 100-continue", b"", b" 100 "),
    }
    with ExitStack() as stack:
        for call, (header, body, begun) in calls.items():
            wire = stack.enter_context(socket.create_connection(("127.0.0.1", hornada.port), timeout=10))
            length = len(body) if b"chat" in call else 1000 * (b"files" in call)
            key = f"host: x\r\nauthorization: Bearer {KEY}\r\ncontent-length: {length}".encode()
            wire.sendall(call + b" HTTP/1.1\r\n" + header + b"\r\n" + key + b"\r\n\r\n" + body)
            while begun and begun not in wire.recv(1024):
                pass
        until(lambda: endless.stats()["inflight"] == 3, "the regular call is in flight")
        hornada.running.send(signal.SIGTERM)
        if grace == "20":
            until(lambda: ready(hornada)[0] == 503, "it is unready")
            hornada.running.send(signal.SIGINT)
        assert hornada.running.wait(10) == 0
    log = hornada.log()
    assert "Traceback" not in log
    assert log.count(" ERROR ") == 0
    assert len(re.findall(r" WARNING [23] calls were cut off\n", log)) == 1, "events may have ended by themselves"


def test_the_time_of_grace_is_a_setting(serve: Serve, endless: Stub, tmp_path: Path) -> None:
    hornada = serve(endless.upstream, {"HORNADA_SERVER_SHUTDOWN_GRACE_S": "0.5"})
    hornada.client.submit(lines.write(tmp_path / "in.jsonl", 8))
    until(lambda: endless.stats()["inflight"] == 2, "two lines are in flight")
    assert hornada.terminate(timeout=30) == 0
    assert "get up to 0.5 s" in hornada.log()


def test_the_log_can_be_json_with_the_ids_of_requests(serve: Serve, stub: Stub) -> None:
    env = {"HORNADA_SERVER_LOG_FORMAT": "json", "HORNADA_SERVER_ACCESS_LOG": "true"}
    hornada = serve(stub.upstream, env)
    answer = hornada.client.call("GET", "/models?after=secret")
    until(lambda: '"/v1/models"' in hornada.log(), "the call is logged")
    found = [json.loads(line) for line in hornada.log().splitlines() if line.startswith("{")]
    [line] = [line for line in found if line.get("path") == "/v1/models"]
    assert (line["method"], line["status"], line["level"]) == ("GET", 200, "info")
    assert line["request_id"] == answer.headers["x-request-id"]
    assert line["key_id"] not in ("-", KEY)
    assert {line["logger"] for line in found} >= {"hornada", "uvicorn.error", "hornada.access"}
    assert "secret" not in hornada.log()


def test_the_log_can_be_less(serve: Serve, stub: Stub) -> None:
    hornada = serve(stub.upstream, {"HORNADA_SERVER_LOG_LEVEL": "warning"})
    hornada.terminate()
    assert " INFO " not in hornada.log()


def test_every_metric_that_is_told_of_is_there(serve: Serve, stub: Stub, tmp_path: Path) -> None:
    from hornada.service.metrics import NAMES

    hornada = serve(stub.upstream)
    hornada.client.submit(lines.write(tmp_path / "in.jsonl", 2))
    until(lambda: b'hornada_batches_total{status="completed"} 1.0' in shown(hornada), "the batch is counted")
    text = shown(hornada).decode()
    kinds = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE hornada_")}
    assert {name.removesuffix("_total") for name in kinds} == {name.removesuffix("_total") for name in NAMES}
    for sample in (
        'hornada_lines_total{model="stub-model",result="ok"} 2.0',
        'hornada_call_seconds_count{model="stub-model",traffic="batch"} 2.0',
        'hornada_http_requests_total{method="POST",route="/batches",status="200"} 1.0',
        'hornada_batches_live{status="in_progress"} 0.0',
    ):
        assert sample in text


def shown(hornada: Hornada) -> bytes:
    return site(hornada).call("GET", "/metrics").body


def test_a_process_that_may_not_write_says_so(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (tmp_path / "closed").mkdir(mode=0o500)
    log = refused(tmp_path, settings([]), data=str(tmp_path / "closed" / "data"))
    assert "cannot be made: Permission denied" in log


def examiners(hornada: Hornada) -> list[psutil.Process]:
    children = psutil.Process(hornada.pid).children()
    return [child for child in children if "hornada.core.check_main" in child.cmdline()]


def test_a_process_that_checks_files_stands_ready_until_the_end(serve: Serve, stub: Stub) -> None:
    hornada = serve(stub.upstream)
    until(lambda: examiners(hornada), "no process stands ready")
    [waiting] = examiners(hornada)
    os.killpg(hornada.pid, signal.SIGINT)  # as a terminal does
    assert hornada.running.wait(60) == 0
    until(lambda: not waiting.is_running(), "the process outlived the server")
    assert "Traceback" not in hornada.log()
