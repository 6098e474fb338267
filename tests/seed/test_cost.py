"""What it costs and what it consumes."""

import socket
from collections.abc import Callable

import pytest

from bench.client import Answer, form
from bench.hornada import KEY
from tests.seed.conftest import At, Serve
from tests.seed.guide import CHAT, EMBED, Ended, Guide, Json, chat, jsonl, mark, refused, several, vectors
from tests.seed.platform import INPUT, OUTPUT, Platform

CONTROL: dict[str, Callable[[Guide], Answer]] = {
    "upload": lambda guide: guide.client.upload(jsonl(*several(1))),
    "create": lambda guide: guide.client.create("file-none"),
    "check": lambda guide: guide.call("GET", "/batches/batch_none"),
    "list": lambda guide: guide.call("GET", "/batches"),
    "cancel": lambda guide: guide.call("POST", "/batches/batch_none/cancel"),
}


def test_in_85_control_calls_draw_on_the_limit(serve: Serve, at: At) -> None:
    guide = at(serve(plan={"requests_per_minute": 5}))
    left = [call(guide).headers["x-ratelimit-remaining-requests"] for call in CONTROL.values()]
    assert left == ["4", "3", "2", "1", "0"]
    for kind, call in CONTROL.items():
        answer = call(guide)
        assert (kind, answer.status, answer.code) == (kind, 429, "rate_limit_exceeded")
        assert 1 <= int(answer.headers["retry-after"]) <= 12
        assert answer.headers["x-ratelimit-remaining-requests"] == "0"


@pytest.mark.parametrize("polite", [True, False], ids=["listens while it sends", "listens when it has sent all"])
def test_in_85_a_refused_upload_is_told_so_however_the_client_sends(serve: Serve, at: At, *, polite: bool) -> None:
    server = serve(plan={"requests_per_minute": 1})
    guide = at(server)
    guide.call("GET", "/batches")
    head, tail = form("input.jsonl", "application/jsonl", "batch", ("purpose", "file"))
    size = len(head) + (30 << 20) + len(tail)
    lines = [f"POST {guide.client.prefix}/files HTTP/1.1", f"Host: x\r\nAuthorization: Bearer {KEY}"]
    lines += [f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {size}", "", ""]
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode() + head)
        if not polite:
            for _ in range(30):
                connection.sendall(bytes(1 << 20))
            connection.sendall(tail)
        answer = b""
        while not answer.endswith(b"}\n") and (piece := connection.recv(65536)):
            answer += piece
        assert answer.startswith(b"HTTP/1.1 429 ")
        assert b"connection: close\r\n" in answer
        assert b"rate_limit_exceeded" in answer


def test_in_85_regular_calls_draw_on_it_too(serve: Serve, at: At) -> None:
    guide = at(serve(plan={"requests_per_minute": 2}))
    assert [guide.ask(mark()).status for _ in range(3)] == [200, 200, 429]
    assert guide.call("POST", CHAT.removeprefix("/v1"), {}).code == "rate_limit_exceeded"


def balance(guide: Guide) -> Json:
    found: Json = guide.call("GET", "/billing/balance").json
    return found


def cost(text: str) -> int:
    """What the model server reports for a text: a token for four characters, and seven of its own."""
    return len(text) // 4 * INPUT + 7 * OUTPUT


def charged(ended: Ended) -> int:
    """What the lines of a batch cost by the usage in their answers."""
    used = [row["response"]["body"]["usage"] for row in ended.output]
    return sum(each["prompt_tokens"] * INPUT + each["completion_tokens"] * OUTPUT for each in used)


def test_in_80_a_line_costs_what_the_call_costs(platform: Platform) -> None:
    guide, name, text = platform.user(10**6), platform.priced(), mark()
    assert guide.ask(text, model=name).status == 200
    one = 10**6 - balance(guide)["balance"]
    assert one == cost(text)
    ended = guide.run(jsonl(*(chat(f"doc-{n}", text, model=name) for n in range(12))))
    assert len(ended.output) == 12
    assert balance(guide)["balance"] == 10**6 - 13 * one


def test_in_81_refused_and_unstarted_lines_are_not_charged(platform: Platform) -> None:
    guide, name, text = platform.user(10**6), platform.priced(capacity=2), mark()
    guide.run(jsonl(*(refused(f"doc-{n}", text, model=name) for n in range(5))))
    assert balance(guide)["balance"] == 10**6
    with guide.held(40, model=name) as batch:
        guide.cancel(batch)
    ended = guide.end(batch)
    assert len(ended.error) >= 38
    assert balance(guide)["balance"] == 10**6 - charged(ended)
    assert ended.batch["cost"] == charged(ended)


def test_in_82_batch_usage_is_kept_apart(platform: Platform) -> None:
    guide = platform.user()
    guide.ask(mark())
    guide.run(jsonl(*several(3)))
    used = guide.call("GET", "/billing/usage?group_by=endpoint").json["data"]
    assert {row["endpoint"]: row["requests"] for row in used} == {CHAT: 1, CHAT + ":batch": 3}
    tokens = {row["endpoint"]: row["total_tokens"] for row in used}
    assert tokens == {CHAT: 15, CHAT + ":batch": 3 * (34 // 4 + 7)}


def test_in_83_the_last_movement_carries_the_marked_endpoint(platform: Platform) -> None:
    guide, name, text = platform.user(10**6), platform.priced(), mark()
    guide.run(jsonl(chat("a", text, model=name)))
    event = balance(guide)["last_event"]
    assert (event["endpoint"], event["model"]) == ("/v1/chat/completions:batch", name)
    assert (event["amount"], event["tokens"]) == (cost(text), len(text) // 4 + 7)
    guide.ask(text, model=name)
    event = balance(guide)["last_event"]
    assert (event["endpoint"], event["amount"]) == ("/v1/chat/completions", cost(text))
    assert balance(guide)["balance"] == 10**6 - 2 * cost(text)


def test_in_83_of_vectors_too(platform: Platform) -> None:
    guide = platform.user()
    body = vectors("a", [mark()])["body"]
    assert guide.run(jsonl(vectors("a", [mark()])), EMBED).answered(1)
    assert balance(guide)["last_event"]["endpoint"] == "/v1/embeddings:batch"
    assert guide.call("POST", "/embeddings", body).status == 200
    assert balance(guide)["last_event"]["endpoint"] == "/v1/embeddings"


def test_in_84_the_last_movement_is_there_without_a_price_too(platform: Platform) -> None:
    guide = platform.user()
    assert (balance(guide)["balance"], balance(guide)["last_event"]) == (None, None)
    guide.run(jsonl(*several(2)))
    event = balance(guide)["last_event"]
    assert (event["endpoint"], event["amount"]) == ("/v1/chat/completions:batch", 0)
    assert set(event) == {"endpoint", "model", "amount", "tokens", "created_at"}
    assert balance(guide)["balance"] is None


def test_in_86_and_87_the_balance_runs_out_halfway(platform: Platform) -> None:
    name, text = platform.priced(capacity=1), mark()
    lines = [chat(f"doc-{n}", text, model=name) for n in range(200)]
    guide = platform.user(100 * cost(text))
    ended = guide.run(jsonl(*lines))
    assert (ended.batch["status"], ended.batch["errors"]) == ("completed", None)
    assert ended.batch["request_counts"] == {"total": 200, "completed": 100, "failed": 100}
    assert [row["custom_id"] for row in ended.output] == [f"doc-{n}" for n in range(100)]
    assert [row["custom_id"] for row in ended.error] == [f"doc-{n}" for n in range(100, 200)]
    assert {(row["response"], row["error"]["code"]) for row in ended.error} == {(None, "insufficient_credits")}
    assert all("balance" in row["error"]["message"] for row in ended.error)
    assert (balance(guide)["balance"], guide.calls(text)) == (0, 100)
    answer = guide.ask(text, model=name)
    assert (answer.status, answer.code) == (402, "insufficient_credits")


def test_in_88_a_batch_without_balance_is_created_and_none_of_its_lines_runs(platform: Platform) -> None:
    guide, name, text = platform.user(0), platform.priced(), mark()
    ended = guide.run(jsonl(*(chat(f"doc-{n}", text, model=name) for n in range(5))))
    assert (ended.batch["status"], ended.output) == ("completed", [])
    assert [row["error"]["code"] for row in ended.error] == ["insufficient_credits"] * 5
    assert guide.calls(text) == 0
    assert {call(guide).status for call in CONTROL.values()} == {200, 404}, "never 402"
