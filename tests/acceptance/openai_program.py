"""What openai-python's users do, in one go, in whatever version runs it: BASE KEY MODEL.

Prints one line of JSON: the version, how many checks there were, and those that failed.
"""

import io
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai

BASE, KEY, MODEL = sys.argv[1:4]
ENDPOINT = "/v1/chat/completions"
STRICT = not BASE.endswith("/openai/v1")  # Novita's batches are not what OpenAI's types say

client: Any = openai.OpenAI(base_url=BASE, api_key=KEY, max_retries=0, _strict_response_validation=STRICT)
failures: list[str] = []
checks: list[str] = []


def check(name: str, ok: object, seen: object = "") -> None:
    """Counts, and notes what is not so."""
    checks.append(name)
    if not ok:
        failures.append(f"{name}: {str(seen)[:300]}")


@contextmanager
def section(name: str) -> Iterator[None]:
    """A few checks; whatever is raised fails them."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - told, not hidden
        check(name, ok=False, seen=repr(error))


def raises(name: str, kind: type[openai.APIStatusError], call: Callable[[], object]) -> None:
    """Counts a refusal."""
    try:
        check(name, ok=False, seen=call())
    except kind as error:
        check(name, error.request_id and isinstance(error.body, dict) and error.body["message"], error)


def line(custom_id: str, **more: object) -> dict[str, Any]:
    """A request of its own."""
    messages = [{"role": "user", "content": f"{uuid.uuid4()} {custom_id}"}]
    body = {"model": MODEL, "messages": messages, "max_tokens": 8, **more}
    return {"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body}


def jsonl(*lines: dict[str, Any]) -> bytes:
    """A file."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


def create(data: bytes, **more: object) -> Any:
    """A batch of a file."""
    file = client.files.create(file=("in.jsonl", data), purpose="batch")
    return client.batches.create(input_file_id=file.id, endpoint=ENDPOINT, completion_window="24h", **more)


def finished(batch: Any) -> Any:
    """The batch at its end."""
    while batch.status not in {"completed", "failed", "expired", "cancelled"}:
        time.sleep(0.1)
        batch = client.batches.retrieve(batch.id)
    return batch


def rows(file_id: str) -> list[dict[str, Any]]:
    """The lines of a result file."""
    return [json.loads(row) for row in client.files.content(file_id).text.splitlines()]


with section("life"):
    batch = finished(create(jsonl(line("a"), line("b"), line("bad", max_tokens="many")), metadata={"suite": "python"}))
    counts = batch.request_counts
    check("completed", (batch.status, counts.total, counts.completed, counts.failed) == ("completed", 3, 2, 1), batch)
    check("metadata", batch.metadata == {"suite": "python"}, batch)
    check("output", [row["custom_id"] for row in rows(batch.output_file_id)] == ["a", "b"])
    check("error", [row["response"]["status_code"] for row in rows(batch.error_file_id)] == [400])
    check("gone", client.files.delete(batch.input_file_id).deleted)
    raises("deleted", openai.NotFoundError, lambda: client.files.retrieve(batch.input_file_id))

with section("ways to upload"), tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "año 1.jsonl"
    for name in ("path", "handle", "bytes", "buffer", "named", "no name"):
        path.write_bytes(jsonl(line(name)))
        with path.open("rb") as handle:
            sources: dict[str, Any] = {
                "path": path,
                "handle": handle,
                "bytes": path.read_bytes(),
                "buffer": io.BytesIO(path.read_bytes()),
                "named": ("x.jsonl", path.read_bytes(), "text/plain"),
                "no name": (None, path.read_bytes()),
            }
            file = client.files.create(file=sources[name], purpose="batch")
        check(name, client.files.wait_for_processing(file.id).status == "processed", file)
        check(f"{name}, back", client.files.content(file.id).read() == path.read_bytes(), file)
    raises("empty", openai.BadRequestError, lambda: client.files.create(file=("e.jsonl", b""), purpose="batch"))
    raises("purpose", openai.BadRequestError, lambda: client.files.create(file=path, purpose="vision"))
    with path.open("rb") as handle:
        done = client.uploads.upload_file_chunked(
            file=path, mime_type="application/jsonl", purpose="batch", part_size=50
        )
    check("in parts", done.status == "completed" and done.file.bytes == path.stat().st_size, done)

with section("lists"):
    made = [create(jsonl(line(f"p-{number}"))).id for number in range(3)]
    seen = [each.id for each in client.batches.list(limit=2)]
    check("batches", seen[:3] == made[::-1] and len(set(seen)) == len(seen), seen)
    files = [each.id for each in client.files.list(limit=3)]
    check("files", len(files) > 8 and len(set(files)) == len(files), files)
    check("models", MODEL in [each.id for each in client.models.list()] and client.models.retrieve(MODEL).id == MODEL)

with section("cancel"):
    batch = client.batches.cancel(create(jsonl(*(line(f"c-{number}", max_tokens=64) for number in range(200)))).id)
    check("cancelling", batch.status in {"cancelling", "cancelled"}, batch)
    check("cancelled", finished(batch).status == "cancelled", batch)
    raises("again", openai.BadRequestError, lambda: client.batches.cancel(batch.id))

with section("refusals"):
    raises("unknown batch", openai.NotFoundError, lambda: client.batches.retrieve("batch_none"))
    raises("key", openai.AuthenticationError, client.with_options(api_key="sk-wrong").models.list)
    file = client.files.create(file=("in.jsonl", jsonl(line("w"))), purpose="batch")
    wanted = {"input_file_id": file.id, "endpoint": ENDPOINT, "completion_window": "1h"}
    raises("window", openai.BadRequestError, lambda: client.batches.create(**wanted))

with section("regular calls"):
    client = openai.OpenAI(
        base_url=BASE, api_key=KEY, max_retries=0
    )  # what the model server says is passed on as it is
    asked = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
    check("answer", client.chat.completions.create(**asked).usage.total_tokens > 0)
    check("stream", len(list(client.chat.completions.create(**asked, stream=True))) > 1)
    check("vectors", len(client.embeddings.create(model=MODEL, input=["a", "b"]).data) == 2)

print(json.dumps({"version": openai.__version__, "checks": len(checks), "failures": failures}))
