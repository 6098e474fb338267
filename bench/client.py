"""A small blocking client of an OpenAI-compatible batch server; one connection a call, so it survives a restart."""

import gzip
import http.client
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

TERMINAL = frozenset({"completed", "failed", "cancelled", "expired"})
BOUNDARY = "hornadaboundary7MA4YWxkTrZu0gW"
PIECE = 1 << 18


class Answer:
    """One HTTP answer: status, headers by lower-case name, body, and the body as JSON where it is JSON."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        try:
            self.json: Any = json.loads(body)
        except ValueError:
            self.json = None

    @property
    def ok(self) -> bool:
        """Whether the call was granted."""
        return self.status < 300

    @property
    def code(self) -> str | None:
        """``error.code`` of a refusal."""
        error = self.json.get("error") if isinstance(self.json, dict) else None
        return error.get("code") if isinstance(error, dict) else None

    @property
    def id(self) -> str | None:
        """``id`` of the object answered."""
        return self.json.get("id") if isinstance(self.json, dict) else None


class Unexpected(RuntimeError):
    """A call that had to be granted was not."""


def granted(answer: Answer, what: str) -> dict[str, Any]:
    """The answered object. Raises Unexpected on a refusal."""
    if not answer.ok or not isinstance(answer.json, dict):
        message = f"{what} answered {answer.status} {answer.body[:500]!r}"
        raise Unexpected(message)
    return answer.json


class Client:
    """Calls under one base path, such as ``http://127.0.0.1:8080/v1``, with one key."""

    def __init__(self, base: str, key: str | None = None) -> None:
        address = urlsplit(base)
        self.host = address.hostname or "127.0.0.1"
        self.port = address.port or 80
        self.prefix = address.path.rstrip("/")
        self.key = key

    def headers(self) -> dict[str, str]:
        """What every call carries."""
        return {"Connection": "close", **({"Authorization": f"Bearer {self.key}"} if self.key else {})}

    def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, timeout: float = 120
    ) -> Answer:
        """One call; ``body``: bytes, an iterator of bytes, or an object sent as JSON. Raises OSError, HTTPException."""
        sent = self.headers()
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, self.prefix + path, body=body, headers=sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def upload(
        self,
        data: bytes | Path,
        *,
        filename: str = "input.jsonl",
        content_type: str = "application/jsonl",
        purpose: str = "batch",
        order: Sequence[str] = ("purpose", "file"),
        compressed: bool = False,
        timeout: float = 600,
    ) -> Answer:
        """``POST /files`` as multipart, parts in ``order``; a Path is streamed."""
        head, tail = form(filename, content_type, purpose, order)
        sent = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        if isinstance(data, Path):
            sent["Content-Length"] = str(len(head) + data.stat().st_size + len(tail))
            return self.call("POST", "/files", pieces(head, data, tail), sent, timeout)
        body = head + data + tail
        if compressed:
            body = gzip.compress(body, mtime=0)
            sent["Content-Encoding"] = "gzip"
        return self.call("POST", "/files", body, sent, timeout)

    def create(self, file_id: str, endpoint: str = "/v1/chat/completions", **more: Any) -> Answer:
        """``POST /batches``."""
        body = {"input_file_id": file_id, "endpoint": endpoint, "completion_window": "24h", **more}
        return self.call("POST", "/batches", body)

    def submit(self, data: bytes | Path, endpoint: str = "/v1/chat/completions", **more: Any) -> str:
        """Upload and create; the batch's id. Raises Unexpected when either is refused."""
        file = granted(self.upload(data), "upload")
        return str(granted(self.create(file["id"], endpoint, **more), "create")["id"])

    def batch(self, batch_id: str) -> dict[str, Any]:
        """``GET /batches/{id}``."""
        return granted(self.call("GET", f"/batches/{batch_id}"), "get")

    def watch(self, batch_id: str, timeout: float, poll: float = 0.1) -> Iterator[dict[str, Any]]:
        """The batch now, every ``poll`` seconds, the last one terminal. Raises Unexpected after ``timeout`` seconds."""
        end = time.monotonic() + timeout
        while True:
            found = self.batch(batch_id)
            yield found
            if found["status"] in TERMINAL:
                return
            if time.monotonic() > end:
                message = f"still {found['status']} {found['request_counts']} after {timeout:.0f} s"
                raise Unexpected(message)
            time.sleep(poll)

    def finish(self, batch_id: str, timeout: float, poll: float = 0.1) -> dict[str, Any]:
        """The batch when it has ended."""
        return list(self.watch(batch_id, timeout, poll))[-1]

    def content(self, file_id: str | None) -> bytes:
        """A file's bytes; none for no file."""
        if not file_id:
            return b""
        answer = self.call("GET", f"/files/{file_id}/content", timeout=600)
        if not answer.ok:
            message = f"content answered {answer.status} {answer.body[:500]!r}"
            raise Unexpected(message)
        return answer.body

    def download(self, file_id: str, to: Path) -> None:
        """A file's bytes, streamed to ``to``."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=600)
        try:
            connection.request("GET", f"{self.prefix}/files/{file_id}/content", headers=self.headers())
            response = connection.getresponse()
            if response.status != 200:
                message = f"content answered {response.status} {response.read(500)!r}"
                raise Unexpected(message)
            with to.open("wb") as output:
                while piece := response.read(PIECE):
                    output.write(piece)
        finally:
            connection.close()


def form(filename: str, content_type: str, purpose: str, order: Sequence[str]) -> tuple[bytes, bytes]:
    """The multipart bytes before and after the file's own, parts in ``order``."""
    name = filename.replace("\\", "\\\\").replace('"', "%22")
    field = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n'
    opening = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: {content_type}\r\n\r\n"
    )
    if order[0] == "purpose":
        return (field + opening).encode(), f"\r\n--{BOUNDARY}--\r\n".encode()
    return opening.encode(), f"\r\n{field}--{BOUNDARY}--\r\n".encode()


def pieces(head: bytes, path: Path, tail: bytes) -> Iterator[bytes]:
    """``head``, the file and ``tail`` in pieces of at most 256 KiB."""
    yield head
    with path.open("rb") as source:
        while piece := source.read(PIECE):
            yield piece
    yield tail
