"""What it consumes: which calls draw on the requests a minute."""

import socket
from collections.abc import Callable

import pytest

from bench.client import Answer, form
from bench.hornada import KEY
from tests.seed.conftest import At, Serve
from tests.seed.guide import CHAT, Guide, jsonl, mark, several

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
        while not answer.endswith(b"}"):
            answer += connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 429 ")
        assert b"connection: close\r\n" in answer
        assert b"rate_limit_exceeded" in answer


def test_in_85_regular_calls_draw_on_it_too(serve: Serve, at: At) -> None:
    guide = at(serve(plan={"requests_per_minute": 2}))
    assert [guide.ask(mark()).status for _ in range(3)] == [200, 200, 429]
    assert guide.call("POST", CHAT.removeprefix("/v1"), {}).code == "rate_limit_exceeded"
