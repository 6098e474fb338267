"""A bare gateway, uvicorn and aiohttp: a key in a set, the model read, the call passed on to UPSTREAM."""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import aiohttp
import msgspec

UPSTREAM = os.environ.get("UPSTREAM", "")
KEYS = {b"Bearer sk-test"}
SENT = {"Content-Type": "application/json"}
Message = MutableMapping[str, Any]
_session: list[aiohttp.ClientSession] = []


async def read(receive: Callable[[], Awaitable[Message]]) -> bytes:
    """A request's body."""
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def session() -> aiohttp.ClientSession:
    """The one client."""
    if not _session:
        connector = aiohttp.TCPConnector(limit=2000)
        _session.append(aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=600)))
    return _session[0]


async def ask(path: str, body: bytes) -> tuple[int, bytes]:
    """The upstream's answer."""
    async with session().post(UPSTREAM + path, data=body, headers=SENT) as answer:
        return answer.status, await answer.read()


async def relay(path: str, body: bytes, send: Callable[[Message], Awaitable[None]]) -> None:
    """The upstream's answer, piece by piece as it comes."""
    async with session().post(UPSTREAM + path, data=body, headers=SENT) as answer:
        headers = [(b"content-type", answer.content_type.encode())]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        async for piece in answer.content.iter_any():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def app(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """The ASGI application."""
    if scope["type"] != "http":
        return
    body = await read(receive)
    status, data = 401, b"{}"
    if dict(scope["headers"]).get(b"authorization") in KEYS:
        if body:
            asked = msgspec.json.decode(body)
            asked["model"]
            if asked.get("stream"):
                await relay(scope["path"], body, send)
                return
            status, data = await ask(scope["path"], body)
        else:
            status = 200
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
