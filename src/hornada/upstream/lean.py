"""The client of the hot path: kept-alive HTTP/1.1 connections to one model server, with as little between as can be.

It has no limit of its own on connections: the caller's slots are the limit. A request is never sent twice.
"""

import asyncio
import ssl
import sys
from collections.abc import Mapping

from hornada.core.catalog import Server
from hornada.upstream.connection import Connection
from hornada.upstream.pieces import AnswerPieces
from hornada.upstream.protocol import Answer, AnswerStream, Failure, Fault, Timeouts, Turns
from hornada.upstream.target import Target, checked_headers, lines, trust

_KEEPALIVE_S = 4.0
_SWEEP_S = 0.25


class Lean:
    """One model server at a plain ``http`` or ``https`` address.

    ``keepalive``: seconds after which an idle connection is closed; below the 5 s after which servers built on uvicorn
    close theirs, so that they do not do it while a request is on its way. Deadlines are kept to within 0.25 s.
    """

    def __init__(self, server: Server, *, keepalive: float = _KEEPALIVE_S) -> None:
        self._target = Target(server)
        self._keepalive = keepalive
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._trust: ssl.SSLContext | None = None
        self._ca_file = server.ca_file

    async def send(
        self,
        path: str,
        body: bytes,
        timeouts: Timeouts,
        *,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        turns: Turns | None = None,
    ) -> Answer | Failure:
        """POSTs a JSON body and reads the whole answer."""
        head = self._head(path, len(body), headers)
        now = self._now()
        connection = self._take(now) or await self._dial(timeouts)
        if isinstance(connection, Failure):
            return connection
        waiter = connection.ask(head, body, timeouts, end=now + timeouts.total, max_bytes=max_bytes, turns=turns)
        try:  # as _answer does, without another coroutine
            return await waiter
        except asyncio.CancelledError:
            connection.give_up(waiter)
            raise

    async def stream(
        self, path: str, body: bytes, timeouts: Timeouts, *, headers: Mapping[str, str] | None = None
    ) -> AnswerStream | Failure:
        """The same, returning as soon as the head of the answer is there."""
        head = self._head(path, len(body), headers)
        now = self._now()
        connection = self._take(now) or await self._dial(timeouts)
        if isinstance(connection, Failure):
            return connection
        pieces = AnswerPieces(connection, timeouts.first_byte)
        end = now + timeouts.total
        waiter = connection.ask(head, body, timeouts, end=end, max_bytes=sys.maxsize, into=pieces)
        answer = await _answer(connection, waiter, pieces)
        if isinstance(answer, Failure):
            return answer
        pieces.status, pieces.headers = answer.status, answer.headers
        return pieces

    async def get(self, path: str, timeouts: Timeouts, *, max_bytes: int) -> Answer | Failure:
        """GETs ``path`` below the base address, or below the host's root when it starts with ``//``."""
        head = self._target.head("GET", path) + b"\r\n"
        now = self._now()
        connection = self._take(now) or await self._dial(timeouts)
        if isinstance(connection, Failure):
            return connection
        waiter = connection.ask(head, b"", timeouts, end=now + timeouts.total, max_bytes=max_bytes)
        return await _answer(connection, waiter)

    async def close(self) -> None:
        """Drops every connection."""
        for connection in list(self._all):
            connection.fail(Fault.RESET, f"The client of {self._target.label} was closed.")
        self._idle.clear()
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None

    # --- the pool, as its connections see it -------------------------------------------------------------------------

    def free(self, connection: Connection) -> None:
        """Keeps an idle connection for the next call."""
        now = connection.idle_since = connection.loop.time()
        connection.deadline = now + self._keepalive
        self._idle.append(connection)

    def lost(self, connection: Connection) -> None:
        """Forgets a connection."""
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _head(self, path: str, length: int, headers: Mapping[str, str] | None) -> bytes:
        own = b"" if headers is None else lines(checked_headers(headers))
        return b"%bContent-Length: %d\r\n%b\r\n" % (self._target.head("POST", path), length, own)

    def _take(self, now: float) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.fit(now):
                return connection
            connection.abort()
        return None

    def _now(self) -> float:
        """On the clock of the loop that it lives on from its first call."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop.time()

    async def _dial(self, timeouts: Timeouts) -> Connection | Failure:
        target, loop = self._target, asyncio.get_running_loop()
        limit = min(timeouts.connect, timeouts.total)
        try:
            if target.secure and self._trust is None:
                self._trust = trust(self._ca_file)
            async with asyncio.timeout(limit):
                _, connection = await loop.create_connection(
                    lambda: Connection(self, target.label, loop), target.host, target.port, ssl=self._trust
                )
        except (OSError, UnicodeError) as error:
            why = f"no connection within {limit:g} s" if isinstance(error, TimeoutError) else _reason(error)
            return Failure(Fault.UNREACHABLE, f"{target.label} cannot be reached: {why}.")
        if not connection.alive:
            return Failure(Fault.UNREACHABLE, f"{target.label} closed the connection at once.")
        self._all.add(connection)
        if self._sweeper is None:
            self._sweeper = loop.call_later(_SWEEP_S, self._sweep, loop)
        return connection

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in [each for each in self._all if each.deadline <= now]:
            connection.expire()
        self._sweeper = loop.call_later(_SWEEP_S, self._sweep, loop) if self._all else None


async def _answer(
    connection: Connection, waiter: "asyncio.Future[Answer | Failure]", into: AnswerPieces | None = None
) -> Answer | Failure:
    try:
        return await waiter
    except asyncio.CancelledError:
        connection.give_up(waiter, into)
        raise


def _reason(error: OSError | UnicodeError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or type(error).__name__})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
