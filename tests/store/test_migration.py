"""The schema and its versions."""

import pytest

from hornada.core.errors import Broken
from hornada.store.database import Database


async def version(db: Database) -> int:
    async with db.read() as tx:
        row = await tx.row("SELECT max(version) AS version FROM schema_version")
    assert row is not None
    return int(row["version"])


async def test_migrating_again_changes_nothing(db: Database) -> None:
    before = await version(db)
    await db.migrate()
    assert await version(db) == before >= 1


async def test_a_database_of_a_newer_version_is_refused(db: Database) -> None:
    async with db.write() as tx:
        await tx.run("INSERT INTO schema_version (version, applied_at) VALUES (9999, 0)")
    with pytest.raises(Broken, match="version 9999"):
        await db.migrate()
    async with db.write() as tx:
        await tx.run("DELETE FROM schema_version WHERE version = 9999")
