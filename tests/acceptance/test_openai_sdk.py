"""The official openai SDK: the whole life of files and batches, paging, typed errors, regular calls."""

import io
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest
from openai.types import Batch, FileObject

from bench.client import TERMINAL
from bench.hornada import KEY, Hornada
from tests.acceptance.conftest import MODEL

ENDPOINT = "/v1/chat/completions"
PATIENCE_S = 60
Line = dict[str, Any]


@pytest.fixture
def client(server: Hornada) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base, api_key=KEY, max_retries=2, timeout=60) as found:
        yield found


def line(number: int, ask: str = "Say a colour.", **body: Any) -> Line:
    message = {"role": "user", "content": ask}
    content = {"model": MODEL, "messages": [message], "max_tokens": 8, **body}
    return {"custom_id": f"req-{number}", "method": "POST", "url": ENDPOINT, "body": content}


def jsonl(lines: list[Line]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in lines)


def upload(client: openai.OpenAI, lines: list[Line]) -> FileObject:
    return client.files.create(file=("in.jsonl", io.BytesIO(jsonl(lines)), "application/jsonl"), purpose="batch")


def create(client: openai.OpenAI, file_id: str, **more: Any) -> Batch:
    asked: Any = {"input_file_id": file_id, "endpoint": ENDPOINT, "completion_window": "24h", **more}
    return client.batches.create(**asked)


def finished(client: openai.OpenAI, batch: Batch) -> Batch:
    end = time.monotonic() + PATIENCE_S
    while batch.status not in TERMINAL:
        assert time.monotonic() < end, f"still {batch.status} {batch.request_counts}"
        time.sleep(0.1)
        batch = client.batches.retrieve(batch.id)
    return batch


def run(client: openai.OpenAI, lines: list[Line], **more: Any) -> Batch:
    return finished(client, create(client, upload(client, lines).id, **more))


def rows(client: openai.OpenAI, file_id: str | None) -> list[dict[str, Any]]:
    return [json.loads(row) for row in client.files.content(file_id).text.splitlines()] if file_id else []


def test_a_regular_call_answers_with_usage(client: openai.OpenAI) -> None:
    assert MODEL in [model.id for model in client.models.list()]
    answer = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "Say a colour."}], max_tokens=8
    )
    assert answer.usage is not None
    assert answer.usage.total_tokens > 0


def test_a_streamed_call_ends_with_usage(client: openai.OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": "Say a colour."}],
            max_tokens=8,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert len(chunks) > 1
    assert any(chunk.usage for chunk in chunks)


def test_twelve_lines_come_back_whole(client: openai.OpenAI) -> None:
    lines = [line(number, f"Question {number}: say a colour.") for number in range(12)]
    file = upload(client, lines)
    assert (file.object, file.purpose, file.bytes) == ("file", "batch", len(jsonl(lines)))
    assert client.files.retrieve(file.id).filename == "in.jsonl"
    assert client.files.content(file.id).read() == jsonl(lines)
    fresh = create(client, file.id, metadata={"suite": "openai-python"})
    assert fresh.status == "validating"
    batch = finished(client, fresh)
    counts = batch.request_counts
    assert batch.status == "completed"
    assert counts is not None
    assert (counts.total, counts.completed, counts.failed) == (12, 12, 0)
    assert batch.metadata == {"suite": "openai-python"}
    assert isinstance(batch.created_at, int)
    assert isinstance(batch.completed_at, int)
    assert batch.error_file_id is None
    output = rows(client, batch.output_file_id)
    assert [row["custom_id"] for row in output] == [entry["custom_id"] for entry in lines]
    for row in output:
        assert row["error"] is None
        assert row["response"]["status_code"] == 200
        assert row["response"]["request_id"]
        assert row["response"]["body"]["choices"]
    assert client.files.retrieve(str(batch.output_file_id)).purpose == "batch_output"


def test_a_deleted_file_is_gone(client: openai.OpenAI) -> None:
    file = upload(client, [line(0, "To be deleted.")])
    gone = client.files.delete(file.id)
    assert (gone.deleted, gone.id) == (True, file.id)
    refused(openai.NotFoundError, lambda: client.files.retrieve(file.id))


def test_a_batch_still_names_a_result_file_that_was_deleted(client: openai.OpenAI) -> None:
    batch = run(client, [line(0, "To be forgotten.")])
    output = str(batch.output_file_id)
    assert client.files.delete(output).deleted
    assert client.batches.retrieve(batch.id).output_file_id == output
    refused(openai.NotFoundError, lambda: client.files.content(output))


def test_a_line_that_the_model_refuses_goes_to_the_error_file(client: openai.OpenAI) -> None:
    batch = run(client, [line(0), line(1, max_tokens="many"), line(2)])
    good, bad = rows(client, batch.output_file_id), rows(client, batch.error_file_id)
    assert batch.status == "completed"
    assert [row["custom_id"] for row in good] == ["req-0", "req-2"]
    assert [row["custom_id"] for row in bad] == ["req-1"]
    assert bad[0]["response"]["status_code"] == 400
    assert bad[0]["response"]["body"]["error"]["message"]


@pytest.mark.parametrize(
    ("second", "code"),
    [
        (line(0), "duplicate_custom_id"),
        ({**line(1), "url": "/v1/embeddings"}, "url_mismatch"),
        (line(1, stream=True), "stream_not_supported"),
    ],
    ids=["duplicate", "other endpoint", "stream"],
)
def test_a_fault_of_the_file_fails_the_batch_and_names_the_line(client: openai.OpenAI, second: Line, code: str) -> None:
    batch = run(client, [line(0), second])
    assert batch.status == "failed"
    assert batch.errors is not None
    assert [(entry.line, entry.code, bool(entry.message)) for entry in batch.errors.data or []] == [(2, code, True)]


def test_embeddings_come_by_batch_and_by_call(client: openai.OpenAI) -> None:
    body = {"model": MODEL, "input": ["one", "two"]}
    lines = [{"custom_id": f"e-{n}", "method": "POST", "url": "/v1/embeddings", "body": body} for n in range(3)]
    batch = run(client, lines, endpoint="/v1/embeddings")
    output = rows(client, batch.output_file_id)
    assert [len(row["response"]["body"]["data"]) for row in output] == [2, 2, 2]
    answer = client.embeddings.create(model=MODEL, input="hello")
    assert len(answer.data[0].embedding) > 1


def test_lists_page_without_repeating(client: openai.OpenAI) -> None:
    made = [create(client, upload(client, [line(number, f"Page {number}.")]).id).id for number in range(3)]
    page = client.batches.list(limit=1)
    assert (len(page.data), page.has_more) == (1, True)
    seen = [batch.id for batch in client.batches.list(limit=2)]
    assert seen[:3] == made[::-1]
    assert len(seen) == len(set(seen))
    assert all(file.purpose == "batch" for file in client.files.list(purpose="batch", limit=3).data)


def test_a_cancelled_batch_ends_cancelled_and_cannot_be_cancelled_again(client: openai.OpenAI) -> None:
    lines = [line(number, f"Write a long story, part {number}.", max_tokens=64) for number in range(200)]
    batch = client.batches.cancel(create(client, upload(client, lines).id).id)
    assert batch.status in ("cancelling", "cancelled")
    batch = finished(client, batch)
    assert batch.status == "cancelled"
    assert len(rows(client, batch.output_file_id) + rows(client, batch.error_file_id)) == 200
    refused(openai.BadRequestError, lambda: client.batches.cancel(batch.id))


def refused(kind: type[openai.APIStatusError], call: Callable[[], object]) -> None:
    """The SDK raises one class an HTTP status and shows the message."""
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["message"]
    assert caught.value.request_id


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (openai.NotFoundError, {"file_id": "file-none"}),
        (openai.BadRequestError, {"completion_window": "1h"}),
        (openai.BadRequestError, {"endpoint": "/v1/nothing"}),
    ],
    ids=["unknown file", "window", "endpoint"],
)
def test_a_bad_create_is_refused(client: openai.OpenAI, kind: type[openai.APIStatusError], asked: Line) -> None:
    file_id = upload(client, [line(0)]).id
    refused(kind, lambda: create(client, **{"file_id": file_id, **asked}))


def test_what_is_not_there_is_not_found(client: openai.OpenAI) -> None:
    refused(openai.NotFoundError, lambda: client.batches.retrieve("batch_none"))
    refused(openai.NotFoundError, lambda: client.files.retrieve("file-none"))


def test_a_wrong_key_is_refused(server: Hornada) -> None:
    with openai.OpenAI(base_url=server.base, api_key="sk-wrong", max_retries=0) as stranger:
        refused(openai.AuthenticationError, stranger.models.list)
