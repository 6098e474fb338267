"""How the server stops: first what is in flight, with the door open for who asks how things are, then the door."""

import asyncio
import logging

import uvicorn

from hornada.api.traffic import Traffic
from hornada.service.standing import Standing
from hornada.service.wiring import Engine

log = logging.getLogger("hornada")

_LOOK_S = 0.05
_LAST_S = 1
"""What is still being answered when the time of grace is over gets this long, in seconds."""


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
            if self._traffic.open:
                log.warning("%d calls are cut off", self._traffic.open)
        finally:
            self._server.config.timeout_graceful_shutdown = _LAST_S
            self._server.should_exit = True

    @property
    def _in_flight(self) -> int:
        return self._engine.dispatcher.in_flight + self._traffic.open
