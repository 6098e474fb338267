"""Rows of ``segment``."""

import sqlite3

import asyncpg
import pytest

from hornada.core.segment import Entry, Segment, pack
from hornada.store import chunk as chunks
from hornada.store import segment
from hornada.store.database import Database


def a_segment(idx: int = 0, epoch: int = 1, seq: int = 1, batch: str = "b") -> Segment:
    return Segment(
        batch=batch,
        idx=idx,
        epoch=epoch,
        seq=seq,
        object=f"seg/{batch}/x",
        offset=7,
        length=20,
        sha256="ab",
        model="m",
        n_ok=1,
        n_failed=1,
        index=pack([Entry(0, True, 0, 10), Entry(5, False, 10, 10)]),
    )


async def add(db: Database, *segments: Segment) -> None:
    async with db.write() as tx:
        await segment.insert(tx, list(segments))


async def test_segments_come_back_by_chunk_in_the_order_of_their_making(db: Database) -> None:
    order = [a_segment(2), a_segment(0, 2, 1), a_segment(0, 1, 2), a_segment(0, 1, 1)]
    made = [*order, a_segment(9), a_segment(0, batch="c")]
    await add(db, *made)
    async with db.read() as tx:
        found = await segment.of_chunks(tx, "b", 0, 2)
    assert found == order[::-1]


async def test_a_segment_is_known_once_it_is_committed(db: Database) -> None:
    await add(db, a_segment(1, 2, 3))
    async with db.read() as tx:
        assert await segment.exists(tx, "b", 1, 2, 3)
        assert not await segment.exists(tx, "b", 1, 2, 4)


async def test_a_segment_cannot_be_written_twice(db: Database) -> None:
    await add(db, a_segment())
    with pytest.raises((sqlite3.IntegrityError, asyncpg.UniqueViolationError)):
        await add(db, a_segment())


async def test_segments_go_with_their_chunks(db: Database) -> None:
    await add(db, a_segment(), a_segment(batch="c"))
    async with db.write() as tx:
        await chunks.purge(tx, "b")
        assert await segment.of_chunks(tx, "b", 0, 9) == []
        assert len(await segment.of_chunks(tx, "c", 0, 9)) == 1
