"""Results, events, retries and checks of a real server in every dialect, typed as the documents show them."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from bench.client import Client
from bench.hornada import KEY, Hornada, model, settings, table
from tests.platform.fleet import until

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "follow-and-retry.md"
DIALECTS = {"/v1": "infernode", "/openai/v1": "novita", "/strict/v1": "openai", "/openai": "azure"}
LINES, SLOTS, FREE = 24, 4, 10
CHAT = "/v1/chat/completions"
OWN = {"waiting_for", "rate", "eta", "cost", "estimated_cost", "errors_by_code", "retry_of"}


def config(upstream: str) -> str:
    """One model at a price, and every dialect."""
    entry = table("[[models]]", model("m", upstream, capacity=SLOTS)).rstrip()
    price = "price = { input = 1000000, output = 2000000 }"
    return (
        settings([])
        + f"{entry}\n{price}\n"
        + table("[server.dialects]", {f'"{at}"': name for at, name in DIALECTS.items()})
    )


@pytest.fixture(scope="module")
def upstream(backend: Client) -> str:
    return f"http://127.0.0.1:{backend.port}/v1"


@pytest.fixture(scope="module")
def server(upstream: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    with Hornada(tmp_path_factory.mktemp("own"), config(upstream)) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture(params=list(DIALECTS))
def base(request: pytest.FixtureRequest, server: Hornada) -> str:
    return f"http://127.0.0.1:{server.port}{request.param}"


def lines(mark: str, failing: tuple[int, ...] = (3, 7), free: int = LINES) -> bytes:
    """Lines of which some fail once, with a code of their own, and are good when they come again.

    All but the first ``free`` are not answered until ``let_go``.
    """
    rows = []
    for at in range(LINES):
        says: dict[str, Any] = {"hold": mark} if at >= free else {}
        if at in failing:
            says = {
                "status": 400,
                "times": 1,
                "error": {"message": "no", "type": "t", "param": None, "code": "odd_word"},
            }
        text = f"{mark} {at} @@{json.dumps(says)}"
        body = {"model": "m", "max_tokens": 8, "messages": [{"role": "user", "content": text}]}
        rows.append({"custom_id": f"{mark}-{at:03}", "body": body})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def let_go(backend: Client, mark: str) -> None:
    assert backend.call("POST", "/__open", mark.encode()).ok


def script(base: str, *words: str, batch: str = "") -> list[str]:
    """The page's command that holds these words."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    shown = "".join(blocks).replace("\\\n", " ").splitlines()
    command = next(line for line in shown if all(word in line for word in words)).replace("batch_...", batch)
    return ["bash", "-c", f"KEY={KEY} BASE={base}\n{command}"]


def typed(base: str, *words: str, batch: str = "", folder: Path = ROOT) -> str:
    """What that command prints."""
    command = script(base, *words, batch=batch)
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=True)
    return run.stdout


def rows(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines()]


def events(printed: str) -> list[dict[str, Any]]:
    lines = [line for line in printed.splitlines(keepends=True) if line.endswith("\n")]
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def test_a_batch_is_followed_read_and_retried(base: str, backend: Client, tmp_path: Path) -> None:
    client = Client(base, KEY)
    mark = base.rsplit(":", 1)[1].replace("/", "-")
    (tmp_path / "requests.jsonl").write_bytes(data := lines(mark, free=FREE))
    checked = json.loads(typed(base, "validate", folder=tmp_path))
    assert (checked["valid"], checked["lines"], checked["bytes"], checked["model"]) == (True, LINES, len(data), "m")
    estimate = checked["estimate"]
    assert estimate["output_tokens_limit"] == 8 * LINES
    assert estimate["cost_limit"] == estimate["input_cost"] + 16 * LINES

    batch = client.submit(data)
    seen = tmp_path / "events"
    with seen.open("wb") as printed:
        watcher = subprocess.Popen(script(base, "/events", batch=batch), stdout=printed)
    with watcher:
        until(lambda: any(said["progress"]["rate"] and said["progress"]["eta"] for said in events(seen.read_text())))
        until(lambda: len(rows(typed(base, '/results"', batch=batch))) == FREE)
        partial = rows(typed(base, '/results"', batch=batch))
        assert all(row["input"]["messages"] and row["status"] in {"succeeded", "failed"} for row in partial)
        let_go(backend, mark)
        assert watcher.wait(60) == 0
    told = events(seen.read_text())
    assert [event["type"] for event in told[:-1]] == ["batch.progress"] * (len(told) - 1)
    assert told[-1]["type"] == "batch.completed"
    assert told[-1]["batch"] == client.batch(batch)
    assert all(set(event["progress"]) == OWN for event in told)
    assert told[-1]["progress"]["errors_by_code"] == {"odd_word": 2}

    whole = rows(typed(base, '/results"', batch=batch))
    assert [row["custom_id"] for row in whole] == [f"{mark}-{at:03}" for at in range(LINES)]
    assert {json.dumps(row) for row in partial} <= {json.dumps(row) for row in whole}
    files = [client.batch(batch)[name] for name in ("output_file_id", "error_file_id")]
    assert {row["id"] for row in whole} == {
        json.loads(row)["id"] for file in files for row in client.content(file).splitlines()
    }
    failed = rows(typed(base, "status=failed", batch=batch))
    assert [(row["line"], "input" in row) for row in failed] == [(4, False), (8, False)]
    assert rows(typed(base, "after=100", batch=batch)) == []

    new = json.loads(typed(base, '/retry -H "Authorization: Bearer $KEY"', batch=batch))
    assert new["metadata"] == {"retry_of": batch}
    assert client.finish(new["id"], 60)["request_counts"] == {"total": 2, "completed": 2, "failed": 0}
    refused = json.loads(typed(base, "/retry", "only", batch=new["id"]))
    assert refused["error"]["code"] == "batch_not_retryable"


def test_the_sdk_reads_batches_with_keys_of_our_own(server: Hornada) -> None:
    client = Client(server.base, KEY)
    batch = client.submit(lines("sdk"))
    client.finish(batch, 60)
    with openai.OpenAI(base_url=server.base, api_key=KEY, _strict_response_validation=True, max_retries=0) as sdk:
        found = sdk.batches.retrieve(batch)
        assert found.status == "completed"
        assert (found.model_extra or {})["hornada"]["errors_by_code"] == {"odd_word": 2}
        answer = sdk.post(f"/batches/{batch}/retry", body={"only": ["odd_word"]}, cast_to=type(found))
        assert answer.metadata == {"retry_of": batch}


def test_a_head_of_results_has_no_body_and_a_reader_who_leaves_is_forgotten(server: Hornada, backend: Client) -> None:
    client = Client(server.base, KEY)
    batch = client.submit(lines("head", free=0))
    address = f"{server.base}/batches/{batch}"
    head = subprocess.run(
        ["curl", "-sI", f"{address}/results", "-H", f"Authorization: Bearer {KEY}"], capture_output=True, check=True
    )
    assert head.stdout.startswith(b"HTTP/1.1 200")
    command = ["curl", "-sN", "--max-time", "1", f"{address}/events", "-H", f"Authorization: Bearer {KEY}"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 28
    let_go(backend, "head")
    client.finish(batch, 60)


def test_open_streams_do_not_keep_a_server_from_stopping(upstream: str, tmp_path: Path) -> None:
    with Hornada(tmp_path, config(upstream)) as server:
        server.start()
        batch = server.client.submit(lines("stop", free=0))
        command = ["curl", "-sN", f"{server.base}/batches/{batch}/events", "-H", f"Authorization: Bearer {KEY}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as stream:
            assert stream.stdout is not None
            while b"in_progress" not in stream.stdout.readline():
                pass
            server.client.call("POST", f"/batches/{batch}/cancel")
            server.running.send(signal.SIGTERM)
            stream.stdout.read()
            assert stream.wait(60) == 0
            assert server.running.exit_code is None, "it still waits for its calls"
        server.running.send(signal.SIGTERM)
        assert server.terminate(60) == 0
