"""Uploads and downloads behind a real server on a real socket, and bytes as real clients send them."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from hornada.api.content import RangeRefused, content
from hornada.api.incoming import Patience
from hornada.api.uploads import Uploads
from hornada.blobs import open_blobs
from hornada.core.account import Plan, Principal, Role
from hornada.core.errors import Code, HornadaError, Refusal
from hornada.core.file import File
from hornada.core.limits import DialectRules, Limits
from hornada.engine.files import Files
from hornada.store import connect
from tests.conftest import Hands

LIMIT = 3 * 1024 * 1024
ANA = Principal(org="org", member="ana", key="key", role=Role.MEMBER, plan=Plan())
RULES = DialectRules(name="infernode", deduplicate=False)
STATUS = {Code.FILE_TOO_LARGE: 413, Code.UNSUPPORTED_ENCODING: 415, Code.RANGE_NOT_SATISFIABLE: 416}


class Wire:
    """The smallest application around the two handlers; its address, and what it has stored."""

    def __init__(self, folder: Path, **options: float) -> None:
        self.folder = folder
        self.options = options
        self.port = 0
        self.stored: list[File] = []
        self.repeated: list[bool] = []
        self.sent = 0
        self.calls_under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return

        async def counted(message: Any) -> None:
            self.sent += len(message.get("body", b""))
            await send(message)

        self.calls_under_way += 1
        try:
            await self._answer(scope, receive, counted)
        except HornadaError as error:
            code = error.code if isinstance(error, Refusal) else Code.SERVICE_UNAVAILABLE
            body = {"code": code, "param": getattr(error, "param", None), "message": str(error)}
            more = [(b"connection", b"close")] if scope["method"] == "POST" else []
            more += error.headers if isinstance(error, RangeRefused) else []
            await _json(send, STATUS.get(code, 400), body, more)
        finally:
            self.calls_under_way -= 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            file, repeated = await self.uploads(scope, receive, send, ANA, RULES, "req_1")
            self.stored.append(file)
            self.repeated.append(repeated)
            await _json(send, 200, {"id": file.id, "filename": file.name, "bytes": file.bytes}, [])
        else:
            file = await self.files.get(ANA, scope["path"].split("/")[2])
            await content(scope, receive, send, file, self.files.stream, (b"X-Content-SHA256",), "req_2")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        ledger = await connect(f"sqlite:///{self.folder}/ledger.db", Hands())
        await ledger.migrate()
        blobs = open_blobs(f"file://{self.folder}/blobs")
        self.files = Files(ledger, blobs, Hands(), Limits(file_bytes=LIMIT))
        self.uploads = Uploads(self.files, Patience(**self.options))  # type: ignore[arg-type]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await ledger.close()
        await send({"type": "lifespan.shutdown.complete"})

    @property
    def left_on_disk(self) -> list[str]:
        """Files of the blob folder, unfinished ones included."""
        found = (self.folder / "blobs").rglob("*")
        return sorted(path.relative_to(self.folder / "blobs").as_posix() for path in found if path.is_file())

    def bytes_of(self, file: File) -> bytes:
        """What was stored."""
        return (self.folder / "blobs" / file.object).read_bytes()

    def connect(self) -> socket.socket:
        """A plain connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def send(self, *pieces: bytes) -> "Answer":
        """Sends pieces over a connection of their own and reads the answer."""
        with self.connect() as connection:
            for piece in pieces:
                connection.sendall(piece)
            return Answer(connection)


class Answer:
    """A whole answer."""

    def __init__(self, connection: socket.socket, method: str = "GET") -> None:
        response = HTTPResponse(connection, method=method)
        response.begin()
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()
        response.close()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def refusal(self) -> tuple[int, str, str | None]:
        """Status, code and param."""
        return self.status, self.json["code"], self.json["param"]


@contextmanager
def served(folder: Path, **options: float) -> Iterator[Wire]:
    """Serves a Wire on a free port, on a loop of its own."""
    app = Wire(folder, **options)
    config = uvicorn.Config(app, port=0, log_level="error", loop="uvloop", http="httptools", lifespan="on")
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    app.port = listener.getsockname()[1]
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield app
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()


def part(name: str, value: bytes, *headers: bytes, filename: str | None = None) -> bytes:
    """One part, its head as openai-python writes it."""
    disposition = f'Content-Disposition: form-data; name="{name}"'.encode()
    if filename is not None:
        disposition += f'; filename="{filename}"'.encode()
    return b"\r\n".join([disposition, *headers, b"", value])


def form(*parts: bytes, boundary: bytes = b"b0undary") -> bytes:
    """A whole body."""
    opened = b"".join(b"--" + boundary + b"\r\n" + each + b"\r\n" for each in parts)
    return opened + b"--" + boundary + b"--\r\n"


def head(length: int | None, *headers: bytes, boundary: bytes = b"b0undary") -> bytes:
    """The head of an upload; without a length it is chunked."""
    framing = b"Transfer-Encoding: chunked" if length is None else b"Content-Length: %d" % length
    lines = [b"POST /files HTTP/1.1", b"Host: test", framing, *headers]
    if not any(line.lower().startswith(b"content-type:") for line in headers):
        lines.append(b"Content-Type: multipart/form-data; boundary=" + boundary)
    return b"\r\n".join([*lines, b"", b""])


def chunked(body: bytes, size: int = 65_536) -> bytes:
    """A body in chunks."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


async def _json(send: Send, status: int, body: object, headers: list[tuple[bytes, bytes]]) -> None:
    data = json.dumps(body).encode()
    start = [(b"content-length", b"%d" % len(data)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": data})
