"""Requests as bytes over a socket, for what no client library sends on purpose."""

import json
import socket
from collections.abc import Iterable
from http.client import HTTPResponse
from typing import Any

from bench.hornada import KEY, Hornada

BOUNDARY = "raw7MA4YWxkTrZu0gW"
FORM = f"multipart/form-data; boundary={BOUNDARY}"
Header = tuple[str, str]


class Answer:
    """A whole answer; header names in lower case."""

    def __init__(self, connection: socket.socket) -> None:
        response = HTTPResponse(connection)
        response.begin()
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()
        response.close()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def connect(server: Hornada) -> socket.socket:
    """A plain connection."""
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def head(method: str, path: str, *headers: Header) -> bytes:
    """Request line and headers, the key among them."""
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {KEY}"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers), "", ""]).encode()


def send(server: Hornada, *pieces: bytes) -> Answer:
    """Sends bytes over a connection of their own and reads the answer."""
    with connect(server) as connection:
        for piece in pieces:
            connection.sendall(piece)
        return Answer(connection)


def ask(server: Hornada, method: str, path: str, *headers: Header, body: bytes | None = None) -> Answer:
    """One call; ``body`` None: not even a Content-Length."""
    length = () if body is None else (("Content-Length", str(len(body))),)
    return send(server, head(method, path, *length, *headers) + (body or b""))


def part(name: str, value: bytes, *headers: str, filename: str | None = None) -> bytes:
    """One part of a form."""
    file = "" if filename is None else f'; filename="{filename}"'
    lines = [f"--{BOUNDARY}", f'Content-Disposition: form-data; name="{name}"{file}', *headers, "", ""]
    return "\r\n".join(lines).encode() + value + b"\r\n"


def form(*parts: bytes) -> bytes:
    """A whole form."""
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def upload(server: Hornada, base: str, *parts: bytes, chunked: bool = False) -> Answer:
    """``POST /files`` with these parts, in this order."""
    body = form(*parts)
    if not chunked:
        return ask(server, "POST", f"{base}/files", ("Content-Type", FORM), body=body)
    start = head("POST", f"{base}/files", ("Content-Type", FORM), ("Transfer-Encoding", "chunked"))
    return send(server, start, *chunks(body))


def chunks(body: bytes, size: int = 1000) -> Iterable[bytes]:
    """The body in HTTP's chunks."""
    for at in range(0, len(body), size):
        piece = body[at : at + size]
        yield f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
    yield b"0\r\n\r\n"
