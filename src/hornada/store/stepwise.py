"""Migrates a PostgreSQL ledger beside its traffic: one short transaction a step, and no queue behind a lock.

``ALTER TABLE`` waits for whoever uses the table, and everybody who comes later waits behind it. So a step waits for a
second at most, lets go and tries again. Processes that migrate at once take turns by trying, never by waiting inside
of a transaction: an index that is built beside the traffic would wait for that transaction in turn.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from functools import partial

import asyncpg

from hornada.core.errors import Busy, Unavailable
from hornada.store import migration
from hornada.store.database import Database
from hornada.store.statement import for_postgres

_LOCK = 0x686F726E  # any number that nobody else takes
_LOCK_TIMEOUT = "1s"
_PATIENCE_S = 300.0
_CONNECT_TIMEOUT_S = 10.0
_PAUSE_S = (0.2, 1.0)
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX \{online\} (\w+)")


async def migrate(db: Database, url: str, patience_s: float = _PATIENCE_S) -> list[int]:
    """Runs every step that is missing; their numbers.

    Raises Unavailable when others keep a table or the lock for longer than ``patience_s`` seconds, and Broken.
    """
    done: list[int] = []
    while True:
        async with db.read() as tx:
            step = await migration.following(tx)
        if step is None:
            return done
        act = partial(_online, url) if step.online else partial(_step, db)
        if await _patiently(act, patience_s):
            done.append(step.number)


async def _patiently(act: Callable[[], Awaitable[bool]], patience_s: float) -> bool:
    """Tries again for as long as it is somebody else's turn."""
    try:
        async with asyncio.timeout(patience_s):
            while True:
                try:
                    return await act()
                except Unavailable as error:
                    if not (isinstance(error, Busy) or isinstance(error.__cause__, asyncpg.LockNotAvailableError)):
                        raise
                    why = error
                await asyncio.sleep(random.uniform(*_PAUSE_S))  # noqa: S311 - chance here is not security
    except TimeoutError:
        raise Unavailable(f"the database could not be migrated in {patience_s:.0f} s: {why}") from why


async def _step(db: Database) -> bool:
    """Runs the next step in a transaction; False when somebody else has done it meanwhile."""
    async with db.write() as tx:
        row = await tx.row("SELECT pg_try_advisory_xact_lock(:lock) AS mine", lock=_LOCK)
        if not (row and row["mine"]):
            raise Busy("another process migrates it")
        step = await migration.following(tx)
        if step is None or step.online:
            return False
        await tx.run(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
        await migration.run(tx, step)
        return True


async def _online(url: str) -> bool:
    """The same for a step of indexes, on a connection of its own, for as long as it takes."""
    try:
        connection = await asyncpg.connect(url, timeout=_CONNECT_TIMEOUT_S, server_settings={"jit": "off"})
    except (asyncpg.PostgresError, OSError) as error:
        raise Unavailable(f"the database did not answer: {error}") from error
    try:
        if not await connection.fetchval("SELECT pg_try_advisory_lock($1::bigint)", _LOCK):
            raise Busy("another process migrates it")
        return await _indexed(connection)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise Unavailable(f"an index could not be built: {error}") from error
    finally:
        await connection.close()


async def _indexed(connection: asyncpg.Connection) -> bool:
    seen = {row["version"] for row in await connection.fetch("SELECT version FROM schema_version")}
    step = next((step for step in migration.steps() if step.number not in seen), None)
    if step is None or not step.online:
        return False
    for statement in step.statements:
        found = _INDEX.match(statement)
        if found is None:
            raise ValueError(f"not an index built online: {statement}")
        await _drop_broken(connection, found[1])
        await connection.execute(for_postgres(statement).text)
    await connection.execute(
        f"INSERT INTO schema_version (version, applied_at) VALUES ({step.number}, {for_postgres('{now}').text})"  # noqa: S608
    )
    return True


async def _drop_broken(connection: asyncpg.Connection, index: str) -> None:
    """A build that was broken off leaves an index that is kept up to date and never used."""
    asked = "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid"
    if await connection.fetchval(asked, index):
        await connection.execute(f"DROP INDEX CONCURRENTLY {index}")
