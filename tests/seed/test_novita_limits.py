"""Novita's guide: limits, errors, expiry, and what being compatible with OpenAI means besides. NV-34 to NV-48."""

from datetime import datetime
from pathlib import Path

import openai
import pytest

from bench.hornada import Hornada
from tests.cases import generate
from tests.seed.conftest import At, Serve
from tests.seed.guide import CHAT, Guide, jsonl, mark, refused
from tests.seed.novita import BOTH, KEYS, MIB, OWN, ask, counts, two
from tests.seed.platform import INPUT, OUTPUT, Platform


@OWN
def test_nv_34_at_most_50000_requests(guide: Guide) -> None:
    text = mark()
    lines = [ask(f"r-{n}", text) for n in range(50_001)]
    ended = guide.run(jsonl(*lines))
    assert (ended.batch["status"], ended.causes) == ("failed", [("too_many_tasks", None)])
    batch = guide.start(jsonl(*lines[:-1]))
    assert guide.until(batch, lambda seen: seen["total"] > 0)["total"] == 50_000
    guide.cancel(batch)
    ended = guide.end(batch)
    assert (ended.batch["status"], len(ended.output) + len(ended.error)) == ("cancelled", 50_000)


@OWN
def test_nv_35_at_most_100_mb(guide: Guide, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("w") as output:
        output.writelines(generate.over_100_mib(100 * MIB))
    file = guide.upload(path)
    assert file["bytes"] == path.stat().st_size == 104_857_600
    guide.call("DELETE", f"/files/{file['id']}")
    with path.open("a") as output:
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
    ended = guide.run(jsonl(ask("a"), "{'custom_id': 'b'}", {"custom_id": "c"}, {"body": ask("d")["body"]}))
    assert ended.batch["status"] == "failed"
    assert ended.causes == [
        ("invalid_json_line", 2),
        ("missing_required_parameter", 3),
        ("missing_required_parameter", 4),
    ]
    assert [found["param"] for found in ended.batch["errors"]["data"]] == [None, "body", "custom_id"]
    assert (ended.output, ended.error) == ([], [])


@BOTH
def test_nv_38_a_wrong_key(server: Hornada, guide: Guide) -> None:
    for method, path in (("GET", "/batches"), ("POST", "/batches"), ("POST", "/files"), ("GET", "/files/x/content")):
        answer = guide.call(method, path, headers={"Authorization": "Bearer sk_wrong"})
        assert (answer.status, answer.code) == (401, "invalid_api_key")


@BOTH
def test_nv_39_a_batch_that_is_not_there(guide: Guide) -> None:
    for method, path in (("GET", ""), ("POST", "/cancel")):
        answer = guide.call(method, f"/batches/batch_nosuch{path}")
        assert (answer.status, answer.code) == (404, "batch_not_found")
        assert "batch_nosuch" in answer.json["error"]["message"]


@BOTH
def test_nv_40_too_many_calls(serve: Serve, at: At) -> None:
    guide = at(serve(plan={"requests_per_minute": 2}))
    answers = [guide.call("GET", "/batches") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[2].code == "rate_limit_exceeded"
    assert 1 <= int(answers[2].headers["retry-after"]) <= 30


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


@BOTH
def test_nv_41_a_server_that_cannot_says_so_in_that_shape(serve: Serve, at: At) -> None:
    server = serve()
    guide = at(server)
    file = guide.upload(two())["id"]
    (server.blobs / "input").rename(server.blobs / "away")
    (server.blobs / "input").touch()  # a file where a folder should be: nothing can be stored or read
    for answer in (guide.client.upload(two()), guide.call("GET", f"/files/{file}/content")):
        assert (answer.status, answer.json["error"]["type"]) == (503, "server_error")
        assert set(answer.json["error"]) == {"message", "type", "param", "code", "request_id"}
        assert str(server.blobs) not in answer.json["error"]["message"]
    assert [found["id"] for found in guide.call("GET", "/files").json["data"]] == [file]


@OWN
def test_nv_42_what_is_not_done_in_time_expires_and_what_is_done_is_kept(serve: Serve, at: At) -> None:
    guide, text = at(serve(batch_lifetime_s=5)), mark()
    with guide.held(60, free=4, word=text) as batch:
        guide.until(batch, lambda seen: seen["finalizing_at"] is not None)
    ended = guide.end(batch)
    assert (ended.batch["status"], len(ended.output) + len(ended.error)) == ("expired", 60)
    assert len(ended.output) == guide.calls(text) > 4
    assert {(row["response"], row["error"]["code"]) for row in ended.error} == {(None, "batch_expired")}
    assert datetime.fromisoformat(ended.batch["expired_at"]) >= datetime.fromisoformat(ended.batch["expires_at"])
    assert ended.batch["completed_at"] is None
    assert counts(ended.batch) == {"total": 60, "completed": len(ended.output), "failed": len(ended.error)}
    assert {row["id"][:15] for row in ended.error} == {"batch_req_task_"}


@OWN
def test_nv_43_only_what_was_answered_is_paid(platform: Platform) -> None:
    guide, name = platform.user(10**6), platform.priced()
    bad = refused("bad", mark(), model=name)["body"]
    ended = guide.run(jsonl(ask("good", model=name), {"custom_id": "bad", "body": bad}))
    used = ended.output[0]["response"]["body"]["usage"]
    money = guide.call("GET", "/billing/balance").json
    assert money["last_event"]["tokens"] == used["total_tokens"]
    assert money["balance"] == 10**6 - used["prompt_tokens"] * INPUT - used["completion_tokens"] * OUTPUT


@OWN
def test_nv_44_files_are_listed_and_the_sdk_comes_to_an_end(client: openai.OpenAI, guide: Guide) -> None:
    made = [guide.upload(two())["id"] for _ in range(3)]
    page = guide.call("GET", "/files?limit=2").json
    assert set(page) == {"code", "message", "data", "object", "first_id", "last_id", "has_more"}
    assert [file["id"] for file in page["data"]] == [page["first_id"], page["last_id"]] == made[:0:-1]
    assert (page["object"], page["has_more"] is True) == ("list", True)
    after = guide.call("GET", f"/files?limit=1&after={page['last_id']}").json
    assert [file["id"] for file in after["data"]] == [after["first_id"]] == made[:1]
    seen = [file.id for file in client.files.list(limit=100)]
    assert seen[:3] == made[::-1]
    assert len(seen) == len(set(seen))


@OWN
def test_nv_45_batches_are_listed(client: openai.OpenAI, guide: Guide) -> None:
    made = [guide.end(guide.start(two())).batch for _ in range(3)]
    page = guide.call("GET", "/batches?limit=2").json
    assert set(page) == {"data", "first_id", "last_id", "has_more", "object"}
    assert page["data"] == made[:0:-1]
    assert [page["first_id"], page["last_id"]] == [made[2]["id"], made[1]["id"]]
    assert (page["object"], page["has_more"] is True, list(page["data"][0])) == ("list", True, KEYS)
    assert guide.call("GET", f"/batches?limit=1&after={page['last_id']}").json["data"] == [made[0]]
    walked = [batch.id for batch in client.batches.list(limit=100)]
    assert walked[:3] == [batch["id"] for batch in made[::-1]]
    assert len(walked) == len(set(walked))


@OWN
def test_nv_46_a_batch_is_cancelled_once(guide: Guide) -> None:
    with guide.held(40) as batch:
        answer = guide.cancel(batch)
        assert (answer.status, answer.json["status"], answer.json["errors"]) == (200, "cancelling", "")
    ended = guide.end(batch)
    assert (ended.batch["status"], len(ended.output) + len(ended.error)) == ("cancelled", 40)
    assert {row["error"]["code"] for row in ended.error} == {"batch_cancelled"}
    assert (ended.batch["errors"], ended.batch["cancelled_at"] >= ended.batch["cancelling_at"]) == ("", True)
    late = guide.cancel(batch)
    assert (late.status, late.code) == (400, "batch_not_cancellable")


@OWN
def test_nv_22_errors_are_a_list_when_somebody_else_cancels(platform: Platform) -> None:
    org = platform.organization()
    member, admin = platform.person(org), platform.person(org, "admin")
    with member.guide.held() as batch:
        assert admin.guide.cancel(batch).status == 200
    ended = member.guide.end(batch)
    assert (ended.batch["status"], ended.causes) == ("cancelled", [("cancelled_by_org_admin", None)])
    assert admin.member in ended.batch["errors"]["data"][0]["message"]


@OWN
def test_nv_47_the_same_again_is_another(guide: Guide) -> None:
    data = two()
    answers = [guide.client.upload(data) for _ in range(2)]
    answers += [guide.client.create(str(answers[0].id)) for _ in range(2)]
    assert [answer.status for answer in answers] == [200] * 4
    assert len({answer.id for answer in answers}) == 4
    assert not any("deduplicated" in name for answer in answers for name in answer.headers)
    for answer in answers[2:]:
        assert guide.end(answer.json).answered(2)


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
