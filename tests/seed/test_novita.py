"""Novita's guide, statement by statement: NV-1 to NV-48. Most hold under the SDKs' own base path as well."""

import json
import re
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import openai
import pytest

from bench.client import granted
from bench.hornada import KEY, Hornada
from tests.cases import generate
from tests.seed.conftest import At, Serve
from tests.seed.guide import CHAT, EMBED, TEXT, Guide, Json, jsonl, many_slow, mark, refused

DAY_S = 86_400
MIB = 1 << 20
STAMPS = (
    *("in_progress_at", "expires_at", "finalizing_at", "completed_at", "failed_at"),
    *("expired_at", "cancelling_at", "cancelled_at", "updated_at"),
)
KEYS = {
    *("id", "object", "endpoint", "input_file_id", "output_file_id", "error_file_id", "completion_window"),
    *STAMPS,
    *("status", "errors", "version", "created_at", "created_by", "created_by_key_id", "remark"),
    *("total", "completed", "failed", "metadata", "request_counts"),
}
WORDS = {"VALIDATING", "IN_PROGRESS", "COMPLETED", "FAILED", "EXPIRED", "CANCELLING", "CANCELLED"}
BOTH = pytest.mark.parametrize("base", ["/openai/v1", "/v1"])
OWN = pytest.mark.parametrize("base", ["/openai/v1"])


def ask(custom_id: str, text: str = "", **body: object) -> Json:
    """A line as the guide writes it: neither method nor url."""
    content = {"model": "m-chat", "messages": [{"role": "user", "content": text or mark()}], "max_tokens": 400, **body}
    return {"custom_id": custom_id, "body": content}


def two() -> bytes:
    return jsonl(ask("request-1"), ask("request-2"))


def counts(batch: Json) -> Json:
    return {name: batch[name] for name in ("total", "completed", "failed")}


@pytest.fixture
def client(server: Hornada, base: str) -> Iterator[openai.OpenAI]:
    """OpenAI's SDK, set up as the guide says."""
    with openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}{base}", api_key=KEY, max_retries=0) as sdk:
        yield sdk


@BOTH
def test_nv_1_openais_sdk_goes_all_the_way(client: openai.OpenAI, guide: Guide) -> None:
    file = client.files.create(file=("batch_input.jsonl", two()), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    guide.client.finish(batch.id, 60, 0.05)
    ended = client.batches.retrieve(batch.id)
    assert ended.status == "completed"
    rows = client.files.content(str(ended.output_file_id)).read().splitlines()
    assert [json.loads(row)["custom_id"] for row in rows] == ["request-1", "request-2"]
    assert batch.id in [seen.id for seen in client.batches.list(limit=100).data]


@OWN
def test_nv_2_lines_have_higher_limits_than_calls(serve: Serve, at: At) -> None:
    guide = at(serve(plan={"requests_per_minute": 10}))
    batch = guide.start(jsonl(*(ask(f"r-{n}") for n in range(60))))
    ended = guide.client.finish(batch["id"], 60, 1)
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
    assert guide.run(jsonl(line), endpoint).batch["status"] == "completed"


@OWN
def test_nv_4_nothing_else_can(guide: Guide) -> None:
    file = guide.upload(two())["id"]
    for endpoint in (EMBED, "/v1/responses", "/chat/completions"):
        answer = guide.client.create(file, endpoint)
        assert (answer.status, answer.json["error"]["param"]) == (400, "endpoint")


@BOTH
@pytest.mark.parametrize("field", ["endpoint", "input_file_id", "completion_window"])
def test_nv_5_and_37_a_create_needs_its_fields(guide: Guide, field: str) -> None:
    order = {"input_file_id": "file_x", "endpoint": CHAT, "completion_window": "24h"}
    del order[field]
    answer = guide.call("POST", "/batches", order)
    assert (answer.status, answer.json["error"]["param"]) == (400, field)


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
    assert ended.batch["request_counts"] == {"total": 2, "completed": 2, "failed": 0}
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
    batch = guide.run(jsonl(ask("a"), ask("b", model="m-other"))).batch
    assert (batch["status"], batch["errors"]["data"][0]["code"]) == ("failed", "model_mismatch")


@BOTH
@pytest.mark.parametrize("order", [("purpose", "file"), ("file", "purpose")])
def test_nv_11_and_12_a_file_goes_up_in_either_order(guide: Guide, order: tuple[str, str]) -> None:
    assert guide.upload(two(), order=order)["purpose"] == "batch"


@OWN
def test_nv_13_and_14_the_file_object(guide: Guide) -> None:
    data = two()
    file = guide.upload(data, filename="batch_input.jsonl")
    assert re.fullmatch(r"file_[0-9a-z]+", file["id"])
    assert (file["object"], file["bytes"], file["filename"]) == ("file", len(data), "batch_input.jsonl")
    assert (type(file["created_at"]), file["purpose"]) == (int, "batch")
    assert file["metadata"] == {"total_requests": 2}
    assert file["expires_at"] - file["created_at"] == 15 * DAY_S
    assert guide.call("GET", f"/files/{file['id']}").json == file


@OWN
def test_nv_15_and_17_to_20_and_23_the_batch_object(guide: Guide) -> None:
    file = guide.upload(two())["id"]
    batch = guide.create(file)
    assert set(batch) == KEYS
    assert (batch["input_file_id"], batch["object"], batch["endpoint"]) == (file, "batch", CHAT)
    assert (batch["id"].startswith("batch_"), batch["status"]) == (True, "validating")
    assert batch["output_file_id"] == batch["error_file_id"] == batch["errors"] == batch["remark"] == ""
    assert {name: batch[name] for name in STAMPS} == dict.fromkeys(STAMPS)
    assert (batch["version"], batch["metadata"], counts(batch)) == (0, None, dict.fromkeys(counts(batch), 0))
    assert batch["created_by"] == str(uuid.UUID(batch["created_by"]))
    assert re.fullmatch(r"key_[0-9a-z]+", batch["created_by_key_id"])
    assert set(guide.end(batch).batch) == KEYS


@BOTH
@pytest.mark.parametrize("window", ["48h", "1h", ""])
def test_nv_16_the_window_is_24h(guide: Guide, window: str) -> None:
    answer = guide.client.create(guide.upload(two())["id"], completion_window=window)
    assert (answer.status, answer.json["error"]["param"]) == (400, "completion_window")
    assert "24h" in answer.json["error"]["message"]


@OWN
def test_nv_24_and_26_flat_counts_are_the_counts_and_words_are_the_tables(guide: Guide) -> None:
    seen = list(guide.client.watch(guide.start(many_slow(20, 0.05))["id"], 60, 0.02))
    for batch in seen:
        assert counts(batch) == batch["request_counts"]
        assert batch["status"] in {word.lower() for word in WORDS}
    assert counts(seen[-1]) == {"total": 20, "completed": 20, "failed": 0}


@BOTH
def test_nv_25_a_get_may_say_that_it_sends_json(guide: Guide) -> None:
    batch = guide.start(two())
    answer = guide.call("GET", f"/batches/{batch['id']}", headers={"Content-Type": "application/json"})
    assert (answer.status, answer.json["id"]) == (200, batch["id"])


@OWN
def test_nv_27_and_30_to_33_the_result_line(guide: Guide) -> None:
    ended = guide.run(jsonl(ask("request-2589")))
    content = guide.client.content(ended.batch["output_file_id"])
    assert content.count(b"\n") == 1
    (row,) = ended.output
    assert set(row) == {"custom_id", "error", "id", "response"}
    assert (row["custom_id"], row["error"]) == ("request-2589", None)
    assert re.fullmatch(r"batch_req_task_[0-9a-z]+", row["id"])
    assert set(row["response"]) == {"body", "request_id", "status_code"}
    assert (row["response"]["request_id"], row["response"]["status_code"]) == ("request-2589", 200)
    body = row["response"]["body"]
    assert (body["object"], body["choices"][0]["message"]["role"]) == ("chat.completion", "assistant")
    assert body["usage"]["total_tokens"] > 0


@OWN
def test_nv_28_results_are_kept_for_30_days_from_the_end(guide: Guide) -> None:
    ended = guide.run(jsonl(ask("a"), {"custom_id": "b", "body": refused("b", mark())["body"]})).batch
    end = datetime.fromisoformat(ended["completed_at"]).timestamp()
    for name in ("output_file_id", "error_file_id"):
        file = granted(guide.call("GET", f"/files/{ended[name]}"), name)
        assert file["purpose"] == "batch_output"
        assert abs(file["expires_at"] - 30 * DAY_S - end) <= 60
        assert "metadata" not in file


@OWN
def test_nv_29_an_id_that_nobody_made_is_not_found(guide: Guide) -> None:
    answer = guide.call("GET", "/files/example-250811-1/content")
    assert (answer.status, answer.code) == (404, "file_not_found")


@OWN
def test_nv_34_at_most_50000_requests(guide: Guide) -> None:
    text = mark()
    batch = guide.run(jsonl(*(ask(f"r-{n}", text) for n in range(50_001)))).batch
    assert (batch["status"], batch["errors"]["data"][0]["code"]) == ("failed", "too_many_tasks")


@OWN
def test_nv_35_at_most_100_mb(guide: Guide, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("w") as output:
        output.writelines(generate.over_100_mib(100 * MIB))
        output.write("\n")
    answer = guide.client.upload(path)
    assert (answer.status, answer.code) == (413, "file_too_large")


@OWN
def test_nv_36_errors_have_their_own_file(guide: Guide) -> None:
    ended = guide.run(jsonl(ask("good"), {"custom_id": "bad", "body": refused("bad", mark())["body"]}))
    assert (ended.batch["status"], counts(ended.batch)) == ("completed", {"total": 2, "completed": 1, "failed": 1})
    (row,) = ended.error
    assert (row["custom_id"], row["response"]["status_code"], row["error"]) == ("bad", 400, None)
    assert row["response"]["body"]["error"]["code"] == "context_length_exceeded"


@BOTH
def test_nv_37_bad_jsonl_fails_and_says_where(guide: Guide) -> None:
    batch = guide.run(jsonl(ask("a"), "{'custom_id': 'b'}", {"custom_id": "c"})).batch
    assert batch["status"] == "failed"
    assert [(found["line"], found["code"]) for found in batch["errors"]["data"]] == [
        (2, "invalid_json_line"),
        (3, "missing_required_parameter"),
    ]


@BOTH
def test_nv_38_a_wrong_key(server: Hornada, guide: Guide) -> None:
    answer = guide.call("GET", "/batches", headers={"Authorization": "Bearer sk_wrong"})
    assert (answer.status, answer.code) == (401, "invalid_api_key")


@BOTH
def test_nv_39_a_batch_that_is_not_there(guide: Guide) -> None:
    answer = guide.call("GET", "/batches/batch_nosuch")
    assert (answer.status, answer.code) == (404, "batch_not_found")


@BOTH
def test_nv_40_too_many_calls(serve: Serve, at: At) -> None:
    guide = at(serve(plan={"requests_per_minute": 2}))
    answers = [guide.call("GET", "/batches") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert int(answers[2].headers["retry-after"]) <= 60


@OWN
def test_nv_41_errors_have_one_shape(guide: Guide) -> None:
    answers = [
        guide.call("GET", "/batches/batch_nosuch"),
        guide.call("POST", "/batches", b"{"),
        guide.call("PUT", "/batches"),
        guide.call("GET", "/nothing"),
    ]
    for answer in answers:
        assert set(answer.json["error"]) == {"message", "type", "param", "code", "request_id"}
        assert answer.headers["x-request-id"] == answer.json["error"]["request_id"]


@OWN
def test_nv_42_what_is_not_done_in_time_expires_and_what_is_done_is_kept(serve: Serve, at: At) -> None:
    guide = at(serve(batch_lifetime_s=1))
    ended = guide.run(many_slow(60, 0.4))
    assert (ended.batch["status"], len(ended.output) + len(ended.error)) == ("expired", 60)
    assert ended.output
    assert {row["error"]["code"] for row in ended.error} == {"batch_expired"}
    assert counts(ended.batch) == {"total": 60, "completed": len(ended.output), "failed": len(ended.error)}
    assert {row["id"][:15] for row in ended.error} == {"batch_req_task_"}


@OWN
def test_nv_43_only_what_was_answered_is_paid(guide: Guide) -> None:
    ended = guide.run(jsonl(ask("good"), {"custom_id": "bad", "body": refused("bad", mark())["body"]}))
    tokens = ended.output[0]["response"]["body"]["usage"]["total_tokens"]
    assert guide.call("GET", "/billing/balance").json["last_event"]["tokens"] == tokens


@OWN
def test_nv_44_files_are_listed_and_the_sdk_comes_to_an_end(client: openai.OpenAI, guide: Guide) -> None:
    made = [guide.upload(two())["id"] for _ in range(3)]
    page = guide.call("GET", "/files?limit=2").json
    assert set(page) == {"code", "message", "data", "object", "first_id", "last_id", "has_more"}
    assert [file["id"] for file in page["data"]] == [page["first_id"], page["last_id"]] == made[:0:-1]
    assert (page["object"], page["has_more"]) == ("list", True)
    after = guide.call("GET", f"/files?limit=1&after={page['last_id']}").json
    assert after["first_id"] == made[0]
    seen = [file.id for file in client.files.list(limit=100)]
    assert seen[:3] == made[::-1]
    assert len(seen) == len(set(seen))


@OWN
def test_nv_45_batches_are_listed(guide: Guide) -> None:
    made = [guide.start(two())["id"] for _ in range(2)]
    page = guide.call("GET", "/batches?limit=2").json
    assert set(page) == {"data", "first_id", "last_id", "has_more", "object"}
    assert [batch["id"] for batch in page["data"]] == [page["first_id"], page["last_id"]] == made[::-1]
    assert set(page["data"][0]) == KEYS


@OWN
def test_nv_46_a_batch_is_cancelled_once(guide: Guide) -> None:
    with guide.held(40) as batch:
        answer = guide.cancel(batch)
        assert (answer.status, answer.json["status"], answer.json["errors"]) == (200, "cancelling", "")
    ended = guide.end(batch)
    assert (ended.batch["status"], len(ended.output) + len(ended.error)) == ("cancelled", 40)
    late = guide.cancel(batch)
    assert (late.status, late.code) == (400, "batch_not_cancellable")


@OWN
def test_nv_47_the_same_again_is_another(guide: Guide) -> None:
    data = two()
    first, second = guide.upload(data), guide.upload(data)
    assert first["id"] != second["id"]
    assert guide.create(first["id"])["id"] != guide.create(first["id"])["id"]


@OWN
@pytest.mark.parametrize("more", [{"x-stainless-retry-count": "1"}, {"Idempotency-Key": "once"}])
def test_nv_47_unless_it_is_sent_again(guide: Guide, more: dict[str, str]) -> None:
    file = guide.upload(two())["id"]
    order = {"input_file_id": file, "endpoint": CHAT, "completion_window": "24h"}
    marked = {name: value if value == "1" else mark() for name, value in more.items()}
    first = guide.call("POST", "/batches", order, marked if "Idempotency-Key" in more else None)
    again = guide.call("POST", "/batches", order, marked)
    assert again.id == first.id
    assert again.headers["x-deduplicated-from"] == first.id
    assert not any(name.startswith("x-saptiva") for name in again.headers)


@OWN
def test_nv_48_models_are_listed_with_their_prices(serve: Serve, at: At) -> None:
    priced = (
        '[[models]]\nname = "deepseek/v3"\nupstream = "http://127.0.0.1:9/v1"\n'
        'endpoints = ["/v1/chat/completions"]\nprice = { input = 390000, output = 1300000 }\n'
    )
    guide = at(serve(more=priced))
    listed = guide.call("GET", "/models").json
    (model,) = [model for model in listed["data"] if model["id"] == "deepseek/v3"]
    assert (model["object"], type(model["created"]), model["title"]) == ("model", int, "deepseek/v3")
    assert (model["input_token_price_per_m"], model["output_token_price_per_m"]) == (3900, 13000)
    assert model["endpoints"] == ["chat/completions", "batch-api"]
    assert {"description", "context_size"} <= set(model)
    assert guide.call("GET", "/models/deepseek/v3").json == model
