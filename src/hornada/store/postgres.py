"""The ledger in PostgreSQL, for any number of processes: asyncpg as it is (see ``sqlite`` for why no SQLAlchemy).

PostgreSQL infers a parameter's type from where it stands. Where it cannot (``:x IS NULL``), the statement says it:
``CAST(:x AS BIGINT)``. A ``sum`` of BIGINT is NUMERIC there and needs the same.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, TypeVar

import asyncpg

from hornada.core.clock import Clock
from hornada.core.errors import Unavailable
from hornada.store import silence
from hornada.store.database import ALONE, Row, Tx, Value
from hornada.store.settled import settled
from hornada.store.statement import Statement, for_postgres

T = TypeVar("T")

_CONNECT_TIMEOUT_S = 10.0
_COMMAND_TIMEOUT_S = 60.0
_UNDO_TIMEOUT_S = 5.0
_AWAY = (
    OSError,  # TimeoutError too
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresIOError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)


class Postgres:
    """A database behind a pool that opens connections when they are needed.

    ``clock`` None: the server's time; else this clock's, bound to each statement that asks.
    """

    def __init__(self, url: str, clock: Clock | None, connections: int) -> None:
        self._url = url
        self._connections = connections
        self._clock = clock
        self._pool: asyncpg.Pool | None = None
        self._opening = asyncio.Lock()

    def read(self, *, single: bool = False) -> AbstractAsyncContextManager[Tx]:
        """A consistent view; raises Unavailable."""
        return self._transaction(None if single else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def write(self, *, durable: bool = True) -> AbstractAsyncContextManager[Tx]:
        """A transaction that is durable unless told otherwise; raises Unavailable when it was not confirmed."""
        lazily = "" if durable else "; SET LOCAL synchronous_commit = off"
        limit = f"; SET LOCAL idle_in_transaction_session_timeout = {silence.WRITE_MS}"
        return self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED" + limit + lazily)

    async def transact(self, work: Callable[[Tx], Coroutine[Any, Any, T]]) -> T:
        """A transaction like that of ``write``; raises Unavailable."""
        async with self.write() as tx:
            return await work(tx)

    async def migrate(self) -> list[int]:
        """Brings the schema to this version, beside the traffic; the steps that it took."""
        from hornada.store.stepwise import migrate

        return await migrate(self, self._url)

    async def close(self) -> None:
        """Closes every connection, once the transactions under way have ended."""
        if self._pool is not None:
            await self._pool.close()

    @asynccontextmanager
    async def _transaction(self, begin: str | None) -> AsyncIterator[Tx]:
        pool = await self._opened()
        try:
            connection = await pool.acquire()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            raise _unavailable(error) from error
        try:
            tx = _Transaction(connection, self._clock, begin)
            try:
                await tx.begin()
                yield tx
                tx.check()
            except BaseException:
                await tx.undo()
                raise
            await tx.commit()
        finally:
            await settled(asyncio.ensure_future(_release(pool, connection)))

    async def _opened(self) -> asyncpg.Pool:
        async with self._opening:
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    self._url,
                    min_size=0,
                    max_size=self._connections,
                    timeout=_CONNECT_TIMEOUT_S,
                    command_timeout=_COMMAND_TIMEOUT_S,
                    reset=_nothing,
                    server_settings={"application_name": "hornada", "jit": "off", **silence.KEEPALIVE},
                )
            return self._pool


class _Transaction:
    """Once a statement has failed, the transaction can only be undone.

    ``begin`` None: one statement alone, which is a transaction by itself.
    """

    def __init__(self, connection: asyncpg.Connection, clock: Clock | None, begin: str | None) -> None:
        self._connection = connection
        self._clock = clock
        self._begin = begin
        self._asked = False
        self._failure: BaseException | None = None

    async def rows(self, sql: str, **params: Value) -> Sequence[Row]:
        statement = self._statement(sql)
        found: Sequence[Row] = await self._do(self._connection.fetch, statement.text, *self._bind(statement, params))
        return found

    async def row(self, sql: str, **params: Value) -> Row | None:
        found = await self.rows(sql, **params)
        return found[0] if found else None

    async def run(self, sql: str, **params: Value) -> int:
        statement = self._statement(sql)
        tag = await self._do(self._connection.execute, statement.text, *self._bind(statement, params))
        count = tag.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    async def many(self, sql: str, params: Sequence[Mapping[str, Value]]) -> None:
        statement = self._statement(sql)
        bound = [self._bind(statement, each) for each in params]
        await self._do(self._connection.executemany, statement.text, bound)

    async def begin(self) -> None:
        if self._begin is not None:
            await self._do(self._connection.execute, self._begin)

    def check(self) -> None:
        """Raises what spoiled the transaction, should the caller have swallowed it."""
        if self._failure is not None:
            raise self._failure

    async def commit(self) -> None:
        if self._begin is None:
            return
        await settled(asyncio.ensure_future(self._do(self._connection.execute, "COMMIT")))

    async def undo(self) -> None:
        """Without its connection, the server undoes it by itself; so one that does not answer at once is given up."""
        if self._begin is None and self._failure is None:
            return
        try:
            await settled(asyncio.ensure_future(self._roll_back()))
        except (*_AWAY, asyncpg.InterfaceError, asyncpg.InternalClientError):
            with suppress(asyncpg.InterfaceError):
                self._connection.terminate()

    async def _roll_back(self) -> None:
        async with asyncio.timeout(_UNDO_TIMEOUT_S):
            await self._connection.execute("ROLLBACK")

    def _statement(self, sql: str) -> Statement:
        return for_postgres(sql, bound_time=self._clock is not None)

    def _bind(self, statement: Statement, params: Mapping[str, Value]) -> list[Value]:
        if self._clock is not None and statement.asks_time:
            params = {**params, "now_": self._clock.now()}
        return [params[name] for name in statement.names]

    async def _do(self, call: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        self.check()
        if self._asked and self._begin is None:
            raise RuntimeError(ALONE)
        self._asked = True
        try:
            return await call(*args)
        except (*_AWAY, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
            if not isinstance(error, _AWAY) and not self._is_lost():
                self._failure = error
                raise
            self._failure = _unavailable(error)
            raise self._failure from error
        except BaseException as error:
            self._failure = error
            raise

    def _is_lost(self) -> bool:
        try:
            return bool(self._connection.is_closed())
        except asyncpg.InterfaceError:  # the pool has taken it back
            return True


async def _release(pool: asyncpg.Pool, connection: asyncpg.Connection) -> None:
    with suppress(asyncpg.InternalClientError):  # it has ended, and the pool knew it first
        await pool.release(connection)


async def _nothing(_connection: asyncpg.Connection) -> None:
    """A released connection needs no reset: no statement of ours changes its session."""


def _unavailable(error: BaseException) -> Unavailable:
    return Unavailable(f"the database did not answer: {error or type(error).__name__}")
