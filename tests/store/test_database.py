"""The seam over both databases."""

import pytest

from hornada.store.database import Database


async def put(db: Database, name: str) -> None:
    async with db.write() as tx:
        await tx.run(
            "INSERT INTO organization (id, name, plan, created_at) VALUES (:name, :name, 'default', {now})", name=name
        )


async def names(db: Database) -> list[str]:
    async with db.read() as tx:
        return [row["name"] for row in await tx.rows("SELECT name FROM organization ORDER BY name")]


async def test_what_a_write_commits_a_read_sees(db: Database) -> None:
    await put(db, "a")
    assert await names(db) == ["a"]


async def test_a_block_that_raises_leaves_nothing(db: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        async with db.write() as tx:
            await tx.run("INSERT INTO organization (id, name, plan, created_at) VALUES ('a', 'a', 'p', 0)")
            1 / 0  # noqa: B018
    assert await names(db) == []
