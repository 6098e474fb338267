"""Answers of no known length: their pieces go out as fast as the client takes them, until it has gone."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.types import Receive

from hornada.api.call import Call, Headers

HEADERS: Headers = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-accel-buffering", b"no"),
)


async def stream(call: Call, media: bytes, pieces: AsyncGenerator[bytes, None]) -> None:
    """Answers 200 with what ``pieces`` yields; of an error behind the first piece the client sees that it broke off."""
    async with leaving(call.receive) as gone:
        piece = await anext(pieces, None) if call.scope["method"] != "HEAD" else None
        await call.send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", media), *HEADERS]})
        while piece is not None and not gone.done():
            await call.send({"type": "http.response.body", "body": piece, "more_body": True})
            piece = await anext(pieces, None)
        await call.send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def leaving(receive: Receive) -> AsyncIterator["asyncio.Task[None]"]:
    """A task that is done once the client has gone."""
    gone = asyncio.create_task(_gone(receive))
    try:
        yield gone
    finally:
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
