"""The body of an upload on its way in: read piece by piece, and drained when something in it is refused."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from msgspec import Struct
from starlette.types import Receive, Scope

from hornada.api.multipart import Form, malformed
from hornada.core.errors import Code, HornadaError, Refusal

BLOCK = 1024 * 1024
"""Bytes of the file that are collected before they are written."""


class Patience(Struct, frozen=True, kw_only=True):
    """How much of a refused body is read all the same, and how long a client may say nothing."""

    drain_bytes: int = 256 * 1024 * 1024
    drain_s: float = 30.0
    idle_s: float = 300.0


class Sink(Protocol):
    """Where the file's bytes go."""

    async def write(self, data: bytes) -> None:
        """Takes the next bytes, or raises Refusal."""
        ...


class Body:
    """The bytes of a request, as they come."""

    def __init__(self, receive: Receive, idle_s: float) -> None:
        self._receive = receive
        self._idle_s = idle_s
        self._more = True
        self.begun = False

    async def read(self) -> bytes | None:
        """The next bytes, None behind the last; raises Refusal when the client goes or falls silent."""
        if not self._more:
            return None
        self.begun = True
        try:
            async with asyncio.timeout(self._idle_s):
                message = await self._receive()
        except TimeoutError:
            self._more = False
            raise malformed(f"The body stopped arriving for {self._idle_s:g} seconds.") from None
        if message["type"] == "http.disconnect":
            self._more = False
            raise malformed("The connection closed before the whole body had arrived.")
        self._more = message.get("more_body", False)
        data: bytes = message.get("body", b"")
        return data

    async def drain(self, most: int, seconds: float) -> None:
        """Reads and forgets the rest, up to ``most`` bytes and ``seconds``."""
        with suppress(TimeoutError, Refusal):
            async with asyncio.timeout(seconds):
                while most > 0 and (data := await self.read()) is not None:
                    most -= len(data)


@asynccontextmanager
async def reading(scope: Scope, receive: Receive, patience: Patience) -> AsyncIterator[Body]:
    """The body of a call. When something is refused its rest is read, as far as ``patience`` allows.

    The answer must then say ``connection: close``. The rest is read at all because a client may not listen before it
    has sent everything, and would see a reset instead of the answer (openai-node 6, measured).
    """
    body = Body(receive, patience.idle_s)
    try:
        yield body
    except HornadaError:
        expected = dict(scope["headers"]).get(b"expect", b"")
        if expected.lower() != b"100-continue" or body.begun:
            await body.drain(patience.drain_bytes, patience.drain_s)
        raise


def check_coding(headers: Mapping[bytes, bytes], param: str) -> None:
    """Raises Refusal UNSUPPORTED_ENCODING for a compressed body."""
    coding = headers.get(b"content-encoding", b"identity").strip().lower()
    if coding not in {b"", b"identity"}:
        sent = coding[:64].decode("latin-1")
        message = f"Content-Encoding {sent!r} is not supported for uploads; send the file as it is."
        raise Refusal(Code.UNSUPPORTED_ENCODING, message, param)


def declared(headers: Mapping[bytes, bytes]) -> int:
    """The Content-Length, 0 where there is none."""
    length = headers.get(b"content-length", b"0")
    return int(length[:18]) if length.isdigit() else 0


async def pour(body: Body, form: Form, sink: Sink) -> AsyncGenerator[None, None]:
    """Reads the body to its end, a step for each piece; the sink takes one block while the next one comes.

    Close it (``contextlib.aclosing``): what is being written must have ended before its sink does.
    """
    writing: asyncio.Future[None] | None = None
    try:
        while (data := await body.read()) is not None:
            form.feed(data)
            yield
            if form.taken_bytes >= BLOCK:
                if writing is not None:
                    await writing
                writing = asyncio.ensure_future(sink.write(form.take()))
        if writing is not None:
            await writing
        await sink.write(form.take())
    finally:
        if writing is not None:
            await asyncio.wait([writing])
            writing.exception()  # it was raised above, unless something else went wrong before it
    if not form.whole:
        raise malformed("The body ended before the closing boundary of the form.")
