"""A ledger with its bytes goes to other kinds of storage and back, whole or not at all."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from hornada.blobs import open_blobs
from hornada.core.errors import Broken
from hornada.engine.moving import Place, move
from hornada.store import chunk as chunks
from hornada.store import connect, schema
from hornada.store import file as files
from tests.conftest import Hands
from tests.object_store import ObjectStore
from tests.store.ledgers import accepted, claim
from tests.store.nouns import a_file


class Town:
    """Where an installation lies, and all that is in it."""

    def __init__(self, place: Place) -> None:
        self.place = place

    async def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        async with self.place.db.read() as tx:
            found = {}
            for table in await schema.tables(tx):
                rows = await schema.page(tx, table, None, 100_000)
                found[table.name] = [tuple(row[name] for name, _ in sorted(table.columns)) for row in rows]
        return {name: sorted(rows, key=repr) for name, rows in found.items()}

    async def blobs(self) -> dict[str, bytes]:
        blobs = self.place.blobs
        keys = [key async for key, _ in blobs.keys()]  # noqa: SIM118 - no dict
        return {key: await blobs.read(key, 0, await blobs.size(key)) for key in keys}

    async def put(self, key: str, data: bytes) -> str:
        writer = await self.place.blobs.writer(key)
        await writer.write(data)
        await writer.commit()
        return writer.sha256


@pytest.fixture
async def make(
    tmp_path: Path, clock: Hands, fresh_postgres: Callable[[], str], object_store: ObjectStore
) -> AsyncIterator[Callable[..., Any]]:
    """Makes an empty place of a kind."""
    opened = []

    async def made(kind: str) -> Town:
        at = tmp_path / str(len(opened))
        far = kind == "far"
        url = await asyncio.to_thread(fresh_postgres) if far else f"sqlite:///{at}/ledger.db"
        db = await connect(url, clock)
        opened.append(db)
        await db.migrate()
        return Town(Place(db, open_blobs(object_store.url() if far else f"file://{at}/blobs")))

    yield made
    for db in opened:
        await db.close()


@pytest.fixture
async def near(make: Callable[..., Any]) -> Town:
    """Files with their bytes, a batch with leased and ready chunks, and every kind of value."""
    town: Town = await make("near")
    for at, data in enumerate((b"", b"x" * 11_000_000, b"line\n")):
        file = a_file()
        sha = await town.put(f"input/f{at}", data)
        async with town.place.db.write() as tx:
            await tx.run("INSERT INTO plan VALUES (:n, 1, 2, 3, 4, 5, 6)", n=f"p{at}")
            await files.insert(tx, file)
            await tx.run(
                "UPDATE file SET object = :object, sha256 = :sha, bytes = :size, name = 'ñ ''\"' WHERE id = :id",
                object=f"input/f{at}",
                sha=sha,
                size=len(data),
                id=file.id,
            )
    batch = await accepted(town.place.db, 100, 100, 3)
    assert len(await claim(town.place.db, 100, owner="gone")) == 1
    async with town.place.db.write() as tx:
        await tx.run("DELETE FROM file WHERE id = :id", id=batch.input_file)
    return town


def heard() -> list[str]:
    return []


async def test_everything_arrives_and_can_go_back(near: Town, make: Callable[..., Any]) -> None:
    far, back, told = await make("far"), await make("near"), heard()
    await move(near.place, far.place, told.append)
    assert told[0] == "3 blobs, 11,000,005 bytes"
    assert {"chunk: 3 rows", "file: 3 rows", "plan: 3 rows"} <= set(told)
    assert await far.blobs() == await near.blobs()
    there = await far.rows()
    async with far.place.db.read() as tx:
        assert await chunks.leased_by(tx, "gone") == []
    await move(far.place, back.place, told.append)
    assert (await back.rows(), await back.blobs()) == (there, await near.blobs())
    ours = await near.rows()
    assert {name for name in ours if ours[name] != there[name]} == {"chunk"}  # the lease has ended


async def test_what_is_not_empty_is_refused(near: Town, make: Callable[..., Any]) -> None:
    far = await make("far")
    await far.put("input/foreign", b"")
    with pytest.raises(ValueError, match="1 blobs that the source has not: input/foreign"):
        await move(near.place, far.place, print)
    await far.place.blobs.delete("input/foreign")
    async with far.place.db.write() as tx:
        await tx.run("INSERT INTO plan VALUES ('p', 1, 2, 3, 4, 5, 6)")
    with pytest.raises(ValueError, match="its table plan has 1 rows"):
        await move(near.place, far.place, print)


@pytest.mark.parametrize("fault", ["missing", "short", "changed"])
async def test_bytes_that_are_not_what_the_ledger_says_end_it_before_a_row_is_there(
    near: Town, make: Callable[..., Any], fault: str
) -> None:
    far = await make("far")
    await near.place.blobs.delete("input/f2")
    if fault != "missing":
        await near.put("input/f2", {"short": b"lin", "changed": b"LINE\n"}[fault])
    words = {"missing": "f2, which is missing", "short": "f2 is 2 bytes short", "changed": "f2 is not what was written"}
    with pytest.raises(Broken, match=words[fault]):
        await move(near.place, far.place, print)
    assert not any((await far.rows()).values())
    await near.place.blobs.delete("input/f2")
    await near.put("input/f2", b"line\n")
    await move(near.place, far.place, print)  # begins again: what lies there already is compared, what differs replaced
    assert await far.blobs() == await near.blobs()


async def test_a_column_of_an_unknown_type_ends_it(near: Town, make: Callable[..., Any]) -> None:
    far = await make("far")
    async with far.place.db.write() as tx:
        await tx.run("ALTER TABLE plan ADD COLUMN odd JSONB")
    with pytest.raises(Broken, match=r"plan\.odd is of the type jsonb, which cannot be copied"):
        await move(near.place, far.place, print)


async def test_tables_that_differ_end_it(near: Town, make: Callable[..., Any]) -> None:
    far = await make("far")
    async with far.place.db.write() as tx:
        await tx.run("CREATE TABLE odd (id TEXT PRIMARY KEY)")
    with pytest.raises(Broken, match=r"do not have the same tables: odd \(id text\)"):
        await move(near.place, far.place, print)
