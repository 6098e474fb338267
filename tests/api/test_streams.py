"""Many streams at once through a real server: slow readers, readers that leave, and those beside them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from tests.api.test_regular import EVENTS, STREAM, App, Client, chunk, client, front
from tests.upstream.conftest import Visit

STREAMS = 50
MIB = 1024 * 1024
EVENT = chunk(b'data: {"choices":[{"delta":{"content":"' + b"x" * 65_000 + b'"}}]}\n\n')


class Flood:
    """A model server that writes events for as long as somebody takes them; ``gone`` counts those who left."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.sent = self.gone = 0
        self.all_gone = asyncio.Event()

    async def __call__(self, visit: Visit) -> None:
        await visit.request()
        await visit.say(EVENTS)
        try:
            while self.sent < self.most:
                await visit.say(EVENT)
                self.sent += len(EVENT)
            await visit.say(b"0\r\n\r\n")
        except ConnectionError:
            self.gone += 1
            self.all_gone.set()


@contextlib.asynccontextmanager
async def begun(app: App, streams: int) -> AsyncIterator[list[Client]]:
    """Streams of which the first event has come."""
    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client(app)) for _ in range(streams)]
        for each in clients:
            each.ask(STREAM)
        for each in clients:
            assert (await each.head())[0] == 200
            await each.chunk()
        yield clients


async def test_fifty_clients_that_leave_in_mid_stream_end_fifty_calls_at_once() -> None:
    dropped, all_dropped = 0, asyncio.Event()

    async def handler(visit: Visit) -> None:
        nonlocal dropped
        await visit.request()
        await visit.say(EVENTS, chunk(b"data: 1\n\n"))
        if await visit.gone():
            dropped += 1
        if dropped == STREAMS:
            all_dropped.set()

    async with front(handler) as app:
        async with begun(app, STREAMS) as clients:
            assert app.gate.regular == STREAMS
            for each in clients:
                each.writer.transport.abort()
            await asyncio.wait_for(all_dropped.wait(), 60)
        while app.gate.regular:
            await asyncio.sleep(0)
    assert len(app.records) == STREAMS, "what they used until then is recorded, once each"


async def test_a_client_that_does_not_read_holds_the_model_server_back_and_loses_nothing() -> None:
    flood = Flood(64 * MIB)
    async with front(flood) as app, client(app) as slow:
        slow.ask(STREAM)
        await slow.head()
        before = -1
        while flood.sent != before:
            before = flood.sent
            await asyncio.sleep(0.1)
        assert flood.sent < 32 * MIB
        read = 0
        while piece := await slow.chunk():
            read += len(piece)
    events = flood.sent // len(EVENT)
    assert read == events * (65_000 + len(b'data: {"choices":[{"delta":{"content":""}}]}\n\n'))


async def test_a_client_that_leaves_without_having_read_ends_the_call() -> None:
    flood = Flood(1024 * MIB)
    async with front(flood) as app:
        async with client(app) as slow:
            slow.ask(STREAM)
            await slow.head()
            await asyncio.sleep(0.1)
            slow.writer.transport.abort()
        await asyncio.wait_for(flood.all_gone.wait(), 60)
    assert flood.sent < 64 * MIB


async def test_streams_beside_slow_readers_go_on() -> None:
    more = asyncio.Semaphore(0)

    async def handler(visit: Visit) -> None:
        request = await visit.request() or b""
        await visit.say(EVENTS)
        if b"quick" in request:
            for number in range(5):
                await more.acquire()
                await visit.say(chunk(b"data: %d\n\n" % number))
            await visit.say(b"0\r\n\r\n")
            return
        with contextlib.suppress(ConnectionError):
            while True:
                await visit.say(EVENT)

    async with front(handler) as app, begun(app, 8), client(app) as quick:
        quick.ask(STREAM.replace(b"hi", b"quick"))
        await quick.head()
        for number in range(5):
            more.release()
            assert await asyncio.wait_for(quick.chunk(), 60) == b"data: %d\n\n" % number
