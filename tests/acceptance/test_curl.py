"""InferNode's guide, step by step with curl, and the headers that it names."""

import hashlib
import json
import subprocess
import time
from email.parser import BytesParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench.client import TERMINAL
from bench.hornada import KEY, Hornada
from tests.acceptance.conftest import MODEL

AUTHORIZED = ("-H", f"Authorization: Bearer {KEY}")
JSON = ("-H", "Content-Type: application/json")
PATIENCE_S = 60


class Reply(NamedTuple):
    """What curl showed; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def curl(*arguments: str) -> Reply:
    """Runs curl and takes its answer apart; interim answers are skipped."""
    run = subprocess.run(["curl", "-sS", "-D", "-", *arguments], capture_output=True, timeout=120, check=True)
    head, _, body = run.stdout.partition(b"\r\n\r\n")
    while head.startswith(b"HTTP/1.1 100"):
        head, _, body = body.partition(b"\r\n\r\n")
    status, _, fields = head.partition(b"\r\n")
    headers = {name.lower(): value for name, value in BytesParser().parsebytes(fields).items()}
    return Reply(int(status.split()[1]), headers, body)


def asked(content: str) -> str:
    """One input line as the guide shows it, the model named by its alias."""
    body = {"model": "Saptiva Turbo", "messages": [{"role": "user", "content": content}], "max_tokens": 8}
    line = {"custom_id": content, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(line, ensure_ascii=False) + "\n"


@pytest.fixture(scope="module")
def base(server: Hornada) -> str:
    """The guide's base address."""
    return f"http://127.0.0.1:{server.port}/infernode/v1"


def upload(base: str, path: Path) -> Reply:
    return curl(f"{base}/files", *AUTHORIZED, "-F", "purpose=batch", "-F", f"file=@{path}")


def finished(base: str, batch_id: str) -> Any:
    end = time.monotonic() + PATIENCE_S
    while (batch := curl(f"{base}/batches/{batch_id}", *AUTHORIZED).json)["status"] not in TERMINAL:
        assert time.monotonic() < end, batch
        time.sleep(0.2)
    return batch


def test_the_four_steps(base: str, tmp_path: Path) -> None:
    path = tmp_path / "entrada.jsonl"
    path.write_text("".join(asked(f"¿Qué área firma el documento {n}?") for n in range(3)), "utf-8")
    file = upload(base, path)
    assert file.status == 200
    assert file.json["id"].startswith("file-")
    again = upload(base, path)
    assert again.json["id"] == file.json["id"]
    assert again.headers["x-saptiva-deduplicated-from"] == file.json["id"]

    order = {"input_file_id": file.json["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    created = curl(f"{base}/batches", *AUTHORIZED, *JSON, "-d", json.dumps(order))
    assert created.json["status"] == "validating"
    assert created.json["id"].startswith("batch_")
    batch = finished(base, created.json["id"])
    assert batch["status"] == "completed"
    assert batch["request_counts"] == {"total": 3, "completed": 3, "failed": 0}

    results = curl(f"{base}/files/{batch['output_file_id']}/content", *AUTHORIZED)
    assert [json.loads(row)["response"]["status_code"] for row in results.body.splitlines()] == [200] * 3
    assert results.headers["x-saptiva-content-sha256"] == hashlib.sha256(results.body).hexdigest()
    balance = curl(f"{base}/billing/balance", *AUTHORIZED)
    assert balance.json["last_event"]["endpoint"] == "/v1/chat/completions:batch"
    assert results.headers["content-length"] == str(len(results.body))

    late = curl("-X", "POST", f"{base}/batches/{batch['id']}/cancel", *AUTHORIZED)
    assert (late.status, late.json["error"]["code"]) == (400, "batch_not_cancellable")
    stranger = curl(f"{base}/batches/{batch['id']}")
    assert (stranger.status, stranger.json["error"]["code"]) == (401, "invalid_api_key")


def test_the_aliases_are_listed(base: str) -> None:
    found = curl(f"{base}/models/aliases", *AUTHORIZED).json
    assert found["object"] == "list"
    assert [(entry["id"], entry["model"]) for entry in found["data"]] == [("Saptiva Turbo", MODEL)]


def test_every_answer_carries_its_request_id(base: str) -> None:
    refused = curl(f"{base}/files/file-none", *AUTHORIZED)
    assert refused.status == 404
    assert refused.headers["x-request-id"] == refused.json["error"]["request_id"]
    assert curl(f"{base}/models", *AUTHORIZED).headers["x-request-id"]
