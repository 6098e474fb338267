"""The four steps: upload, create, check, download; the same thing twice; the SDK."""

import json
import re
import time
from pathlib import Path

import openai
import pytest

from bench.client import TERMINAL, Client
from bench.hornada import KEY, Hornada
from tests.seed.conftest import At, Serve
from tests.seed.guide import BASES, CHAT, ONCE, Guide, chat, jsonl, mark, refused, several

DEDUPLICATED = "x-saptiva-deduplicated-from"


def test_in_28_both_base_paths_lead_to_the_same(server: Hornada, guide: Guide) -> None:
    others = [Guide(Client(f"http://127.0.0.1:{server.port}{base}", KEY), guide.backend) for base in BASES]
    data = jsonl(*several(1))
    file = guide.upload(data)
    for other in others:
        assert other.upload(data)["id"] == file["id"]
        ended = other.end(other.create(file["id"]))
        assert ended.answered(1)
        for path in (f"/batches/{ended.batch['id']}", f"/files/{ended.batch['output_file_id']}", "/models"):
            assert guide.call("GET", path).json == other.call("GET", path).json
        assert guide.rows(ended.batch["output_file_id"]) == ended.output
        with guide.held(4) as batch:
            assert other.create(batch["input_file_id"])["id"] == batch["id"]
            assert other.cancel(batch).json["status"] == "cancelling"
        guide.end(batch)


def test_in_29_an_upload_answers_a_file(guide: Guide) -> None:
    data = jsonl(*several(2))
    before = int(time.time())
    file = guide.upload(data, filename="entrada.jsonl")
    assert re.fullmatch(r"file-[0-9a-z]+", file["id"])
    assert before <= file["created_at"] <= time.time() + 1
    assert file == {
        **{name: file[name] for name in ("id", "created_at")},
        "object": "file",
        "bytes": len(data),
        "filename": "entrada.jsonl",
        "purpose": "batch",
        "status": "processed",
        "expires_at": file["created_at"] + 30 * 86_400,
        "metadata": {"total_requests": 2},
    }
    assert guide.call("GET", f"/files/{file['id']}").json == file
    assert guide.client.content(file["id"]) == data


def test_in_30_a_create_answers_a_batch_that_is_validating(guide: Guide) -> None:
    file = guide.upload(jsonl(*several(1)))["id"]
    batch = guide.create(file)
    assert re.fullmatch(r"batch_[0-9a-z]+", batch["id"])
    told = {"object": "batch", "status": "validating", "input_file_id": file, "endpoint": CHAT}
    assert {name: batch[name] for name in told} == told
    assert batch["expires_at"] == batch["created_at"] + 86_400
    assert batch["request_counts"] == {"total": 0, "completed": 0, "failed": 0}
    unset = {"errors", "output_file_id", "error_file_id", "metadata", "usage"}
    unset |= {f"{stage}_at" for stage in (*TERMINAL, "in_progress", "finalizing", "cancelling")}
    assert {name: batch[name] for name in unset} == dict.fromkeys(unset)


def test_in_31_a_batch_comes_to_an_end_and_stays_there(guide: Guide) -> None:
    ended = guide.run(jsonl(*several(1)))
    assert ended.batch["status"] == "completed"
    assert guide.check(ended.batch) == ended.batch


def test_in_32_the_output_file_id_leads_to_the_results(guide: Guide) -> None:
    ended = guide.run(jsonl(*several(2)))
    answer = guide.call("GET", f"/files/{ended.batch['output_file_id']}/content")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/jsonl; charset=utf-8"
    assert answer.headers["content-length"] == str(len(answer.body))
    assert answer.body.endswith(b"}\n")
    assert [json.loads(row) for row in answer.body.splitlines()] == ended.output
    assert ended.answered(2)


@pytest.mark.parametrize(
    ("window", "code"),
    [
        *((window, "invalid_value") for window in ("1h", "48h", "", "24H", " 24h", "24h\n", "1d", "86400")),
        *((window, "invalid_type") for window in (24, None, ["24h"], True)),
        (..., "missing_required_parameter"),
    ],
)
def test_in_33_the_window_is_24h_only(guide: Guide, window: object, code: str) -> None:
    file = guide.upload(jsonl(*several(1)))
    body = {"input_file_id": file["id"], "endpoint": CHAT, **({} if window is ... else {"completion_window": window})}
    answer = guide.call("POST", "/batches", body)
    assert (answer.status, answer.code, answer.json["error"]["param"]) == (400, code, "completion_window")
    if code == "invalid_value":
        assert f"'{window}'" in answer.json["error"]["message"]
        assert "'24h'" in answer.json["error"]["message"]
    assert file["id"] not in [found["input_file_id"] for found in guide.call("GET", "/batches").json["data"]]


def test_in_34_the_window_is_stored(guide: Guide) -> None:
    batch = guide.start(jsonl(*several(1)))
    assert (batch["completion_window"], guide.end(batch).batch["completion_window"]) == ("24h", "24h")


def test_in_35_a_batch_advances_at_the_pace_of_free_capacity(guide: Guide) -> None:
    with guide.held(6, free=3, model="m-share") as seen:
        assert (seen["status"], seen["request_counts"]["completed"]) == ("in_progress", 3)
    assert len(guide.end(seen).output) == 6


@ONCE
def test_in_36_free_capacity_is_shared(guide: Guide) -> None:
    guide.backend.call("POST", "/__reset", b"")
    words = [mark() for _ in range(20)]
    texts = [f'{word} @@{{"hold": "{word}"}}' for word in words]
    first = guide.start(jsonl(*(chat(f"doc-{n}", text, model="m-share") for n, text in enumerate(texts))))
    second = guide.start(jsonl(*(chat(f"doc-{n}", mark(), model="m-share") for n in range(20))))
    guide.until(second, lambda seen: seen["status"] == "in_progress")
    counts = [0, 0]
    for done, word in enumerate(words):
        guide.backend.call("POST", "/__open", word.encode())
        if counts[1] == 0:
            guide.until(first, lambda seen: seen["request_counts"]["completed"] > done)  # noqa: B023
            counts = [guide.check(batch)["request_counts"]["completed"] for batch in (first, second)]
    assert [0 < count < 20 for count in counts] == [True, True], counts
    assert [len(guide.end(batch).output) for batch in (first, second)] == [20, 20]
    assert guide.backend.call("GET", "/__stats").json["peak"] <= 2


def test_in_37_the_same_content_again_is_the_earlier_file(guide: Guide) -> None:
    data = jsonl(*several(1))
    first, again = guide.upload(data), guide.upload(data, filename="other.jsonl")
    assert (again["id"], again["filename"]) == (first["id"], "input.jsonl")
    listed = [found["id"] for found in guide.call("GET", "/files").json["data"]]
    assert listed.count(first["id"]) == 1
    assert guide.upload(data + b"\n")["id"] != first["id"]
    assert guide.call("DELETE", f"/files/{first['id']}").status == 200
    assert guide.upload(data)["id"] != first["id"]


def test_in_37_the_same_content_is_counted_once(serve: Serve, at: At) -> None:
    data, more = jsonl(*several(3)), jsonl(*several(1))
    guide = at(serve(plan={"storage_bytes": len(data) + len(more)}))
    assert len({guide.upload(data)["id"] for _ in range(3)}) == 1
    assert guide.upload(more)["bytes"] == len(more)
    assert guide.client.upload(b"{}\n").code == "storage_quota_exceeded"


def test_in_38_a_header_names_the_earlier_file(guide: Guide) -> None:
    data = jsonl(*several(1))
    first, again = guide.client.upload(data), guide.client.upload(data)
    assert (first.status, again.status) == (200, 200)
    assert DEDUPLICATED not in first.headers
    assert again.headers[DEDUPLICATED] == first.id


def test_in_39_it_is_the_one_that_was_there(guide: Guide) -> None:
    data = jsonl(*several(1))
    first, again = guide.upload(data), guide.upload(data)
    assert again["expires_at"] >= first["expires_at"]
    assert {**again, "expires_at": 0} == {**first, "expires_at": 0}


def test_in_40_the_same_create_while_the_first_lives_is_the_first(guide: Guide) -> None:
    with guide.held(5, free=1) as first:
        again = guide.client.create(first["input_file_id"])
        assert (again.status, again.id) == (200, first["id"])
        assert again.json["status"] == first["status"] == "in_progress"
        assert again.headers[DEDUPLICATED] == first["id"]
        other = guide.create(first["input_file_id"], metadata={"run": "2"})
        assert other["id"] != first["id"]
        assert again.json["created_at"] == first["created_at"]
        guide.cancel(other)


def test_in_40_what_is_being_cancelled_is_no_longer_the_same(guide: Guide) -> None:
    with guide.held(5, free=1) as first:
        guide.cancel(first)
        again = guide.client.create(first["input_file_id"])
        assert (again.status, again.id == first["id"], again.headers.get(DEDUPLICATED)) == (200, False, None)
        guide.cancel(again.json)


def test_in_41_creating_again_never_costs_a_slot(serve: Serve, at: At) -> None:
    guide = at(serve(plan={"active_batches": 1}))
    other = guide.upload(jsonl(*several(1)))
    with guide.held(5) as first:
        for _ in range(3):
            assert guide.create(first["input_file_id"])["id"] == first["id"]
        assert guide.client.create(other["id"]).code == "too_many_active_batches"
    guide.end(first)
    assert guide.end(guide.create(other["id"])).answered(1)


def test_in_42_after_its_end_the_same_create_is_a_new_batch(guide: Guide) -> None:
    for data in (jsonl(*several(1)), jsonl("{broken", chat("a", mark()))):
        ended = guide.run(data)
        answer = guide.client.create(ended.batch["input_file_id"])
        assert (answer.status, answer.json["status"], DEDUPLICATED in answer.headers) == (200, "validating", False)
        assert answer.id != ended.batch["id"]
        assert guide.end(answer.json).batch["status"] == ended.batch["status"]


def test_in_43_and_44_the_sdk_works_with_another_base_url(server: Hornada, base: str, tmp_path: Path) -> None:
    text, path = mark(), tmp_path / "entrada.jsonl"
    path.write_bytes(jsonl(chat("a", text + " ¡olé!"), refused("b", text)))
    with openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}{base}", api_key=KEY) as sdk, path.open("rb") as opened:
        file = sdk.files.create(file=opened, purpose="batch")
        assert (file.filename, file.bytes) == ("entrada.jsonl", path.stat().st_size)
        batch = sdk.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h")
        while (batch := sdk.batches.retrieve(batch.id)).status not in TERMINAL:
            time.sleep(0.05)
        assert batch.request_counts is not None
        assert str(batch.request_counts) == "BatchRequestCounts(completed=1, failed=1, total=2)"
        assert batch.output_file_id is not None
        assert batch.error_file_id is not None
        assert "¡olé!" in sdk.files.content(batch.output_file_id).text
        assert "context_length_exceeded" in sdk.files.content(batch.error_file_id).text


def test_in_45_each_check_uses_the_per_minute_limit(serve: Serve, at: At) -> None:
    guide = at(serve(plan={"requests_per_minute": 5}))
    answers = [guide.call("GET", "/batches/batch_none") for _ in range(6)]
    assert [answer.status for answer in answers] == [404] * 5 + [429]
    left = [answer.headers["x-ratelimit-remaining-requests"] for answer in answers]
    assert left == ["4", "3", "2", "1", "0", "0"]
    refusal = answers[-1]
    assert refusal.code == "rate_limit_exceeded"
    assert 1 <= int(refusal.headers["retry-after"]) <= 12
    assert refusal.headers["x-ratelimit-limit-requests"] == "5"
    assert refusal.headers["x-ratelimit-reset-requests"] in {"59s", "1m0s"}
    assert "5 requests a minute" in refusal.json["error"]["message"]
