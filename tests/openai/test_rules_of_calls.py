"""The rules for a server that OpenAI's clients can trust, by number: every call, R9 to R17."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import openai
import pytest

from bench.client import Client
from bench.hornada import KEY, Hornada
from tests.openai import wire
from tests.openai.conftest import SLASHED, opened, strict
from tests.openai.rules import ENVELOPE, ONE, PURPOSE, a_file
from tests.seed.conftest import Serve
from tests.seed.guide import CHAT, Guide, jsonl, mark, several


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
    made_at = [file["created_at"] for file in whole["data"]]
    assert made_at == sorted(made_at, reverse=True)
    assert [file["id"] for file in guide.call("GET", "/files?purpose=batch").json["data"][:250]] == [
        file.id for file in seen
    ]
    page = guide.call("GET", "/batches").json
    assert ([each["id"] for each in page["data"]], page["has_more"]) == (walked[:20], True)
    last = guide.call("GET", f"/batches?after={walked[-1]}").json
    assert last == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}


@pytest.mark.parametrize(("path", "most"), [("/files", 10_000), ("/batches", 100)])
def test_r09_a_page_has_its_bounds(guide: Guide, path: str, most: int) -> None:
    for limit in (1, most):
        assert guide.call("GET", f"{path}?limit={limit}").status == 200
    for limit, code in ((0, "integer_below_min_value"), (most + 1, "integer_above_max_value"), ("x", "invalid_type")):
        answer = guide.call("GET", f"{path}?limit={limit}")
        assert (answer.status, answer.code, answer.json["error"]["param"]) == (400, code, "limit")
    assert f"<= {most}" in guide.call("GET", f"{path}?limit={most + 1}").json["error"]["message"]


def test_r09_an_unknown_cursor_is_not_found(guide: Guide) -> None:
    for path in ("/files", "/batches"):
        answer = guide.call("GET", f"{path}?after=nosuch")
        assert (answer.status, answer.json["error"]["param"]) == (404, "after")
        assert answer.json["error"]["code"] == {"/files": "file_not_found", "/batches": "batch_not_found"}[path]
        assert type(guide.call("GET", f"{path}?limit=1").json["has_more"]) is bool


def test_r10_every_refusal_is_an_envelope_with_a_request_id(server: Hornada, guide: Guide) -> None:
    paths = Client(f"http://127.0.0.1:{server.port}").call("GET", "/openapi.json").json["paths"]
    own = [path for path in paths if not path.startswith(("/admin", "/healthz", "/readyz", "/metrics", "/docs"))]
    assert {"/files", "/uploads/{id}/parts", "/batches/{id}/cancel", "/chat/completions", "/models"} <= set(own)
    asked = 0
    for path in [*own, "/nothing", "/files/a/b/c/d", "/"]:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            url = re.sub(r"\{\w+\}", "nosuch", path)
            for body in (None, b"", b"{", b"[]", b"{}", b"\xff"):
                answer = guide.call(method, url, body, {"Content-Type": "application/json"})
                if answer.status < 400:
                    continue
                asked += 1
                assert set(answer.json["error"]) >= ENVELOPE, (method, url, answer.body)
                error = answer.json["error"]
                assert all(type(error[name]) is str and error[name] for name in ("message", "type", "code"))
                assert error["param"] is None or (type(error["param"]) is str and error["param"])
                assert answer.headers["content-type"] == "application/json"
                assert answer.headers["x-request-id"] == error["request_id"]
                assert answer.status < 500, (method, url, answer.body)
    assert asked > 200


@ONE
@pytest.mark.parametrize(
    "sent",
    [
        b"GET /v1/batches HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        b"get /v1/batches HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /v1/batches HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"GET /v1/\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://[:/v1/batches HTTP/1.1\r\nHost: x\r\n\r\n",
        b"hello\r\n\r\n",
    ],
    ids=["header", "method", "length", "path", "address", "no HTTP"],
)
def test_r10_of_what_is_no_http_too(server: Hornada, base: str, sent: bytes) -> None:
    answer = wire.send(server, sent)
    error = answer.json["error"]
    assert (answer.status, error["code"], error["type"]) == (400, "invalid_http", "invalid_request_error")
    assert (set(error), error["param"]) == (ENVELOPE | {"request_id"}, None)
    assert (answer.headers["content-type"], answer.headers["connection"]) == ("application/json", "close")
    assert answer.headers["x-request-id"] == error["request_id"]


def test_r11_what_a_retry_cannot_mend_is_not_sent_again(serve: Serve, backend: Client, base: str) -> None:
    server = serve(plan={"active_batches": 1})
    guide = opened(server, base, backend)
    with guide.held(10) as first:
        file = guide.upload(jsonl(*several(1)))["id"]
        answer = guide.client.create(file)
        told = (answer.status, answer.code, answer.headers["x-should-retry"])
        assert told == (429, "too_many_active_batches", "false")

        def create(sdk: openai.OpenAI) -> object:
            return sdk.batches.create(input_file_id=file, endpoint=CHAT, completion_window="24h")

        assert attempts(server, base, create, openai.RateLimitError) == 1
    guide.client.finish(first["id"], 60)
    late = guide.cancel(first)
    status, error = (409, openai.ConflictError) if base == "/strict/v1" else (400, openai.BadRequestError)
    assert (late.status, late.headers["x-should-retry"]) == (status, "false")
    assert attempts(server, base, lambda sdk: sdk.batches.cancel(first["id"]), error) == 1


def attempts(
    server: Hornada, base: str, call: Callable[[openai.OpenAI], object], error: type[openai.APIStatusError]
) -> int:
    """How often the SDK sends a call before it raises."""
    sent: list[httpx2.Request] = []
    with (
        openai.DefaultHttpxClient(event_hooks={"request": [sent.append]}) as http,
        openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}{base}", api_key=KEY, http_client=http) as sdk,
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
    assert [answer.status for answer in batches] == [200, 200]
    assert batches[0].id == batches[1].id == batches[1].headers["x-deduplicated-from"]
    other = guide.call("POST", "/batches", {**order, "metadata": {"run": "2"}}, again)
    if "Idempotency-Key" in again:
        assert (other.status, other.code) == (400, "idempotency_key_reused")
    else:
        assert (other.status, other.id == batches[0].id) == (200, False)


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
    rest = wire.ask(server, "GET", url, ("Range", "bytes=5-"))
    assert (rest.status, rest.body, rest.headers["content-length"]) == (206, data[5:], str(len(data) - 5))
    last = wire.ask(server, "GET", url, ("Range", "bytes=-7"))
    assert (last.status, last.body) == (206, data[-7:])
    beyond = wire.ask(server, "GET", url, ("Range", f"bytes={len(data)}-"))
    assert (beyond.status, beyond.headers["content-range"]) == (416, f"bytes */{len(data)}")


def test_r16_both_forms_of_a_path_are_one_and_nothing_redirects(server: Hornada, guide: Guide, base: str) -> None:
    batch = guide.start(jsonl(*several(1)))
    for path in ("/files", "/batches", "/models", f"/batches/{batch['id']}", f"/files/{batch['input_file_id']}"):
        for form in (path, path + "/"):
            assert wire.ask(server, "GET", base + form).status == 200
    content = f"{base}/files/{batch['input_file_id']}/content"
    assert wire.ask(server, "GET", content).body == wire.ask(server, "GET", content + "/").body != b""
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
