"""A session that says words to other processes and hears theirs: PostgreSQL's NOTIFY and LISTEN."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import asyncpg

from hornada.core.errors import Unavailable
from hornada.store.exclusive import FAULTS
from hornada.store.silence import KEEPALIVE

_NAME = "hornada"
_PATIENCE_S = 3.0


class Channel:
    """A session of its own: a transaction that notifies would make all others that do wait for its commit.

    ``on_heard`` is called with each text that another process sent, ``on_lost`` when the session ends by itself.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection | None = None
        self.on_heard: Callable[[str], None] = lambda _: None
        self.on_lost: Callable[[], None] = lambda: None

    async def open(self) -> bool:
        """Listens from now on, if it did not; True if it did not. Raises Unavailable."""
        if self._connection is not None and not self._connection.is_closed():
            await self._do(self._connection.fetchval("SELECT 1"))
            return False
        await self._do(self._listen())
        return True

    async def send(self, texts: Sequence[str]) -> None:
        """Says each text, of 7,999 bytes at most, to everybody but this process; raises Unavailable."""
        if self._connection is None:
            raise Unavailable("the channel to other processes is not open")
        await self._do(self._connection.execute(f"SELECT pg_notify('{_NAME}', t) FROM unnest($1::text[]) AS t", texts))  # noqa: S608

    async def close(self) -> None:
        """Hears nothing any more."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*FAULTS):
                await connection.close(timeout=_PATIENCE_S)

    async def _listen(self) -> None:
        settings = {"application_name": "hornada channel", **KEEPALIVE}
        connection = await asyncpg.connect(self._url, timeout=_PATIENCE_S, server_settings=settings)
        try:
            await connection.add_listener(_NAME, self._heard)
        except BaseException:
            connection.terminate()
            raise
        connection.add_termination_listener(self._ended)
        self._connection = connection

    async def _do(self, act: Awaitable[object]) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await act
        except FAULTS as error:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.terminate()
            raise Unavailable(f"the channel to other processes: {error or type(error).__name__}") from error

    def _heard(self, _connection: object, pid: int, _channel: str, text: object) -> None:
        own = self._connection.get_server_pid() if self._connection is not None else None
        if pid != own and isinstance(text, str):
            self.on_heard(text)

    def _ended(self, connection: object) -> None:
        if self._connection is connection:
            self._connection = None
            self.on_lost()
