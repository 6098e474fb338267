"""``hornada move``: from one pair of database and store to another, while nobody works on either."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from hornada.blobs import open_blobs
from hornada.config import Config
from hornada.core.clock import SystemClock
from hornada.engine import moving
from hornada.engine.moving import Place
from hornada.service.lock import Locked, data_folder, lock
from hornada.store import connect, migration, worker


async def move(source: Config, target: Config, tell: Callable[[str], None]) -> None:
    """Copies all that lies where ``source`` says to where ``target`` says; see ``engine.moving.move``.

    Raises Locked while a process works on either, and what that raises.
    """
    if source.storage.database == target.storage.database or source.storage.blobs == target.storage.blobs:
        raise ValueError("source and target have the same database or the same blobs")
    ledger = source.storage.ledger
    if ledger is not None and not ledger.exists():
        raise ValueError(f"there is no ledger at {ledger}")
    async with _opened(source) as old, _opened(target) as new:
        async with old.db.read() as tx:
            await migration.require(tx)
        await new.db.migrate()
        for place, which in ((old, "source"), (new, "target")):
            await _check_idle(place, which)
        await moving.move(old, new, tell)


@asynccontextmanager
async def _opened(config: Config) -> AsyncIterator[Place]:
    folder = data_folder(config)
    held = None if folder is None else lock(folder)
    db = await connect(config.storage.database, SystemClock())
    try:
        yield Place(db, open_blobs(config.storage.blobs))
    finally:
        await db.close()
        if held is not None:
            os.close(held)


async def _check_idle(place: Place, which: str) -> None:
    """No process is alive that shares the ledger."""
    async with place.db.read() as tx:
        alive = (await worker.crew(tx)).roles
    if alive:
        raise Locked(f"{sum(alive.values())} hornada processes work on the {which}: stop them first")
