"""A real HTTP server that takes webhooks, and a postman that may go to it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_network
from typing import NamedTuple

from aiohttp import web

from hornada.upstream.postman import Postman

HERE = (ip_network("127.0.0.0/8"),)


class Call(NamedTuple):
    """One message as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Receiver:
    """Answers as it is told, by path; 200 where nothing is said."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.answers: dict[str, web.Response] = {}
        self.held: set[str] = set()
        self.url = ""
        self._arrived = asyncio.Condition()
        self._go = asyncio.Event()

    def answer(self, path: str, status: int, **headers: str) -> None:
        """What messages to a path get from now on."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers[path] = web.Response(status=status, headers=named)

    def of(self, path: str) -> list[Call]:
        """What arrived at a path."""
        return [call for call in self.calls if call.path == path]

    async def arrived(self, n: int) -> None:
        """Waits until so many messages have come."""
        async with asyncio.timeout(60), self._arrived:
            await self._arrived.wait_for(lambda: len(self.calls) >= n)

    def let_go(self) -> None:
        """Answers what is held."""
        self.held.clear()
        self._go.set()

    async def take(self, request: web.Request) -> web.StreamResponse:
        """Takes one message."""
        self.calls.append(Call(request.path, dict(request.headers), await request.read()))
        async with self._arrived:
            self._arrived.notify_all()
        if request.path in self.held:
            await self._go.wait()
        told = self.answers.get(request.path)
        return web.Response(text="ok") if told is None else web.Response(status=told.status, headers=told.headers)


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver on a port of its own."""
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", receiver.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    receiver.url = f"http://127.0.0.1:{port}"
    try:
        yield receiver
    finally:
        receiver.let_go()
        await runner.cleanup()


@asynccontextmanager
async def a_postman() -> AsyncIterator[Postman]:
    """A postman that may go to this machine."""
    postman = Postman(HERE)
    try:
        yield postman
    finally:
        await postman.close()
