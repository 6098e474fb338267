"""Model servers that answer as a test says, and the two clients that are asked the same of them, on both loops."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest
import uvloop

from hornada.core.catalog import Server
from hornada.upstream.general import General
from hornada.upstream.lean import Lean
from hornada.upstream.protocol import Timeouts, Upstream

Handler = Callable[["Visit"], Awaitable[None]]


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@dataclass
class Visit:
    """One connection as the server sees it; ``number`` counts from 1."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    seen: list[bytes] = field(default_factory=list)

    async def request(self) -> bytes | None:
        """The next request whole, head and body, or None when the client has gone."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        request = head + await self.reader.readexactly(length)
        self.seen.append(request)
        return request

    async def say(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def answer(self, body: bytes, *, status: str = "200 OK", headers: bytes = b"") -> None:
        await self.say(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n%b\r\n%b" % (status.encode(), len(body), headers, body))

    async def gone(self) -> bool:
        """Waits until the client has closed the connection."""
        try:
            return not await asyncio.wait_for(self.reader.read(1), 60)
        except ConnectionError:
            return True


@dataclass
class ModelServer:
    """A listening socket and every connection that was made to it."""

    port: int
    visits: list[Visit]

    @property
    def seen(self) -> list[bytes]:
        return [request for visit in self.visits for request in visit.seen]


@asynccontextmanager
async def serving(handler: Handler, **listen: object) -> AsyncIterator[ModelServer]:
    """Runs ``handler`` for every connection; what it leaves open is closed when it returns."""
    visits: list[Visit] = []
    tasks: set[asyncio.Task[None]] = set()

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        visits.append(Visit(len(visits) + 1, reader, writer))
        try:
            await handler(visits[-1])
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(visit, "127.0.0.1", 0, **listen)
    try:
        yield ModelServer(server.sockets[0].getsockname()[1], visits)
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for each in visits:
            with suppress(AttributeError):  # asyncio's transports forget their loop once they are closed
                each.writer.transport.abort()
        for _ in range(3):
            await asyncio.sleep(0)


Connect = Callable[..., Upstream]


@pytest.fixture(params=["lean", "general"])
async def connect(request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    """Makes a client for a port of this machine, closed when the test ends."""
    async with AsyncExitStack() as stack:

        def connect(port: int, **server: str) -> Upstream:
            known = Server(**{"url": f"http://127.0.0.1:{port}/v1", **server})
            client: Upstream = Lean(known) if request.param == "lean" else General(known)
            stack.push_async_callback(client.close)
            return client

        yield connect


@pytest.fixture
def patient() -> Timeouts:
    return Timeouts(connect=60, first_byte=60, total=120)
