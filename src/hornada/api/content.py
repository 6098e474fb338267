"""Sends the bytes of a file: whole, a range of them, or the news that they have not changed."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from urllib.parse import quote

from starlette.types import Receive, Scope, Send

from hornada.core.errors import Code, Refusal
from hornada.core.file import File

Stream = Callable[[File, int, int], AsyncIterator[bytes]]
Headers = list[tuple[bytes, bytes]]

_RANGE = re.compile(rb"[ \t]*bytes[ \t]*=[ \t]*(?:([0-9]{1,99})-([0-9]{0,99})|-([0-9]{1,99}))[ \t]*", re.IGNORECASE)
_TAG = re.compile(rb'(?:W/)?("[^"]*")')
_UNSAFE = re.compile(r'[^ -~]|["\\%]')


class RangeRefused(Refusal):
    """A range beyond the file; whoever renders it adds ``headers`` (RFC 9110, 14.4: the size that there is)."""

    def __init__(self, size: int, asked: str) -> None:
        super().__init__(
            Code.RANGE_NOT_SATISFIABLE, f"Range {asked!r} lies outside the file of {size:,} bytes.", "range"
        )
        self.headers: Headers = [(b"content-range", b"bytes */%d" % size)]


async def content(  # noqa: PLR0917 - the shape of an ASGI application, and what it sends
    scope: Scope,
    receive: Receive,
    send: Send,
    file: File,
    stream: Stream,
    sha_headers: Iterable[bytes],
    request_id: str,
) -> None:
    """Answers GET or HEAD of a file's content with 200, 206 or 304 (RFC 9110).

    One byte range is honoured; several, or nonsense, mean the whole file. Raises RangeRefused for one that lies
    outside, and whatever ``stream`` raises: Unavailable or Broken before the head is sent, or after it, where the
    answer then ends short of its Content-Length.
    """
    asked = dict(scope["headers"])
    headers = _headers(file, sha_headers, request_id)
    tag = _tag(file)
    if b"if-none-match" in asked and _matches(asked[b"if-none-match"], tag):
        await _head(send, 304, headers)
        await send({"type": "http.response.body", "body": b""})
        return
    span = _span(asked, tag, file.bytes) if scope["method"] == "GET" else None
    offset, length = span or (0, file.bytes)
    headers.append((b"content-length", b"%d" % length))
    if span:
        headers.append((b"content-range", b"bytes %d-%d/%d" % (offset, offset + length - 1, file.bytes)))
    status = 206 if span else 200
    if scope["method"] == "HEAD" or not length:
        await _head(send, status, headers)
        await send({"type": "http.response.body", "body": b""})
        return
    await _send(receive, send, status, headers, stream(file, offset, length))


async def _send(receive: Receive, send: Send, status: int, headers: Headers, pieces: AsyncIterator[bytes]) -> None:
    """Sends what ``pieces`` yields until it ends or the client goes; sending to one that has gone is no error."""
    gone = asyncio.create_task(_gone(receive))
    try:
        piece = await anext(pieces)
        await _head(send, status, headers)
        async for later in pieces:
            if gone.done():
                return
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            piece = later
        await send({"type": "http.response.body", "body": piece})
    finally:
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _head(send: Send, status: int, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


def _headers(file: File, sha_headers: Iterable[bytes], request_id: str) -> Headers:
    return [
        (b"content-type", b"application/jsonl; charset=utf-8"),
        (b"accept-ranges", b"bytes"),
        (b"etag", _tag(file)),
        *((name.lower(), file.sha256.encode()) for name in sha_headers),
        (b"content-disposition", _disposition(file.name)),
        (b"cache-control", b"private"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-request-id", request_id.encode()),
    ]


def _tag(file: File) -> bytes:
    return b'"%s"' % file.sha256.encode()


def _disposition(name: str) -> bytes:
    """A name that no reader can take for more than a name (RFC 6266), with its real spelling (RFC 5987)."""
    plain = _UNSAFE.sub("_", name)
    spelled = "" if plain == name else "; filename*=UTF-8''" + quote(name, safe="", errors="replace")
    return f'attachment; filename="{plain}"{spelled}'.encode("ascii")


def _matches(listed: bytes, tag: bytes) -> bool:
    """If-None-Match compares weakly (RFC 9110, 13.1.2)."""
    return listed.strip() == b"*" or tag in _TAG.findall(listed)


def _span(asked: Mapping[bytes, bytes], tag: bytes, size: int) -> tuple[int, int] | None:
    """Offset and length of the range asked for, None for the whole file."""
    found = _RANGE.fullmatch(asked.get(b"range", b""))
    if not found or asked.get(b"if-range", tag).strip() != tag:
        return None
    first, last, suffix = (int(digits) if digits else None for digits in found.groups())
    if first is None:
        first, last = max(size - (suffix or 0), 0), size - 1
    elif last is not None and last < first:
        return None
    if first >= size:
        raise RangeRefused(size, found[0].decode("ascii").strip())
    return first, min(size - 1 if last is None else last, size - 1) - first + 1
