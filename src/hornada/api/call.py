"""One HTTP call as handlers see it, and the response they give."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.types import Message, Receive, Scope, Send

from hornada.core import strict
from hornada.core.account import Principal
from hornada.core.errors import Code, Refusal
from hornada.dialects.protocol import Dialect

Headers = tuple[tuple[bytes, bytes], ...]

JSON_LIMIT = 1024 * 1024
"""Most bytes of a JSON body of a control call."""

JSON = b"application/json"


class ClientGone(Exception):
    """The caller hung up; nobody is left to answer."""


class Response(Struct, frozen=True):
    """A whole answer. Content-Length and x-request-id are added when it is sent."""

    status: int
    body: bytes
    media: bytes = JSON
    headers: Headers = ()


class Outgoing:
    """The ``send`` of one call: every answer that leaves through it carries the request's id, and ``headers``."""

    __slots__ = ("_id", "_send", "headers", "status")

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._id = request_id.encode()
        self.headers: Headers = ()
        self.status = 0

    @property
    def started(self) -> bool:
        """Whether the answer has begun."""
        return self.status != 0

    async def __call__(self, message: Message) -> None:
        """Passes a message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), *self.headers]
            if not any(name == b"x-request-id" for name, _ in headers):
                headers.append((b"x-request-id", self._id))
            message = {**message, "headers": headers}
        await self._send(message)


class Call:
    """One call. ``principal`` is set on every route that asks for a key, ``params`` hold the path's decoded pieces.

    ``closing``: the connection cannot be used again after a refusal, because part of the body was left unread.
    ``route``: the path of its route as the table has it, None when there is none; ``keyed``: it asks for a key.
    ``lingering``: and it closes a moment after the answer, because the client may still be sending.
    """

    __slots__ = (
        "closing",
        "dialect",
        "id",
        "keyed",
        "lingering",
        "params",
        "principal",
        "receive",
        "route",
        "scope",
        "send",
    )

    principal: Principal

    def __init__(self, scope: Scope, receive: Receive, send: Outgoing, request_id: str, dialect: Dialect) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.id = request_id
        self.dialect = dialect
        self.params: Mapping[str, str] = {}
        self.closing = (self.header(b"expect") or "").lower() == "100-continue"
        self.lingering = False
        self.route: str | None = None
        self.keyed = False

    def header(self, name: bytes) -> str | None:
        """The first header of that (lower-case) name."""
        return header(self.scope, name)

    def query(self) -> dict[str, str]:
        """The query's parameters; of a repeated one the last counts."""
        return dict(parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True))

    @property
    def retry(self) -> bool:
        """Whether an official SDK says that it sends this call again (R13)."""
        count = self.header(b"x-stainless-retry-count") or "0"
        return count.isdecimal() and count.strip("0") != ""

    async def json(self) -> dict[str, Any]:
        """The body, which must be a JSON object of at most 1 MiB; raises Refusal."""
        return _object(await self._body())

    async def optional_json(self) -> dict[str, Any]:
        """The body as ``json`` gives it; empty when there is none."""
        body = await self._body()
        return _object(body) if body.strip() else {}

    async def _body(self) -> bytes:
        encoding = self.header(b"content-encoding") or "identity"
        if encoding.lower() != "identity":
            what = f"Content-Encoding '{encoding[:64]}' is not supported for this call; send the body as it is."
            raise Refusal(Code.UNSUPPORTED_ENCODING, what)
        declared = self.header(b"content-length") or "0"
        if declared.isdecimal() and (len(declared) > 18 or int(declared) > JSON_LIMIT):
            raise _too_large(declared)
        pieces: list[bytes] = []
        size, more = 0, True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > JSON_LIMIT:
                raise _too_large(f"more than {JSON_LIMIT}")
            more = message.get("more_body", False)
        return b"".join(pieces)


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of that (lower-case) name."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return None


def json_response(value: object, status: int = 200, headers: Headers = ()) -> Response:
    """A JSON response: compact UTF-8 on one line."""
    return Response(status, msgspec.json.encode(value) + b"\n", JSON, headers)


async def respond(send: Send, response: Response) -> None:
    """Sends a whole response."""
    await start(send, response)
    await send({"type": "http.response.body", "body": response.body})


async def start(send: Send, response: Response) -> None:
    """Sends a response's head."""
    headers = [
        (b"content-type", response.media),
        (b"content-length", str(len(response.body)).encode()),
        *response.headers,
    ]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})


def _object(body: bytes) -> dict[str, Any]:
    """A JSON object; raises Refusal."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"We could not parse the JSON body of your request: {_reason(body, error)}"
        raise Refusal(Code.INVALID_JSON, message) from error
    if not isinstance(value, dict):
        raise Refusal(Code.INVALID_TYPE, "Invalid type for the request body: expected an object.")
    return value


def _too_large(actual: str) -> Refusal:
    message = f"The request body is too large: at most {JSON_LIMIT} bytes are taken here, but got {actual}."
    return Refusal(Code.REQUEST_TOO_LARGE, message)


def _reason(body: bytes, error: Exception) -> str:
    if not body:
        return "it is empty."
    if isinstance(error, RecursionError):
        return "it is nested too deeply."
    return f"{strict.fault(body) or error}."
