"""What a model server says of its own queue, where it does: the gauges of vLLM and llama.cpp."""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from hornada.core.catalog import Server
from hornada.core.clock import Clock
from hornada.upstream.protocol import Failure, Fault, Timeouts, Upstream

log = logging.getLogger("hornada")

_VALUE = rb"(?:\{[^\n]*\})?[ \t]+([0-9]+(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?)"
_NAMES = (
    re.compile(rb"vllm:num_requests_(running|waiting)" + _VALUE),
    re.compile(rb"llamacpp:requests_(processing|deferred)" + _VALUE),
)
_RUNNING = frozenset({b"running", b"processing"})
_PATH = "//metrics"
_TIMEOUTS = Timeouts(connect=1, first_byte=1, total=1)
_MOST_BYTES = 8 * 1024 * 1024
_ASK_AGAIN_S = 300.0
_ASK_AGAIN_SOON_S = 5.0


class Load(Struct, frozen=True):
    """Requests that a model's servers work on, and those that wait there.

    ``silent``: a gauge does not answer. ``partly``: a server could not be reached, and is not among them.
    """

    running: int = 0
    waiting: int = 0
    silent: bool = False
    partly: bool = False


def read_gauge(body: bytes) -> Load | None:
    """The load in a Prometheus text; None when it has no gauge that is known."""
    for names in _NAMES:
        found = names.findall(body)
        if found:
            running = sum(float(value) for name, value in found if name in _RUNNING)
            waiting = sum(float(value) for name, value in found if name not in _RUNNING)
            return Load(round(running), round(waiting))
    return None


class Gauges:
    """Asks ``/metrics`` below each server's root; one that publishes no gauge is asked again in five minutes."""

    def __init__(self, upstream: Callable[[Server], Upstream], clock: Clock) -> None:
        self._upstream = upstream
        self._clock = clock
        self._known: set[Server] = set()
        self._not_before: dict[Server, float] = {}

    async def load(self, servers: Sequence[Server]) -> Load | None:
        """The load of several servers in all; None unless each publishes a gauge. A server that is away has none."""
        now = self._clock.monotonic()
        if not servers or any(self._not_before.get(server, now) > now for server in servers):
            return None
        loads = await asyncio.gather(*(self._ask(server) for server in servers))
        if any(load is None for load in loads):
            return None
        known = [load for load in loads if load is not None]
        return Load(
            sum(load.running for load in known),
            sum(load.waiting for load in known),
            any(load.silent for load in known),
            any(load.partly for load in known),
        )

    async def _ask(self, server: Server) -> Load | None:
        answer = await self._upstream(server).get(_PATH, _TIMEOUTS, max_bytes=_MOST_BYTES)
        if isinstance(answer, Failure):
            if server not in self._known:
                self._not_before[server] = self._clock.monotonic() + _ASK_AGAIN_SOON_S
                return None
            unreached = answer.fault is Fault.UNREACHABLE
            return Load(silent=not unreached, partly=unreached)
        load = read_gauge(answer.body) if answer.status == 200 else None
        if load is not None:
            if server not in self._known:
                log.info("%s publishes how many requests wait", server.url)
            self._known.add(server)
        elif answer.status < 500 or answer.status == 501 or server not in self._known:
            self._known.discard(server)
            self._not_before[server] = self._clock.monotonic() + _ASK_AGAIN_S
        else:
            return Load(silent=True)
        return load
