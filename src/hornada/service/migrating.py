"""``hornada migrate``: where a ledger's schema stands, and bringing it up to date beside the processes that use it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hornada.config import Config
from hornada.core.clock import SystemClock
from hornada.store import connect, migration
from hornada.store.database import Database
from hornada.store.migration import Version

_NOTHING = Version(0, migration.steps()[-1].number, 0, tuple(step.number for step in migration.steps()))


async def look(config: Config) -> Version:
    """Where it stands; a SQLite file that is missing is not made. Raises Unavailable and Broken."""
    ledger = config.storage.ledger
    if ledger is not None and not ledger.exists():
        return _NOTHING
    async with _opened(config) as db, db.read() as tx:
        return await migration.version(tx)


async def migrate(config: Config) -> list[str]:
    """Takes every step that is missing; what each was, such as ``4, uploads``. Raises Unavailable and Broken."""
    topics = {step.number: step.topic for step in migration.steps()}
    async with _opened(config) as db:
        return [f"{number}, {topics[number]}" for number in await db.migrate()]


@asynccontextmanager
async def _opened(config: Config) -> AsyncIterator[Database]:
    db = await connect(config.storage.database, SystemClock())
    try:
        yield db
    finally:
        await db.close()
