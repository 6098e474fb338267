"""Copies a ledger and its bytes to another database and another store, whatever the two are."""

import asyncio
import hashlib
from collections.abc import Callable
from typing import NamedTuple

from hornada.blobs.protocol import Blobs
from hornada.core.errors import Broken
from hornada.store import backup, schema
from hornada.store import chunk as chunks
from hornada.store import stage as stages
from hornada.store import worker as workers
from hornada.store.database import Database, Tx

_ROWS = 1000
_BLOBS_AT_ONCE = 8
_LEASES = 1000


class Place(NamedTuple):
    """Where an installation lies."""

    db: Database
    blobs: Blobs


class Copied(NamedTuple):
    """A blob as it was read back where it was written."""

    size: int
    sha256: str


async def move(source: Place, target: Place, tell: Callable[[str], None]) -> None:
    """Copies bytes, then rows; nobody may work on either meanwhile. ``tell`` hears of each thing that is whole.

    The rows come in one transaction, when every byte was read back: until then the target has none, and the same move
    can be begun again; blobs that it finds whole are not copied again. Leases are ended, so that whoever starts on the
    target takes them up at once. Raises ValueError when the target has rows or blobs that are not the source's, Broken
    when bytes are missing or are not what was written, or the two do not fit, and Unavailable.
    """
    found = await _fitting(source.db, target.db)
    copied = await _copy_blobs(source.blobs, target.blobs)
    tell(f"{len(copied):,} blobs, {sum(blob.size for blob in copied.values()):,} bytes")
    async with source.db.read() as old:
        _check_named(await backup.needed(old), copied)
        async with target.db.write() as new:
            for table in found:
                number = await _copy_rows(old, new, table)
                if number:
                    tell(f"{table.name}: {number:,} rows")
            await _end_leases(new)


async def _fitting(source: Database, target: Database) -> list[schema.Table]:
    """The tables; both have them alike, and the target's are empty."""
    async with source.read() as old, target.read() as new:
        ours, theirs = await schema.tables(old), await schema.tables(new)
        if sorted(map(_shape, ours)) != sorted(map(_shape, theirs)):
            odd = sorted({*map(_shape, ours)} ^ {*map(_shape, theirs)})
            raise Broken(f"the two ledgers do not have the same tables: {odd[0]}")
        for table in theirs:
            number = await schema.count(new, table)
            if number:
                raise ValueError(f"the target is not empty: its table {table.name} has {number:,} rows")
    return ours


def _shape(table: schema.Table) -> str:
    return f"{table.name} ({', '.join(f'{column.name} {column.kind}' for column in sorted(table.columns))})"


async def _copy_rows(old: Tx, new: Tx, table: schema.Table) -> int:
    number, last = 0, None
    while rows := await schema.page(old, table, last, _ROWS):
        await schema.add(new, table, rows)
        number, last = number + len(rows), rows[-1]
    expected, found = await schema.count(old, table), await schema.count(new, table)
    if not number == expected == found:
        raise Broken(f"the table {table.name} has {expected:,} rows, {found:,} were copied: is somebody writing to it?")
    return number


async def _end_leases(tx: Tx) -> None:
    await stages.void(tx)
    await workers.clear(tx)
    while await chunks.void(tx, "", _LEASES):
        pass


async def _copy_blobs(source: Blobs, target: Blobs) -> dict[str, Copied]:
    """Every blob of the source; what the target has of it already is compared and stays."""
    keys = [key async for key, _ in source.keys()]  # noqa: SIM118 - no dict
    there = {key async for key, _ in target.keys()}  # noqa: SIM118 - no dict
    if foreign := there - set(keys):
        raise ValueError(
            f"the target is not empty: it has {len(foreign):,} blobs that the source has not: {min(foreign)}"
        )
    turns = asyncio.Semaphore(_BLOBS_AT_ONCE)
    found: dict[str, Copied] = {}

    async def copy(key: str) -> None:
        async with turns:
            found[key] = await _copy_blob(source, target, key, there=key in there)

    async with asyncio.TaskGroup() as group:
        for key in keys:
            group.create_task(copy(key))
    return found


async def _copy_blob(source: Blobs, target: Blobs, key: str, *, there: bool) -> Copied:
    if there and (found := await _digest(target, key)) == await _digest(source, key):
        return found
    writer = await target.writer(key)
    try:
        async for piece in source.stream(key, 0, await source.size(key)):
            await writer.write(piece)
        await writer.commit()
    except BaseException:
        await writer.abort()
        raise
    found = await _digest(target, key)
    if found != (writer.size, writer.sha256):
        raise Broken(f"{key} was written with the SHA-256 {writer.sha256} and read back with {found.sha256}")
    return found


async def _digest(blobs: Blobs, key: str) -> Copied:
    digest, size = hashlib.sha256(), await blobs.size(key)
    async for piece in blobs.stream(key, 0, size):
        digest.update(piece)
    return Copied(size, digest.hexdigest())


def _check_named(named: list[backup.Named], copied: dict[str, Copied]) -> None:
    for blob in named:
        found = copied.get(blob.key)
        if found is None:
            raise Broken(f"the ledger names {blob.key}, which is missing")
        if found.size < blob.size:
            raise Broken(f"{blob.key} is {blob.size - found.size} bytes short")
        if blob.sha256 is not None and found.sha256 != blob.sha256:
            raise Broken(f"{blob.key} is not what was written: its SHA-256 is {found.sha256}, not {blob.sha256}")
