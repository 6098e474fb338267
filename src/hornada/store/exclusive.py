"""The lock on a PostgreSQL ledger, held by a session of its own for as long as a process works on it alone."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import asyncpg

from hornada.core.errors import Taken, Unavailable
from hornada.core.ids import new_id
from hornada.store.silence import KEEPALIVE

_LOCK = 0x686F726F  # any number that nobody else takes; below 2**31, so that pg_locks shows it as objid
_PATIENCE_S = 3.0
FAULTS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""What asyncpg raises of a session that has ended; the third when it ends in the middle of a statement."""
_HOLDER = (
    "SELECT pid, application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory'"
    " AND classid = 0 AND objid = $1 AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class Exclusive:
    """``check`` takes the lock, or finds out whether it is still held. ``on_lost`` is called when its session ends."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._name = f"hornada lock {new_id()}"
        self._connection: asyncpg.Connection | None = None
        self.on_lost: Callable[[], None] = lambda: None

    async def check(self) -> None:
        """Returns when this process holds the lock.

        Raises Taken when another process does, and Unavailable when that cannot be known: the next call tries again.
        """
        try:
            async with asyncio.timeout(_PATIENCE_S):
                if self._connection is None:
                    await self._take()
                else:
                    await self._connection.fetchval("SELECT 1")
        except FAULTS as error:
            self._drop()
            raise Unavailable(f"the lock on the database: {error or type(error).__name__}") from error

    async def close(self) -> None:
        """Lets the lock go."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*FAULTS):
                await connection.close(timeout=_PATIENCE_S)

    async def _take(self) -> None:
        settings = {"application_name": self._name, **KEEPALIVE}
        connection = await asyncpg.connect(self._url, timeout=_PATIENCE_S, server_settings=settings)
        try:
            if not await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
                await self._refuse(connection)
        except BaseException:
            connection.terminate()
            raise
        connection.add_termination_listener(self._ended)
        self._connection = connection

    async def _refuse(self, connection: asyncpg.Connection) -> None:
        """Says who holds the lock; a session of ours that got lost is ended."""
        holder = await connection.fetchrow(_HOLDER, _LOCK)
        if holder is None:
            raise Unavailable("the lock on the database was let go a moment ago")
        if holder["name"] == self._name:
            await connection.execute("SELECT pg_terminate_backend($1)", holder["pid"])
            raise Unavailable("the lock on the database is held by a lost session of this process")
        raise Taken(f"the database is in use by another hornada process (its session is {holder['pid']})")

    def _ended(self, connection: asyncpg.Connection) -> None:
        if self._connection is connection:
            self._connection = None
            self.on_lost()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
