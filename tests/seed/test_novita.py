"""Novita's guide, step by step: NV-1 to NV-33. Most hold under the SDKs' own base path as well."""

import hashlib
import json
import re
import time
import uuid
from datetime import datetime

import openai
import pytest

from bench.client import granted
from tests.seed.conftest import At, Serve
from tests.seed.guide import CHAT, EMBED, PATIENCE_S, TEXT, Guide, jsonl, mark, refused
from tests.seed.novita import BOTH, DAY_S, KEYS, OWN, STAMPS, WORDS, ask, counts, two


@BOTH
def test_nv_1_openais_sdk_goes_all_the_way(client: openai.OpenAI, guide: Guide) -> None:
    file = client.files.create(file=("batch_input.jsonl", two()), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    guide.client.finish(batch.id, 60, 0.05)
    ended = client.batches.retrieve(batch.id)
    assert (ended.status, str(ended.request_counts)) == (
        "completed",
        "BatchRequestCounts(completed=2, failed=0, total=2)",
    )
    rows = client.files.content(str(ended.output_file_id)).read().splitlines()
    assert [json.loads(row)["custom_id"] for row in rows] == ["request-1", "request-2"]
    assert batch.id in [seen.id for seen in client.batches.list(limit=100).data]


@OWN
def test_nv_2_lines_have_higher_limits_than_calls(serve: Serve, at: At) -> None:
    guide, text = at(serve(plan={"requests_per_minute": 10})), mark()
    batch = guide.start(jsonl(*(ask(f"r-{n}", text) for n in range(60))))
    end = time.monotonic() + PATIENCE_S
    while guide.calls(text) < 60:  # polling the batch would use up requests
        assert time.monotonic() < end
    assert int(guide.ask("and now?").headers["x-ratelimit-remaining-requests"]) >= 7
    ended = guide.client.finish(batch["id"], PATIENCE_S, 8)
    assert counts(ended) == {"total": 60, "completed": 60, "failed": 0}


@OWN
def test_nv_3_and_21_times_are_rfc_3339_and_the_end_is_a_day_away(guide: Guide) -> None:
    ended = guide.run(two()).batch
    created, expires = (datetime.fromisoformat(ended[name]) for name in ("created_at", "expires_at"))
    assert (expires - created).total_seconds() == DAY_S
    for name in ("created_at", "in_progress_at", "finalizing_at", "completed_at", "updated_at"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d", ended[name])
        assert created <= datetime.fromisoformat(ended[name]) <= expires


@BOTH
@pytest.mark.parametrize(("endpoint", "model"), [(CHAT, "m-chat"), (TEXT, "m-text")])
def test_nv_4_chat_completions_and_completions_can_be_batched(guide: Guide, endpoint: str, model: str) -> None:
    line = {
        "custom_id": "a",
        "body": {"model": model, "prompt": mark(), "messages": [{"role": "user", "content": "x"}]},
    }
    ended = guide.run(jsonl(line), endpoint)
    assert ended.answered(1)
    assert ended.batch["endpoint"] == endpoint
    kind = {CHAT: "chat.completion", TEXT: "text_completion"}[endpoint]
    assert ended.output[0]["response"]["body"]["object"] == kind


@OWN
def test_nv_4_nothing_else_can(guide: Guide) -> None:
    file = guide.upload(two())["id"]
    for endpoint in (EMBED, "/v1/responses", "/chat/completions"):
        answer = guide.client.create(file, endpoint)
        assert (answer.status, answer.code, answer.json["error"]["param"]) == (400, "invalid_value", "endpoint")
        for offered in (CHAT, TEXT):
            assert f"'{offered}'" in answer.json["error"]["message"]
        assert f"'{EMBED}'" not in answer.json["error"]["message"].partition("Supported")[2]


@BOTH
@pytest.mark.parametrize("field", ["endpoint", "input_file_id", "completion_window"])
def test_nv_5_and_37_a_create_needs_its_fields(guide: Guide, field: str) -> None:
    order = {"input_file_id": "file_x", "endpoint": CHAT, "completion_window": "24h"}
    del order[field]
    answer = guide.call("POST", "/batches", order)
    assert (answer.status, answer.json["error"]["param"]) == (400, field)
    assert (answer.code, field in answer.json["error"]["message"]) == ("missing_required_parameter", True)


@OWN
def test_nv_6_and_22_a_custom_id_is_unique_and_errors_say_where_it_is_not(guide: Guide) -> None:
    batch = guide.run(jsonl(ask("same"), ask("same"))).batch
    assert (batch["status"], batch["output_file_id"], batch["error_file_id"]) == ("failed", "", "")
    (found,) = batch["errors"]["data"]
    assert (batch["errors"]["object"], found["line"], found["code"]) == ("list", 2, "duplicate_custom_id")
    assert "same" in found["message"]
    assert (counts(batch), batch["failed_at"] is None) == ({"total": 0, "completed": 0, "failed": 0}, False)


@BOTH
def test_nv_7_and_10_the_guides_two_lines_come_back_by_their_ids(guide: Guide) -> None:
    ended = guide.run(two())
    assert ended.answered(2)
    assert [row["custom_id"] for row in ended.output] == ["request-1", "request-2"]


@BOTH
def test_nv_8_the_body_is_sent_as_it_is(guide: Guide) -> None:
    text = mark()
    line = (
        f'{{"custom_id":"a","body":{{"max_tokens" :1000,"x":null,"model":"m-chat",'
        f'"messages":[{{"role":"user","content":"{text}"}}]}}}}'
    )
    guide.backend.call("POST", "/__reset", b"")
    guide.run(jsonl(line))
    seen = [call for call in guide.backend.call("GET", "/__stats").json["log"] if text in call["text"]]
    body = line[line.index('{"max_tokens"') : -1]
    assert [call["raw"] for call in seen] == [body]


@OWN
def test_nv_9_one_model_a_file(guide: Guide) -> None:
    ended = guide.run(jsonl(ask("a"), ask("b", model="m-other"), ask("c", model="deepseek/deepseek-v3-0324")))
    assert (ended.batch["status"], ended.causes) == ("failed", [("model_mismatch", 2), ("model_mismatch", 3)])


@BOTH
@pytest.mark.parametrize("order", [("purpose", "file"), ("file", "purpose")])
def test_nv_11_and_12_a_file_goes_up_in_either_order(guide: Guide, order: tuple[str, str]) -> None:
    data = two()
    file = guide.upload(data, order=order)
    assert (file["purpose"], file["bytes"], guide.client.content(file["id"])) == ("batch", len(data), data)


@OWN
def test_nv_13_and_14_the_file_object(guide: Guide) -> None:
    data = two()
    file = guide.upload(data, filename="batch_input.jsonl")
    assert re.fullmatch(r"file_[0-9a-z]+", file["id"])
    assert (file["object"], file["bytes"], file["filename"]) == ("file", len(data), "batch_input.jsonl")
    assert (type(file["created_at"]), file["purpose"]) == (int, "batch")
    assert file["metadata"] == {"total_requests": 2}
    assert file["expires_at"] - file["created_at"] == 15 * DAY_S
    assert list(file)[:3] == ["id", "object", "bytes"]
    shown = {"id", "object", "bytes", "filename", "created_at", "purpose", "metadata"}
    assert set(file) == shown | {"expires_at", "status"}
    assert guide.call("GET", f"/files/{file['id']}").json == file


@OWN
def test_nv_15_and_17_to_20_and_23_the_batch_object(guide: Guide) -> None:
    file = guide.upload(two())["id"]
    batch = guide.create(file)
    assert list(batch) == KEYS
    assert (batch["input_file_id"], batch["object"], batch["endpoint"]) == (file, "batch", CHAT)
    assert (batch["id"].startswith("batch_"), batch["status"]) == (True, "validating")
    assert batch["output_file_id"] == batch["error_file_id"] == batch["errors"] == batch["remark"] == ""
    assert {name: batch[name] for name in STAMPS} == dict.fromkeys(STAMPS)
    assert (batch["version"], batch["metadata"], counts(batch)) == (0, None, dict.fromkeys(counts(batch), 0))
    assert batch["created_by"] == str(uuid.UUID(batch["created_by"]))
    assert re.fullmatch(r"key_[0-9a-z]+", batch["created_by_key_id"])
    ended = guide.end(batch).batch
    assert list(ended) == KEYS
    for name in ("id", "created_at", "created_by", "created_by_key_id", "remark", "version", "metadata"):
        assert ended[name] == batch[name]
    assert (ended["errors"], ended["error_file_id"]) == ("", "")
    assert re.fullmatch(r"file_[0-9a-z]+", ended["output_file_id"])


@BOTH
@pytest.mark.parametrize("window", ["48h", "1h", ""])
def test_nv_16_the_window_is_24h(guide: Guide, window: str) -> None:
    answer = guide.client.create(guide.upload(two())["id"], completion_window=window)
    assert (answer.status, answer.code, answer.json["error"]["param"]) == (400, "invalid_value", "completion_window")
    assert f"'{window}'" in answer.json["error"]["message"]
    assert "'24h'" in answer.json["error"]["message"]


@OWN
def test_nv_24_and_26_flat_counts_are_the_counts_and_words_are_the_tables(guide: Guide) -> None:
    with guide.held(20, free=3) as batch:
        assert batch["status"] == "in_progress"
        assert counts(batch) == batch["request_counts"] == {"total": 20, "completed": 3, "failed": 0}
    for seen in guide.client.watch(batch["id"], PATIENCE_S, 0.02):
        assert counts(seen) == seen["request_counts"]
        assert seen["status"] in {word.lower() for word in WORDS}
    assert counts(seen) == {"total": 20, "completed": 20, "failed": 0}


@OWN
def test_nv_26_the_table_has_no_word_for_the_assembly_of_results(serve: Serve, at: At) -> None:
    server = serve()
    guide, results = at(server), server.blobs / "out"
    results.touch()  # a file where a folder should be: results cannot be written
    batch = guide.start(two())
    seen = guide.until(batch, lambda found: found["finalizing_at"] is not None)
    listed = guide.call("GET", "/batches").json["data"]
    assert [seen["status"], *(found["status"] for found in listed)] == ["in_progress"] * 2
    assert (counts(seen), seen["output_file_id"]) == ({"total": 2, "completed": 2, "failed": 0}, "")
    assert guide.cancel(batch).code == "batch_not_cancellable"
    results.unlink()
    assert guide.end(batch).answered(2)


@BOTH
def test_nv_25_a_get_may_say_that_it_sends_json(guide: Guide) -> None:
    ended = guide.run(two())
    for path in (f"/batches/{ended.batch['id']}", f"/files/{ended.batch['output_file_id']}/content"):
        for body in (None, b""):
            answer = guide.call("GET", path, body, {"Content-Type": "application/json"})
            assert (answer.status, answer.body) == (200, guide.call("GET", path).body)


@OWN
def test_nv_27_and_30_to_33_the_result_line(guide: Guide) -> None:
    text = mark() + " 👋"
    ended = guide.run(jsonl(ask("request-2589", text)))
    answer = guide.call("GET", f"/files/{ended.batch['output_file_id']}/content")
    assert (answer.status, answer.body.count(b"\n"), answer.body[-2:]) == (200, 1, b"}\n")
    assert answer.headers["content-type"] == "application/jsonl; charset=utf-8"
    assert answer.headers["x-content-sha256"] == hashlib.sha256(answer.body).hexdigest()
    assert not any(name.startswith("x-saptiva") for name in answer.headers)
    (row,) = ended.output
    assert set(row) == {"custom_id", "error", "id", "response"}
    assert (row["custom_id"], row["error"]) == ("request-2589", None)
    assert re.fullmatch(r"batch_req_task_[0-9a-z]+", row["id"])
    assert set(row["response"]) == {"body", "request_id", "status_code"}
    assert (row["response"]["request_id"], row["response"]["status_code"]) == ("request-2589", 200)
    body = row["response"]["body"]
    called = guide.ask(text, max_tokens=400).json
    assert body == {**called, "created": body["created"]}
    assert (body["object"], body["choices"][0]["message"]["role"]) == ("chat.completion", "assistant")
    assert set(body["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}


@OWN
def test_nv_28_results_are_kept_for_30_days_from_the_end(guide: Guide) -> None:
    ended = guide.run(jsonl(ask("a"), {"custom_id": "b", "body": refused("b", mark())["body"]})).batch
    end = datetime.fromisoformat(ended["completed_at"]).timestamp()
    for name in ("output_file_id", "error_file_id"):
        file = granted(guide.call("GET", f"/files/{ended[name]}"), name)
        assert file["purpose"] == "batch_output"
        assert (file["created_at"], file["expires_at"]) == (int(end), int(end) + 30 * DAY_S)
        assert "metadata" not in file


@OWN
def test_nv_29_an_id_that_nobody_made_is_not_found(guide: Guide) -> None:
    for method, path in (("GET", "/content"), ("GET", ""), ("DELETE", "")):
        answer = guide.call(method, f"/files/example-250811-1{path}")
        assert (answer.status, answer.code) == (404, "file_not_found")
        assert "example-250811-1" in answer.json["error"]["message"]
