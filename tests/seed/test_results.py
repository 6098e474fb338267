"""The results: two files, one line for every line of the input."""

import hashlib
import json
import re
import time

import pytest

from bench.hornada import table
from tests.object_store import ObjectStore
from tests.seed.conftest import At, Serve
from tests.seed.guide import ONCE, PATIENCE_S, POLL_S, Guide, chat, jsonl, mark, refused, several

MONTH_S = 30 * 86_400


def test_in_57_a_line_of_the_output_has_its_identifier_and_its_response(guide: Guide) -> None:
    ended = guide.run(jsonl(*several(3)))
    assert [list(row) for row in ended.output] == [["id", "custom_id", "response", "error"]] * 3
    for n, row in enumerate(ended.output):
        assert re.fullmatch(r"batch_req_[0-9a-z]+", row["id"])
        assert (row["custom_id"], row["error"]) == (f"doc-{n}", None)
        assert list(row["response"]) == ["status_code", "request_id", "body"]
        assert type(row["response"]["status_code"]) is int
        assert row["response"]["status_code"] == 200
        assert row["response"]["body"]["choices"][0]["message"]["role"] == "assistant"
    assert len({row["id"] for row in ended.output}) == 3


def test_in_58_every_response_has_a_request_id(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(chat("a", text), refused("b", text)))
    ids = [row["response"]["request_id"] for row in (*ended.output, *ended.error)]
    assert all(re.fullmatch(r"req_[0-9a-z]+", found) for found in ids)
    assert len(set(ids)) == 2


def test_in_59_the_output_holds_successes_only(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(refused("a", text), chat("b", text), refused("c", text, 422)))
    assert [row["response"]["status_code"] for row in ended.output] == [200]
    assert [row["response"]["status_code"] for row in ended.error] == [400, 422]


def test_in_60_the_errors_file_is_there_only_if_a_line_failed(guide: Guide) -> None:
    batch = guide.run(jsonl(*several(2))).batch
    assert (batch["status"], batch["error_file_id"]) == ("completed", None)
    listed = guide.call("GET", "/files?purpose=batch_output").json["data"]
    assert [file["id"] for file in listed if batch["id"] in file["filename"]] == [batch["output_file_id"]]


@pytest.mark.parametrize("status", [400, 404, 422, 451])
def test_in_61_a_refused_line_keeps_the_code_and_body_of_the_regular_call(guide: Guide, status: int) -> None:
    line = refused("a", mark(), status)
    row = guide.run(jsonl(line)).error[0]
    called = guide.call("POST", "/chat/completions", line["body"])
    assert (row["response"]["status_code"], row["error"], called.status) == (status, None, status)
    assert called.json["error"].pop("request_id")
    assert row["response"]["body"] == called.json
    assert called.code == "context_length_exceeded"


@pytest.mark.parametrize(
    "raw",
    [
        '{"object": "error", "message": "too long", "type": "BadRequestError", "param": null, "code": 400}',
        '{"error": {"message": "too long", "code": 400}}',
        '{"error": "too long"}',
        '{"detail": [{"loc": ["body"], "msg": "too\\u2028long"}]}',
        "<html>too long</html>",
        "",
    ],
    ids=["vLLM", "llama.cpp", "TGI", "FastAPI", "a page", "nothing"],
)
def test_in_61_its_cause_is_read_like_that_of_a_call_whatever_the_server_speaks(guide: Guide, raw: str) -> None:
    line = chat("a", f"{mark()} @@{json.dumps({'status': 400, 'raw': raw})}")
    ended = guide.run(jsonl(line))
    called = guide.call("POST", "/chat/completions", line["body"])
    assert called.json["error"].pop("request_id")
    assert set(called.json["error"]) == {"message", "type", "param", "code"}
    (response,) = (row["response"] for row in ended.error)
    assert (response["status_code"], called.status) == (400, 400)
    assert response["body"] == called.json


@ONCE
def test_in_62_a_line_that_the_model_server_keeps_failing_on_ends_too(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(chat("a", text), chat("b", text + ' @@{"status": 500}'), chat("c", text)))
    assert ended.batch["status"] == "completed"
    assert [row["custom_id"] for row in ended.output] == ["a", "c"]
    assert [(row["custom_id"], row["response"]["status_code"]) for row in ended.error] == [("b", 500)]
    assert guide.calls(text + " @@") == 4


@ONCE
def test_in_62_a_line_that_is_never_answered_ends_too(serve: Serve, at: At) -> None:
    guide, text = at(serve(upstream_timeout_s=1)), mark()
    ended = guide.run(jsonl(chat("a", text), chat("b", text + ' @@{"hang": 30}'), chat("c", text)))
    assert ended.batch["status"] == "completed"
    assert [row["custom_id"] for row in ended.output] == ["a", "c"]
    (row,) = ended.error
    assert (row["custom_id"], row["response"]["status_code"], row["error"]) == ("b", 504, None)
    assert row["response"]["body"]["error"]["code"] == "upstream_timeout"


def test_in_63_a_line_stopped_by_the_batch_has_an_empty_response_and_its_cause(guide: Guide) -> None:
    with guide.held() as batch:
        guide.cancel(batch)
    ended = guide.end(batch)
    assert ended.error
    for row in ended.error:
        assert list(row) == ["id", "custom_id", "response", "error"]
        assert row["response"] is None
        assert (set(row["error"]), row["error"]["code"]) == ({"code", "message"}, "batch_cancelled")
        assert "cancelled" in row["error"]["message"]


def test_in_64_the_two_files_together_are_the_input(guide: Guide) -> None:
    text = mark()
    lines = [refused(f"doc-{n}", text) if n % 3 else chat(f"doc-{n}", f"{text} {n}") for n in range(30)]
    ended = guide.run(jsonl(*lines))
    for rows, good in ((ended.output, True), (ended.error, False)):
        assert [row["custom_id"] for row in rows] == [f"doc-{n}" for n in range(30) if (n % 3 == 0) is good]
    assert ended.batch["request_counts"] == {"total": 30, "completed": 10, "failed": 20}


def test_in_64_of_a_cancelled_batch_too(guide: Guide) -> None:
    with guide.held(40, free=4) as batch:
        guide.cancel(batch)
    ended = guide.end(batch)
    found = [row["custom_id"] for row in (*ended.output, *ended.error)]
    assert sorted(found) == sorted(f"doc-{n}" for n in range(40))
    assert len({row["id"] for row in (*ended.output, *ended.error)}) == 40


def test_in_65_and_66_every_file_carries_its_date_thirty_days_from_its_creation(guide: Guide) -> None:
    text = mark()
    batch = guide.run(jsonl(chat("a", text), refused("b", text))).batch
    for name in ("input_file_id", "output_file_id", "error_file_id"):
        file = guide.call("GET", f"/files/{batch[name]}").json
        assert file["expires_at"] - file["created_at"] == MONTH_S
        assert file["purpose"] == ("batch" if name == "input_file_id" else "batch_output")
        assert (type(file["expires_at"]), type(file["created_at"])) == (int, int)
        assert file in guide.call("GET", "/files").json["data"]


def test_in_67_an_expired_file_is_gone(serve: Serve, at: At) -> None:
    server = serve(file_lifetime_s=1)
    guide = at(server)
    data = jsonl(*several(2))
    file = guide.upload(data)
    assert file["expires_at"] == file["created_at"] + 1
    end = time.monotonic() + 20
    while (answer := guide.call("GET", f"/files/{file['id']}")).status == 200:
        assert time.monotonic() < end
        time.sleep(0.05)
    content = guide.call("GET", f"/files/{file['id']}/content")
    deleted = guide.call("DELETE", f"/files/{file['id']}")
    created = guide.client.create(file["id"])
    for refusal in (answer, content, deleted, created):
        assert (refusal.status, refusal.code) == (404, "file_not_found")
    assert guide.call("GET", "/files").json["data"] == []
    assert guide.upload(data)["id"] != file["id"]


@ONCE
def test_in_67_so_are_expired_results(serve: Serve, at: At) -> None:
    guide, text = at(serve(file_lifetime_s=2)), mark()
    with guide.held(2, word=text) as batch:
        expires = guide.call("GET", f"/files/{batch['input_file_id']}").json["expires_at"]
        while time.time() <= expires:
            time.sleep(POLL_S)
        assert guide.client.content(batch["input_file_id"]), "the input of a live batch does not expire"
    ended = guide.client.finish(batch["id"], PATIENCE_S, POLL_S)
    assert (ended["status"], ended["request_counts"]["completed"]) == ("completed", 2)
    end = time.monotonic() + 20
    while (answer := guide.call("GET", f"/files/{ended['output_file_id']}/content")).status == 200:
        assert time.monotonic() < end
        time.sleep(POLL_S)
    assert (answer.status, answer.code) == (404, "file_not_found")
    assert guide.call("GET", f"/files/{ended['input_file_id']}").status == 404
    assert guide.check(batch) == ended


@ONCE
def test_in_68_and_69_with_a_bucket_behind_it_too(serve: Serve, at: At, object_store: ObjectStore) -> None:
    guide, text = at(serve(more=table("[storage]", {"blobs": object_store.url()}))), mark()
    data = jsonl(chat("a", text), refused("b", text))
    ended = guide.run(data)
    for name in ("input_file_id", "output_file_id", "error_file_id"):
        file = guide.call("GET", f"/files/{ended.batch[name]}").json
        answer = guide.call("GET", f"/files/{file['id']}/content")
        assert (answer.status, len(answer.body), "location" in answer.headers) == (200, file["bytes"], False)
        assert answer.headers["x-saptiva-content-sha256"] == hashlib.sha256(answer.body).hexdigest()
    assert guide.client.content(ended.batch["input_file_id"]) == data


def test_in_68_content_is_the_only_way_to_a_file_and_answers_the_bytes(guide: Guide) -> None:
    text = mark()
    data = jsonl(chat("a", text), refused("b", text))
    ended = guide.run(data)
    for name in ("input_file_id", "output_file_id", "error_file_id"):
        file = guide.call("GET", f"/files/{ended.batch[name]}").json
        assert not [key for key in (*file, *ended.batch) if "url" in key or "link" in key]
        answer = guide.call("GET", f"/files/{file['id']}/content")
        assert (answer.status, len(answer.body)) == (200, file["bytes"])
        assert "location" not in answer.headers
    assert guide.client.content(ended.batch["input_file_id"]) == data


def test_in_69_a_header_has_the_sha256_of_what_was_downloaded(guide: Guide) -> None:
    text = mark()
    batch = guide.run(jsonl(chat("a", text), refused("b", text))).batch
    for name in ("input_file_id", "output_file_id", "error_file_id"):
        path = f"/files/{batch[name]}/content"
        answer = guide.call("GET", path)
        digest = hashlib.sha256(answer.body).hexdigest()
        assert (answer.status, answer.headers["x-saptiva-content-sha256"]) == (200, digest)
        part = guide.call("GET", path, headers={"Range": "bytes=1-5"})
        assert (part.status, part.body, part.headers["x-saptiva-content-sha256"]) == (206, answer.body[1:6], digest)
        head = guide.call("HEAD", path)
        assert (head.status, head.body, head.headers["x-saptiva-content-sha256"]) == (200, b"", digest)
