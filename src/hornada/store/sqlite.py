"""The ledger in one SQLite file, for one process.

The standard library's driver on threads of its own, no SQLAlchemy: importing that takes half of the time in which the
server must be ready, and it adds 0.6 ms to a commit that costs 0.1 ms.

One connection writes, because SQLite's own lock is unfair (with eight writers the slowest waits three seconds): tasks
take turns at an asyncio lock. Readers have connections of their own and a consistent view each (WAL).
"""

import asyncio
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from hornada.core.clock import Clock
from hornada.core.errors import Broken, HornadaError, Unavailable
from hornada.store import migration
from hornada.store.database import ALONE, Row, Tx, Value
from hornada.store.lane import Lane
from hornada.store.settled import settled
from hornada.store.statement import Statement, for_sqlite

log = logging.getLogger("hornada")

T = TypeVar("T")
P = TypeVar("P")
Bound = Mapping[str, Value]

READERS = 2
_CACHE_KIB = 512
"""Pages that a connection keeps in memory; the system's own cache holds the rest, once for all connections."""
_BUSY_TIMEOUT_S = 5.0
_AWAY = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    }
)
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Sqlite:
    """A database in a file. Use ``open``."""

    def __init__(self, clock: Clock, writer: "_Connection", readers: Sequence["_Connection"]) -> None:
        self._clock = clock
        self._writer = writer
        self._turn = asyncio.Lock()
        self._readers = readers
        self._idle: asyncio.LifoQueue[_Connection] = asyncio.LifoQueue()
        for reader in readers:
            self._idle.put_nowait(reader)

    @classmethod
    async def open(cls, path: Path, clock: Clock) -> "Sqlite":
        """Opens the file, which is made when it is missing (its folder too), for this user only.

        SQLite gives its other files the mode of this one. Raises Unavailable or Broken.
        """
        _make(path)
        writer = _Connection(path, read_only=False)
        await writer.open()
        readers = [_Connection(path, read_only=True) for _ in range(READERS)]
        for reader in readers:
            await reader.open()
        return cls(clock, writer, readers)

    @asynccontextmanager
    async def read(self, *, single: bool = False) -> AsyncIterator[Tx]:
        """A consistent view; raises Unavailable."""
        reader = await self._idle.get()
        tx = _Transaction(reader, self._clock, None if single else "BEGIN")
        try:
            yield tx
        finally:
            tx.leave()
            self._idle.put_nowait(reader)

    @asynccontextmanager
    async def write(self, *, durable: bool = True) -> AsyncIterator[Tx]:
        """A transaction, durable whatever was asked for; raises Unavailable when it could not be committed."""
        del durable
        async with self._turn:
            tx = _Transaction(self._writer, self._clock, "BEGIN IMMEDIATE")
            try:
                yield tx
                tx.check()
            except BaseException:
                await tx.undo()
                raise
            await tx.commit()

    async def transact(self, work: Callable[[Tx], Coroutine[Any, Any, T]]) -> T:
        """A transaction that is run on the writer's thread from begin to commit; raises Unavailable."""
        async with self._turn:
            tx = _Transaction(_Here(self._writer), self._clock, "BEGIN IMMEDIATE")
            return await settled(self._writer.do(tx.whole, work))

    async def migrate(self) -> list[int]:
        """Brings the schema to this version, in one transaction; the steps that it took."""
        async with self.write() as tx:
            return await migration.migrate(tx)

    async def close(self) -> None:
        """Closes every connection, once the transaction under way has ended."""
        async with self._turn:
            for connection in (self._writer, *self._readers):
                await connection.close()


class _Connection:
    """One connection on one thread; nothing else ever touches it, and its work is done in order."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self._path = path
        self._read_only = read_only
        self._lane = Lane("sqlite-reader" if read_only else "sqlite-writer")
        self._driver: sqlite3.Connection

    async def open(self) -> None:
        await self.do(self._open)

    def do(self, work: Callable[..., T], *args: object) -> "asyncio.Future[T]":
        return self._lane.do(_guarded, work, *args)

    async def close(self) -> None:
        await self.do(self._close)
        self._lane.end()

    @property
    def driver(self) -> sqlite3.Connection:
        return self._driver

    def _open(self) -> None:
        mode = "ro" if self._read_only else "rwc"
        self._driver = driver = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            cached_statements=256,
        )
        driver.row_factory = sqlite3.Row
        driver.execute("PRAGMA foreign_keys = ON")
        driver.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        driver.execute("PRAGMA synchronous = FULL")
        driver.execute("PRAGMA query_only = ON" if self._read_only else "PRAGMA journal_mode = WAL")

    def _close(self) -> None:
        self._driver.close()


class _Here:
    """A connection for work that is on its thread already: nobody waits."""

    def __init__(self, connection: _Connection) -> None:
        self.driver = connection.driver

    async def do(self, work: Callable[..., T], *args: object) -> T:
        return _guarded(work, *args)


class _Transaction:
    """Begins with its first statement. Once a statement has failed, the transaction can only be undone.

    ``begin`` None: one statement alone, which is a transaction by itself.
    """

    def __init__(self, connection: _Connection | _Here, clock: Clock, begin: str | None) -> None:
        self._connection = connection
        self._clock = clock
        self._begin = begin
        self._touched = False
        self._begun = False
        self._failure: BaseException | None = None

    async def rows(self, sql: str, **params: Value) -> Sequence[Row]:
        statement = for_sqlite(sql)
        return await self._do(_fetch_all, statement.text, self._bound(statement, params))

    async def row(self, sql: str, **params: Value) -> Row | None:
        found = await self.rows(sql, **params)
        return found[0] if found else None

    async def run(self, sql: str, **params: Value) -> int:
        statement = for_sqlite(sql)
        return await self._do(_change, statement.text, self._bound(statement, params))

    async def many(self, sql: str, params: Sequence[Mapping[str, Value]]) -> None:
        statement = for_sqlite(sql)
        await self._do(_change_many, statement.text, [self._bound(statement, each) for each in params])

    def check(self) -> None:
        """Raises what spoiled the transaction, should the caller have swallowed it."""
        if self._failure is not None:
            raise self._failure

    async def commit(self) -> None:
        if self._touched:
            await settled(asyncio.ensure_future(self._connection.do(self._commit)))

    async def undo(self) -> None:
        if self._touched:
            await settled(asyncio.ensure_future(self._connection.do(self._undo)))

    def leave(self) -> None:
        """Ends a view. Nobody has to wait: the thread comes to it after whatever still runs, before anything new."""
        if self._touched and self._begin is not None:
            self._connection.do(self._undo)

    def _bound(self, statement: Statement, params: Bound) -> Bound:
        return {**params, "now_": self._clock.now()} if statement.asks_time else params

    async def _do(self, action: Callable[[sqlite3.Connection, str, P], T], text: str, params: P) -> T:
        self.check()
        if self._touched and self._begin is None:
            raise RuntimeError(ALONE)
        self._touched = True
        try:
            return await self._connection.do(self._step, action, text, params)
        except BaseException as error:
            self._failure = error
            raise

    # on the connection's thread

    def whole(self, work: Callable[[Tx], Coroutine[Any, Any, T]]) -> T:
        """All of it: what ``work`` gives, committed."""
        try:
            result = _finished(work(self))
            self.check()
        except BaseException:
            self._undo()
            raise
        if self._begun:
            self._commit()
        return result

    def _step(self, action: Callable[[sqlite3.Connection, str, P], T], text: str, params: P) -> T:
        driver = self._connection.driver
        if not self._begun and self._begin is not None:
            driver.execute(self._begin)
            self._begun = True
        return action(driver, text, params)

    def _commit(self) -> None:
        try:
            self._connection.driver.execute("COMMIT")
        except sqlite3.Error:
            self._undo()
            raise

    def _undo(self) -> None:
        if self._connection.driver.in_transaction:
            self._connection.driver.execute("ROLLBACK")


def _make(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            log.info("new ledger at %s", path)
    except OSError as error:
        raise Unavailable(f"the ledger {path} cannot be made: {error.strerror}") from error


def _finished(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives that never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise RuntimeError("A transaction on the database's thread waited for something else than its statements.")


def _fetch_all(driver: sqlite3.Connection, text: str, params: Bound) -> list[sqlite3.Row]:
    return driver.execute(text, params).fetchall()


def _change(driver: sqlite3.Connection, text: str, params: Bound) -> int:
    return max(driver.execute(text, params).rowcount, 0)


def _change_many(driver: sqlite3.Connection, text: str, params: Sequence[Bound]) -> None:
    driver.executemany(text, params)


def _guarded(work: Callable[..., T], *args: object) -> T:
    try:
        return work(*args)
    except sqlite3.Error as error:
        raise _translated(error) from error


def _translated(error: sqlite3.Error) -> HornadaError | sqlite3.Error:
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary in _AWAY:
        return Unavailable(f"the database did not answer: {error}")
    if primary in _DAMAGED:
        return Broken(f"the database file is damaged: {error}")
    return error
