"""A model server on a real socket that answers as a test says and remembers who asked."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


@dataclass
class Say:
    """An answer; ``status`` 0 closes the connection instead."""

    status: int = 200
    body: bytes | None = None
    headers: str = ""


class ModelServer:
    """Counts calls by their text. ``script(text, nth)`` gives the answer to the nth call (from 1) with that text.

    While ``holding``, calls are kept open until ``release``.
    """

    def __init__(self) -> None:
        self.calls = Counter[str]()
        self.open: dict[str, asyncio.Event] = {}
        self.most_open = 0
        self.holding = False
        self.script: Callable[[str, int], Say] = lambda text, nth: Say()
        self.models: list[str] = []
        self.models_status = 200
        self._changed = asyncio.Condition()

    @property
    def total(self) -> int:
        return self.calls.total()

    async def arrived(self, total: int) -> None:
        """Waits until so many calls have come in all."""
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(lambda: self.total >= total)

    def release(self, *texts: str) -> None:
        """Answers these calls, or all that are open."""
        for text in texts or list(self.open):
            self.open[text].set()

    async def gone(self, text: str) -> None:
        """Waits until a call is not open any more: answered, or its caller has gone."""
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(lambda: text not in self.open)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one connection's requests for as long as they come."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next((int(h[15:]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length:")), 0)
                body = await reader.readexactly(length)
                say = await self._answer(head, body, reader)
                if say is None or not say.status:
                    return
                data = say.body if say.body is not None else b""
                writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n" % (say.status, len(data)))
                writer.write(say.headers.encode() + b"\r\n" + data)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, head: bytes, body: bytes, reader: asyncio.StreamReader) -> Say | None:
        if head.startswith(b"GET"):
            return Say(self.models_status, body=msgspec.json.encode({"data": [{"id": name} for name in self.models]}))
        text = text_of(msgspec.json.decode(body))
        async with self._changed:
            self.calls[text] += 1
            nth = self.calls[text]
            self.open[text] = asyncio.Event()
            self.most_open = max(self.most_open, len(self.open))
            self._changed.notify_all()
        try:
            if self.holding and not await _released(self.open[text], reader):
                return None
        finally:
            async with self._changed:
                self.open.pop(text, None)
                self._changed.notify_all()
        say = self.script(text, nth)
        if say.body is None:
            say.body = msgspec.json.encode({"text": text, "usage": USAGE} if say.status == 200 else {"error": {}})
        return say


async def _released(event: asyncio.Event, reader: asyncio.StreamReader) -> bool:
    """Whether the call was released before its caller went away."""
    release = asyncio.ensure_future(event.wait())
    gone = asyncio.ensure_future(reader.read(1))
    done, pending = await asyncio.wait((release, gone), return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return release in done and gone not in done


def text_of(body: dict[str, object]) -> str:
    """What a request asks."""
    messages = body["messages"]
    assert isinstance(messages, list)
    return str(messages[0]["content"])


@asynccontextmanager
async def listening(server: ModelServer, port: int = 0) -> AsyncIterator[str]:
    """Serves on a port of this machine; gives its base URL."""
    tasks = set[asyncio.Task[None]]()
    writers = list[asyncio.StreamWriter]()

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        writers.append(writer)
        try:
            await server.serve(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            tasks.discard(task)

    listener = await asyncio.start_server(visit, "127.0.0.1", port)
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for writer in writers:
            writer.transport.abort()
        for _ in range(3):
            await asyncio.sleep(0)
