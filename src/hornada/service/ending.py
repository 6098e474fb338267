"""How the server stops: first what is in flight, with the door open for who asks how things are, then the door."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from typing import cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hornada.api.traffic import Traffic
from hornada.service.standing import Standing
from hornada.service.wiring import Engine

log = logging.getLogger("hornada")

_LOOK_S = 0.05
_LAST_S = 1
"""What is still being answered when the time of grace is over gets this long, in seconds."""


_UNWIND_S = 5
"""So long a call that was cut off may take to put things in order, in seconds."""


class Cuttable:
    """The application. A call that is ended because the server stops ends without a word: nobody is left to hear it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.cut = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call."""
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            if not self.cut:
                raise


class Quiet(uvicorn.Server):
    """uvicorn with an end of our own.

    It leaves out the signal handling, which would end the process by the signal instead of with 0, and the traceback of
    each call that is cut off.
    """

    def __init__(self, config: uvicorn.Config, app: Cuttable) -> None:
        super().__init__(config)
        self._app = app

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals to the caller."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Takes no connection any more, lets answers that are being given end for a moment, and cuts off the rest."""
        for server in self.servers:
            server.close()
        for each in sockets or []:
            each.close()
        for connection in self._connections:
            connection.shutdown()
        end = asyncio.get_running_loop().time() + _LAST_S
        while (self._connections or self.server_state.tasks) and not self.force_exit:
            if asyncio.get_running_loop().time() >= end:
                break
            await asyncio.sleep(_LOOK_S)
        await self._cut_off()

    async def _cut_off(self) -> None:
        """Ends what is still under way."""
        calls = list(self.server_state.tasks)
        self._app.cut = True
        for connection in self._connections:
            connection.transport.abort()
        for call in calls:
            call.cancel()
        if calls:
            log.warning("%d call%s cut off", len(calls), " was" if len(calls) == 1 else "s were")
            await asyncio.wait(calls, timeout=_UNWIND_S)

    @property
    def _connections(self) -> list[HttpToolsProtocol]:
        return [cast(HttpToolsProtocol, each) for each in self.server_state.connections]


class Ending:
    """``asked`` is called for every SIGTERM and SIGINT: the first stops gracefully, the next one at once."""

    def __init__(
        self, engine: Engine, server: uvicorn.Server, standing: Standing, traffic: Traffic, grace_s: float
    ) -> None:
        self._engine = engine
        self._server = server
        self._standing = standing
        self._traffic = traffic
        self._grace_s = grace_s
        self._task: asyncio.Task[None] | None = None

    def asked(self) -> None:
        """Somebody wants the process to stop."""
        if self._task is None:
            self._standing.stopping = True
            self._task = asyncio.create_task(self._drain())
            return
        self.at_once()

    def at_once(self) -> None:
        """Ends the process without grace; what is done is committed, if it still can be."""
        log.warning("stopping at once")
        self._standing.stopping = True
        self._engine.hurry()
        self._server.force_exit = self._server.should_exit = True

    async def _drain(self) -> None:
        """Nothing new starts; /healthz answers 200 and /readyz 503 until all is done."""
        log.info("stopping: %d calls in flight get up to %g s", self._in_flight, self._grace_s)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._grace_s
        try:
            await self._engine.drain(self._grace_s)
            while self._traffic.open and loop.time() < deadline and not self._server.should_exit:  # noqa: ASYNC110 - once
                await asyncio.sleep(_LOOK_S)
        finally:
            self._server.should_exit = True

    @property
    def _in_flight(self) -> int:
        return self._engine.dispatcher.in_flight + self._traffic.open
