"""The rules for a server that OpenAI's clients can trust, by number: batches, R18 to R24. R25: test_azure."""

import base64
import json
import subprocess
from pathlib import Path

import openai
import pytest

from bench.client import Client
from bench.hornada import KEY, Hornada
from tests.listener import Listener
from tests.openai.conftest import opened
from tests.openai.rules import DAY_S, PLAIN, STRICT
from tests.seed.conftest import Serve
from tests.seed.guide import Guide, Json, chat, jsonl, mark, refused, several


def test_r18_causes_come_in_the_order_of_lines_up_to_a_hundred(guide: Guide) -> None:
    lines: list[Json | str] = [
        chat("same", mark()),
        *("{" for _ in range(60)),
        *(chat("same", mark()) for _ in range(60)),
    ]
    batch = guide.run(jsonl(*lines)).batch
    found = batch["errors"]["data"]
    assert (batch["status"], len(found)) == ("failed", 100)
    assert [entry["line"] for entry in found] == list(range(2, 102))
    assert [entry["code"] for entry in found] == ["invalid_json_line"] * 60 + ["duplicate_custom_id"] * 40
    assert batch["request_counts"] == {"total": 0, "completed": 0, "failed": 0}
    assert not batch["output_file_id"]
    assert not batch["error_file_id"]


def test_r19_good_lines_in_one_file_the_rest_in_the_other_each_once(guide: Guide) -> None:
    lines: list[Json] = [refused(f"r-{n}", mark()) if n % 3 else chat(f"r-{n}", mark()) for n in range(30)]
    ended = guide.run(jsonl(*lines))
    assert [row["custom_id"] for row in ended.output] == [f"r-{n}" for n in range(0, 30, 3)]
    assert [row["custom_id"] for row in ended.error] == [f"r-{n}" for n in range(30) if n % 3]
    assert len({row["id"] for row in ended.output + ended.error}) == 30
    assert {row["response"]["status_code"] for row in ended.output} == {200}
    assert {row["response"]["status_code"] for row in ended.error} == {400}
    for row in ended.output + ended.error:
        assert (set(row), row["error"]) == ({"id", "custom_id", "response", "error"}, None)


@PLAIN
def test_r20_null_and_whole_numbers_never_blanks_or_fractions(sdk: openai.OpenAI, guide: Guide) -> None:
    fresh = guide.start(jsonl(chat("a", mark()), refused("b", mark())))
    failed = guide.run(jsonl("{")).batch
    for batch in (fresh, failed, guide.end(fresh).batch):
        assert sdk.batches.retrieve(batch["id"]).id == batch["id"]
        assert "" not in batch.values()
        assert {type(batch[name]) for name in batch if name.endswith("_at")} <= {int, type(None)}
        assert list(batch["request_counts"]) == ["total", "completed", "failed"]
        assert all(type(count) is int for count in batch["request_counts"].values())
        assert batch["output_file_id"] is None or batch["status"] == "completed"
    assert (fresh["usage"], failed["usage"] is None or failed["usage"]["total_tokens"] == 0) == (None, True)
    listed = guide.call("GET", "/files").json["data"][:10]
    for file in [guide.call("GET", f"/files/{fresh['input_file_id']}").json, *listed]:
        assert "" not in file.values()
        assert {type(file[name]) for name in ("bytes", "created_at", "expires_at")} == {int}
    usage = guide.check(fresh)["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0
    assert set(usage) == {
        *("input_tokens", "input_tokens_details", "output_tokens", "output_tokens_details", "total_tokens")
    }
    assert (usage["input_tokens_details"].keys(), usage["output_tokens_details"].keys()) == (
        {"cached_tokens"},
        {"reasoning_tokens"},
    )


@PLAIN
def test_r21_a_batch_expires_a_day_after_its_creation(guide: Guide) -> None:
    batch = guide.start(jsonl(*several(1)))
    assert batch["expires_at"] == batch["created_at"] + DAY_S


@STRICT
def test_r22_cancelling_what_is_cancelled_is_granted_what_has_ended_otherwise_conflicts(guide: Guide) -> None:
    with guide.held() as cancelled:
        assert [guide.cancel(cancelled).json["status"] for _ in range(2)] == ["cancelling"] * 2
    guide.end(cancelled)
    assert (guide.cancel(cancelled).status, guide.cancel(cancelled).json["status"]) == (200, "cancelled")
    for data in (jsonl(*several(1)), b"{\n"):
        ended = guide.run(data).batch
        answer = guide.cancel(ended)
        assert (answer.status, answer.json["error"]["type"]) == (409, "invalid_request_error")
        assert answer.json["error"]["message"] == f"Cannot cancel a batch with status '{ended['status']}'."
        assert guide.check(ended) == ended


@STRICT
def test_r22_and_of_an_expired_batch_too(serve: Serve, base: str, backend: Client) -> None:
    guide = opened(serve(batch_lifetime_s=1), base, backend)
    with guide.held() as batch:
        guide.until(batch, lambda seen: seen["finalizing_at"] is not None or seen["status"] == "expired")
    assert guide.end(batch).batch["status"] == "expired"
    answer = guide.cancel(batch)
    assert (answer.status, answer.code, answer.headers["x-should-retry"]) == (409, "batch_not_cancellable", "false")


def test_r23_webhooks_verify_with_unwrap_in_both_forms_of_the_secret(
    guide: Guide, sdk: openai.OpenAI, listener: Listener
) -> None:
    made = sdk.webhooks.create(name="r23", url=listener.url, event_types=["batch.completed", "batch.failed"])
    try:
        ended = [guide.run(data).batch for data in (jsonl(*several(1)), b"{\n")]
        heard = listener.wait(2)
        plain = base64.b64decode(made.signing_secret.removeprefix("whsec_")).decode()
        for secret in (made.signing_secret, plain):
            events = [sdk.webhooks.unwrap(each.body, each.headers, secret=secret) for each in heard]
            told = {(event.type, event.data.id) for event in events}  # type: ignore[union-attr]
            assert told == {("batch.completed", ended[0]["id"]), ("batch.failed", ended[1]["id"])}
        assert [event.id for event in events] == [each.headers["webhook-id"] for each in heard]
        for spoiled in (heard[0].body + b" ", heard[1].body):
            with pytest.raises(openai.InvalidWebhookSignatureError):
                sdk.webhooks.unwrap(spoiled, heard[0].headers, secret=made.signing_secret)
    finally:
        sdk.webhooks.delete(made.id)


def test_r23_the_sdk_manages_endpoints(sdk: openai.OpenAI, listener: Listener) -> None:
    made = sdk.webhooks.create(name="mine", url=listener.url, event_types=["batch.completed"])
    try:
        assert sdk.webhooks.event_types.list().data == [
            f"batch.{end}" for end in ["completed", "failed", "cancelled", "expired"]
        ]
        assert [each.id for each in sdk.webhooks.list(limit=1)] == [made.id]
        changed = sdk.webhooks.update(made.id, event_types=["batch.expired"], name="other")
        assert sdk.webhooks.retrieve(made.id) == changed
        assert (changed.name, changed.event_types, changed.url) == ("other", ["batch.expired"], listener.url)
        rotated = sdk.webhooks.rotate_secret(made.id, keep_old_secret_active_for_24_hours=True)
        listener.status = 202
        tested = sdk.webhooks.test(made.id, event_type="batch.expired")
        assert (tested.status_code, tested.webhook_endpoint_id) == (202, made.id)
        (heard,) = listener.wait(1)
        for secret in (made.signing_secret, rotated.signing_secret):
            assert sdk.webhooks.unwrap(heard.body, heard.headers, secret=secret).type == "batch.expired"
    finally:
        gone = sdk.webhooks.delete(made.id)
    assert (gone.deleted, gone.id) == (True, made.id)
    with pytest.raises(openai.NotFoundError):
        sdk.webhooks.retrieve(made.id)


def test_r24_curl_is_told_to_go_on(server: Hornada, base: str, tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    path.write_bytes(jsonl(chat("a", mark() + "x" * 1_000_000), chat("b", mark() + "x" * 1_000_000)))
    url = f"http://127.0.0.1:{server.port}{base}/files"
    command = ["curl", "-sS", "-v", url, "-H", f"Authorization: Bearer {KEY}"]
    command += ["-H", "Expect: 100-continue", "-F", f"file=@{path}", "-F", 'purpose="batch"']
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(run.stdout)["bytes"] == path.stat().st_size
    assert "100 Continue" in run.stderr
