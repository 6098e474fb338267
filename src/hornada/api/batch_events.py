"""``GET /batches/{id}/events``: server-sent events that tell how a batch gets on, until it has ended."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from hornada.api.call import Call
from hornada.api.services import Services
from hornada.api.streaming import HEADERS, leaving
from hornada.core.account import Role
from hornada.core.batch import TERMINAL, Batch
from hornada.engine.watching import Watched

HEARTBEAT_S = 15.0
"""For so long a stream says nothing; then a comment tells everything in between that it is still there."""
RIGHTS_S = 60.0
"""So often it is asked whether the caller may still look."""
_MEDIA = b"text/event-stream; charset=utf-8"
_LAST = "end"
"""The id of the last event: whoever comes back with it gets 204, on which EventSource stops."""
_RETRY = b"retry: 2000\n\n"
_COMMENT = b": still here\n\n"


class EventCalls:
    """Streams of events."""

    def __init__(self, services: Services, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._watching = services.watching
        self._admission = services.admission
        self._stopping = services.stopping
        self._heartbeat_s = heartbeat_s

    async def events(self, call: Call) -> None:
        """``GET /batches/{id}/events``. Ends with the batch, with the server, or when the client goes."""
        async with self._watching.watch(call.principal, call.params["id"]) as watched:
            known = call.header(b"last-event-id") == _LAST and _over(watched)
            status, headers = (204, HEADERS) if known else (200, ((b"content-type", _MEDIA), *HEADERS))
            await call.send({"type": "http.response.start", "status": status, "headers": headers})
            if not known and call.scope["method"] != "HEAD":
                await self._tell(call, watched)
            await call.send({"type": "http.response.body", "body": b""})

    async def _tell(self, call: Call, watched: Watched) -> None:
        async with leaving(call.receive) as gone:
            await call.send({"type": "http.response.body", "body": _RETRY, "more_body": True})
            async for event in self._events(call, watched, gone):
                await call.send({"type": "http.response.body", "body": event, "more_body": True})

    async def _events(self, call: Call, watched: Watched, gone: "asyncio.Task[None]") -> AsyncIterator[bytes]:
        """What is new, or a comment when nothing was for a while."""
        loop = asyncio.get_running_loop()
        sent, spoke = b"", loop.time()
        asked = spoke
        while (batch := watched.batch) is not None and not gone.done():
            seen, event = watched.seen, _event(call, watched, batch)
            if event != sent:
                sent, spoke = event, loop.time()
                yield event
            if batch.status in TERMINAL or self._stopping():
                return
            if loop.time() - asked >= RIGHTS_S:
                asked = loop.time()
                if not await self._may(call):
                    return
            if loop.time() - spoke >= self._heartbeat_s:
                spoke = loop.time()
                yield _COMMENT
            await _first(gone, watched, seen, spoke + self._heartbeat_s - loop.time())

    async def _may(self, call: Call) -> bool:
        """Whether the caller still has its rights."""
        principal = call.principal
        return principal.role is Role.OPERATOR or await self._admission.holder(principal.key) is not None


def _over(watched: Watched) -> bool:
    return watched.batch is None or watched.batch.status in TERMINAL


async def _first(gone: "asyncio.Task[None]", watched: Watched, seen: int, seconds: float) -> None:
    """Waits until the client has gone, there is news, or the time is over."""
    news = asyncio.create_task(watched.later(seen, max(0.0, seconds)))
    try:
        await asyncio.wait({gone, news}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        news.cancel()


def _event(call: Call, watched: Watched, batch: Batch) -> bytes:
    """The event that says how the batch stands, spelled once for all who watch in one dialect."""
    dialect = call.dialect
    spelled = watched.spelled.get(dialect.name)
    if spelled is None:
        ended = batch.status in TERMINAL
        kind = f"batch.{batch.status.value}" if ended else "batch.progress"
        data = {
            "type": kind,
            "batch": dialect.batch(batch) | dialect.outlook(batch, watched.progress),
            "progress": dialect.progress(batch, watched.progress),
        }
        name = f"id: {_LAST}\n" if ended else ""
        spelled = f"event: {kind}\n{name}data: ".encode() + msgspec.json.encode(data) + b"\n\n"
        watched.spelled[dialect.name] = spelled
    return spelled
