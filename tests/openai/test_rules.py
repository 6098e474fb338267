"""The rules for a server that OpenAI's clients can trust, by number. R25: test_azure."""

import base64
import json
import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import openai
import pytest

from bench.client import Client
from bench.hornada import KEY, Hornada
from tests.listener import Listener
from tests.openai import wire
from tests.openai.conftest import MOUNTED, SLASHED, SMALL, opened, strict
from tests.seed.conftest import Serve
from tests.seed.guide import CHAT, Guide, Json, chat, jsonl, mark, refused, several

ONE = pytest.mark.parametrize("base", ["/v1"])
STRICT = pytest.mark.parametrize("base", ["/strict/v1"])
PLAIN = pytest.mark.parametrize("base", [path for path, name in MOUNTED.items() if name != "novita"])
DAY_S = 86_400
PURPOSE = wire.part("purpose", b"batch")
ENVELOPE = {"message", "type", "param", "code"}


def a_file(data: bytes | None = None, filename: str | None = "in.jsonl", *headers: str) -> bytes:
    data = jsonl(*several(1)) if data is None else data
    return wire.part("file", data, *headers, filename=filename)


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "in chunks"])
@pytest.mark.parametrize("file_first", [False, True], ids=["purpose first", "file first"])
def test_r01_parts_in_any_order_with_or_without_a_length(
    server: Hornada, base: str, *, chunked: bool, file_first: bool
) -> None:
    parts = [PURPOSE, a_file()]
    answer = wire.upload(server, base, *(reversed(parts) if file_first else parts), chunked=chunked)
    assert (answer.status, answer.json["filename"]) == (200, "in.jsonl")


def test_r01_the_purpose_is_judged_wherever_it_stands(server: Hornada, base: str) -> None:
    answer = wire.upload(server, base, a_file(), wire.part("purpose", b"vision"))
    assert (answer.status, answer.json["error"]["param"]) == (400, "purpose")


@pytest.mark.parametrize("spelling", ["expires_after[{}]", "expires_after.{}"])
def test_r02_both_spellings_of_expires_after(server: Hornada, base: str, spelling: str) -> None:
    policy = [
        wire.part(spelling.format(key), value) for key, value in (("anchor", b"created_at"), ("seconds", b"7200"))
    ]
    file = wire.upload(server, base, *policy, PURPOSE, a_file()).json
    assert file["expires_at"] - file["created_at"] == 7200


@ONE
@pytest.mark.parametrize("name", ["upload", "unknown_file", "a.txt", "x.json", "q%22.jsonl", "año.csv"])
@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "text/csv"])
def test_r03_any_name_and_type_will_do(server: Hornada, base: str, name: str, kind: str) -> None:
    answer = wire.upload(server, base, PURPOSE, a_file(None, name, f"Content-Type: {kind}"))
    assert (answer.status, answer.json["filename"]) == (200, name)


def test_r03_an_empty_file_is_refused(server: Hornada, base: str) -> None:
    answer = wire.upload(server, base, PURPOSE, a_file(b""))
    assert (answer.status, answer.json["error"]["code"], answer.json["error"]["param"]) == (400, "empty_file", "file")


def test_r04_a_part_without_a_file_name_is_still_the_file(server: Hornada, base: str) -> None:
    assert wire.upload(server, base, PURPOSE, a_file(None, None)).status == 200


@ONE
def test_r04_one_field_for_each_byte_is_refused_and_says_what_to_send(server: Hornada, base: str) -> None:
    answer = wire.upload(server, base, PURPOSE, *(wire.part(f"file[{n}]", b"123") for n in range(1000)))
    assert (answer.status, answer.json["error"]["param"]) == (400, "file")
    assert "'file'" in answer.json["error"]["message"]
    headers = [f"X-{n}: {'x' * 1000}" for n in range(40)]
    assert wire.upload(server, base, PURPOSE, a_file(None, "a", *headers)).status == 400


@ONE
@pytest.mark.parametrize("told", [True, False], ids=["with a length", "in chunks"])
def test_r05_too_large_is_said_and_the_rest_is_read(small: Hornada, base: str, *, told: bool) -> None:
    body = wire.form(PURPOSE, a_file(b"x" * (32 * SMALL)))
    framing = ("Content-Length", str(len(body))) if told else ("Transfer-Encoding", "chunked")
    start = wire.head("POST", f"{base}/files", ("Content-Type", wire.FORM), framing)
    answer = wire.send(small, start, *([body] if told else wire.chunks(body, 100_000)))
    assert (answer.status, answer.json["error"]["code"]) == (413, "file_too_large")
    assert f"{SMALL:,}" in answer.json["error"]["message"]
    assert answer.headers["connection"] == "close"


@ONE
def test_r06_a_body_that_ends_early_leaves_nothing(server: Hornada, guide: Guide, base: str) -> None:
    before, data = blobs(server), mark().encode()
    body = wire.form(PURPOSE, a_file(data))
    with wire.connect(server) as connection:
        length = ("Content-Length", str(len(body) + 10))
        connection.sendall(wire.head("POST", f"{base}/files", ("Content-Type", wire.FORM), length) + body)
    while blobs(server) != before:
        pass
    assert all(file["bytes"] != len(data) for file in guide.call("GET", "/files?limit=5").json["data"])


def blobs(server: Hornada) -> list[Path]:
    return sorted(path for path in server.blobs.rglob("*") if path.is_file())


@PLAIN
def test_r07_a_file_is_processed_at_once_and_kept_for_30_days(sdk: openai.OpenAI) -> None:
    file = sdk.files.create(file=jsonl(*several(1)), purpose="batch")
    assert sdk.files.wait_for_processing(file.id, poll_interval=600).status == "processed"
    assert file.expires_at == file.created_at + 30 * DAY_S


@ONE
def test_r08_a_file_can_be_used_as_soon_as_it_is_answered(guide: Guide) -> None:
    def pair(_: int) -> int:
        return guide.client.create(guide.upload(jsonl(*several(1)))["id"]).status

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(pair, range(100))) == {200}


@ONE
def test_r09_lists_are_walked_whole_and_in_order(serve: Serve, base: str, backend: Client) -> None:
    server = serve()
    guide = opened(server, base, backend)

    def store(_: int) -> str:
        return str(guide.upload(jsonl(*several(1)))["id"])

    with ThreadPoolExecutor(8) as threads:
        made = set(threads.map(store, range(250)))
    batches = {guide.create(file)["id"] for file in sorted(made)[:25]}
    with strict(server, base) as client:
        seen = list(client.files.list(limit=100, purpose="batch"))
        walked = [batch.id for batch in client.batches.list(limit=10)]
        back = [file.id for file in client.files.list(limit=100, order="asc", purpose="batch")]
    assert (len(seen), {file.id for file in seen}) == (250, made)
    assert back == [file.id for file in reversed(seen)]
    assert (len(walked), set(walked)) == (25, batches)
    whole = guide.call("GET", "/files?limit=250&purpose=batch").json
    assert (len(whole["data"]), whole["has_more"]) == (250, False)


def test_r09_an_unknown_cursor_is_not_found(guide: Guide) -> None:
    for path in ("/files", "/batches"):
        answer = guide.call("GET", f"{path}?after=nosuch")
        assert (answer.status, answer.json["error"]["param"]) == (404, "after")
        assert guide.call("GET", f"{path}?limit=1").json["has_more"] in {True, False}


def test_r10_every_refusal_is_an_envelope_with_a_request_id(server: Hornada, guide: Guide) -> None:
    paths = Client(f"http://127.0.0.1:{server.port}").call("GET", "/openapi.json").json["paths"]
    own = [path for path in paths if not path.startswith(("/admin", "/healthz", "/readyz", "/metrics", "/docs"))]
    assert {"/files", "/uploads/{id}/parts", "/batches/{id}/cancel", "/chat/completions", "/models"} <= set(own)
    asked = 0
    for path in [*own, "/nothing", "/files/a/b/c/d", "/"]:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            url = re.sub(r"\{\w+\}", "nosuch", path)
            for body in (None, b"", b"{", b"[]", b"\xff"):
                answer = guide.call(method, url, body, {"Content-Type": "application/json"})
                if answer.status < 400:
                    continue
                asked += 1
                assert set(answer.json["error"]) >= ENVELOPE, (method, url, answer.body)
                assert isinstance(answer.json["error"]["message"], str)
                assert isinstance(answer.json["error"]["code"], str)
                assert answer.headers["content-type"] == "application/json"
                assert answer.headers["x-request-id"]
                assert answer.status < 500, (method, url, answer.body)
    assert asked > 200


@ONE
def test_r11_what_a_retry_cannot_mend_is_not_sent_again(serve: Serve, backend: Client, base: str) -> None:
    server = serve(plan={"active_batches": 1})
    guide = opened(server, "/strict/v1", backend)
    with guide.held(10) as first:
        answer = guide.client.create(guide.upload(jsonl(*several(1)))["id"])
    assert (answer.status, answer.code, answer.headers["x-should-retry"]) == (429, "too_many_active_batches", "false")
    guide.client.finish(first["id"], 60)
    late = guide.cancel(first)
    assert (late.status, late.headers["x-should-retry"]) == (409, "false")
    assert attempts(server, lambda sdk: sdk.batches.cancel(first["id"]), openai.ConflictError) == 1


def attempts(server: Hornada, call: Callable[[openai.OpenAI], object], error: type[openai.APIStatusError]) -> int:
    """How often the SDK sends a call before it raises."""
    sent: list[httpx2.Request] = []
    with (
        openai.DefaultHttpxClient(event_hooks={"request": [sent.append]}) as http,
        openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/strict/v1", api_key=KEY, http_client=http) as sdk,
        pytest.raises(error),
    ):
        call(sdk)
    return len(sent)


def test_r12_a_retry_is_asked_for_within_a_minute(serve: Serve, base: str, backend: Client) -> None:
    guide = opened(serve(plan={"requests_per_minute": 1}), base, backend)
    answers = [guide.call("GET", "/batches") for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 429]
    assert 0 < int(answers[1].headers["retry-after"]) <= 60
    assert answers[1].headers.get("x-should-retry") != "false"


@pytest.mark.parametrize("more", [{"x-stainless-retry-count": "1"}, {"Idempotency-Key": ""}])
def test_r13_what_is_sent_again_makes_nothing_new(guide: Guide, more: dict[str, str]) -> None:
    again = {name: value or mark() for name, value in more.items()}
    first = again if "Idempotency-Key" in again else {}
    body = wire.form(PURPOSE, a_file())
    sent = {"Content-Type": wire.FORM}
    files = [guide.call("POST", "/files", body, {**sent, **headers}) for headers in (first, again)]
    assert [answer.status for answer in files] == [200, 200]
    assert files[0].id == files[1].id == files[1].headers["x-deduplicated-from"]
    order = {"input_file_id": files[0].id, "endpoint": CHAT, "completion_window": "24h"}
    batches = [guide.call("POST", "/batches", order, headers) for headers in (first, again)]
    assert batches[0].id == batches[1].id == batches[1].headers["x-deduplicated-from"]


@pytest.mark.parametrize(
    ("headers", "body"),
    [((("Content-Type", "application/json"),), b""), ((), None), ((("Content-Type", "application/json"),), b"{{")],
    ids=["python", "curl", "nonsense"],
)
def test_r14_cancel_and_delete_read_no_body(
    server: Hornada, guide: Guide, base: str, headers: tuple[wire.Header, ...], body: bytes | None
) -> None:
    with guide.held(10) as batch:
        answer = wire.ask(server, "POST", f"{base}/batches/{batch['id']}/cancel", *headers, body=body)
    assert (answer.status, answer.json["status"]) == (200, "cancelling")
    file = guide.upload(jsonl(*several(1)))["id"]
    gone = wire.ask(server, "DELETE", f"{base}/files/{file}", *headers, body=body)
    assert (gone.status, gone.json) == (200, {"id": file, "object": "file", "deleted": True})


def test_r15_content_is_framed_and_can_be_had_in_ranges(server: Hornada, guide: Guide, base: str) -> None:
    data = jsonl(*several(3))
    url = f"{base}/files/{guide.upload(data)['id']}/content"
    for accept in ("application/binary", "text/html", "*/*", "image/png;q=0.1"):
        answer = wire.ask(server, "GET", url, ("Accept", accept), ("Accept-Encoding", "gzip, deflate"))
        assert (answer.status, answer.body, answer.headers["content-length"]) == (200, data, str(len(data)))
        assert "jsonl" in answer.headers["content-type"]
        assert "content-encoding" not in answer.headers
    some = wire.ask(server, "GET", url, ("Range", "bytes=5-9"))
    assert (some.status, some.body, some.headers["content-range"]) == (206, data[5:10], f"bytes 5-9/{len(data)}")


def test_r16_both_forms_of_a_path_are_one_and_nothing_redirects(server: Hornada, guide: Guide, base: str) -> None:
    batch = guide.start(jsonl(*several(1)))
    for path in ("/files", "/batches", "/models", f"/batches/{batch['id']}", f"/files/{batch['input_file_id']}"):
        for form in (path, path + "/"):
            assert wire.ask(server, "GET", base + form).status == 200
    for path in ("/batches/", "/files/", "/uploads/", "/chat/completions/"):
        assert wire.ask(server, "POST", base + path, body=b"").status == 400


@pytest.mark.parametrize("spelled", ["org/m%20big:v1", "org%2Fm%20big%3Av1", "org%2fm%20big:v1"])
def test_r17_slashes_in_the_name_of_a_model(server: Hornada, base: str, spelled: str) -> None:
    answer = wire.ask(server, "GET", f"{base}/models/{spelled}")
    assert (answer.status, answer.json["id"]) == (200, SLASHED)


def test_r17_ids_are_decoded_once_and_dots_lead_nowhere(server: Hornada, guide: Guide, base: str) -> None:
    file = guide.upload(jsonl(*several(1)))["id"]
    for strange in (
        "a%20b%2Fc%3Fd%23%C3%A9",
        "..%2F..%2Fmodels",
        "%2e%2e%2fmodels",
        "%252e%252e",
        f"{file}%2500",
        "%00",
    ):
        for path in (f"/files/{strange}", f"/files/{strange}/content", f"/batches/{strange}"):
            answer = wire.ask(server, "GET", base + path)
            assert (answer.status, set(answer.json["error"]) >= ENVELOPE) == (404, True), path
    assert wire.ask(server, "GET", f"{base}/files/{file.replace('f', '%66', 1)}").json["id"] == file
    assert wire.ask(server, "GET", f"{base}/batches/../models").status == 404


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
    assert {row["response"]["status_code"] for row in ended.output} == {200}
    assert {row["response"]["status_code"] for row in ended.error} == {400}
    assert sorted(row["custom_id"] for row in ended.output + ended.error) == sorted(line["custom_id"] for line in lines)
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
        assert all(type(count) is int for count in batch["request_counts"].values())
    usage = guide.check(fresh)["usage"]
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
