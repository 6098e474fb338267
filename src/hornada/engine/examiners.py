"""Processes that check files, one file each; another may stand ready, because starting takes as long as most checks."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator

from hornada.core.errors import Unavailable


class Examiners:
    """Starts each process when it is needed, or one ahead once ``stand_ready`` was called."""

    def __init__(self) -> None:
        self._ahead = False
        self._next: asyncio.Task[_Examiner] | None = None

    def stand_ready(self) -> None:
        """From now on there is a process that waits for a file, until ``close``."""
        self._ahead = True
        self._prepare()

    async def ask(self, question: bytes, more: AsyncIterator[bytes] | None = None) -> bytes:
        """Sends a line to a process, and what follows it; its answer, a line too.

        Raises Unavailable when there can be no process or it died, and what ``more`` raises.
        """
        examiner = await self._take()
        try:
            answer = await examiner.ask(question, more)
            if not answer.endswith(b"\n"):
                status = await asyncio.to_thread(examiner.process.wait)
                raise Unavailable(f"The process that checks files ended with status {status} and no answer.")
        finally:
            await examiner.end()
            self._prepare()
        return answer

    async def close(self) -> None:
        """Ends the process that waits, if there is one."""
        self._ahead = False
        if self._next is not None:
            starting, self._next = self._next, None
            with contextlib.suppress(Unavailable):
                await (await starting).end()

    def _prepare(self) -> None:
        if self._ahead and self._next is None:
            self._next = asyncio.create_task(_start())

    async def _take(self) -> "_Examiner":
        if self._next is not None:
            starting, self._next = self._next, None
            with contextlib.suppress(Unavailable):
                ready = await _started(starting)
                if ready.process.poll() is None:
                    return ready
                await ready.end()
        return await _started(asyncio.create_task(_start()))


class _Examiner:
    """One process (``core.check_main``); ``asks`` is its standard input, ``hears`` its standard output."""

    def __init__(self, process: subprocess.Popen[bytes], asks: socket.socket, hears: socket.socket) -> None:
        self.process = process
        self._asks = asks
        self._hears = hears

    async def ask(self, question: bytes, more: AsyncIterator[bytes] | None) -> bytes:
        async with _connected(self._hears) as (reader, _), _connected(self._asks) as (_, writer):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may need no more, or be dead
                writer.write(question + b"\n")
                if more is not None:
                    async for block in more:
                        writer.write(block)
                        await writer.drain()
                writer.write_eof()
            return await reader.read()

    async def end(self) -> None:
        """Leaves no process behind, whatever happened."""
        self._asks.close()
        self._hears.close()
        self.process.kill()
        await asyncio.to_thread(self.process.wait)


@contextlib.asynccontextmanager
async def _connected(end: socket.socket) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(sock=end)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def _started(starting: asyncio.Task[_Examiner]) -> _Examiner:
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:  # whoever asked is gone; the process will be there all the same
        with contextlib.suppress(Unavailable):
            await (await starting).end()
        raise


async def _start() -> _Examiner:
    """A process that waits for its line; raises Unavailable."""
    try:
        return await asyncio.to_thread(_begin)
    except OSError as error:
        message = f"No process to check a file could be started: {error.strerror}."
        raise Unavailable(message) from error


def _begin() -> _Examiner:
    """Starts it, on a thread: the event loop's own way copies the tables of all our memory, and holds the loop for it.

    To Linux that thread is the parent, with which the process dies; it is one that ends with the loop. In a group of
    its own the process does not hear a terminal's SIGINT: whoever started it ends it. There are two pairs of sockets,
    so that what it leaves unread in one does not take away what it said in the other.
    """
    command = (sys.executable, "-P", "-m", "hornada.core.check_main", str(os.getpid()))
    asks, stdin = socket.socketpair()
    hears, stdout = socket.socketpair()
    with stdin, stdout:
        try:
            process = subprocess.Popen(command, stdin=stdin.fileno(), stdout=stdout.fileno(), process_group=0)
            return _Examiner(process, asks, hears)
        except BaseException:
            asks.close()
            hears.close()
            raise
