"""Lists that are narrowed: every row that passes, once, in order, on both databases."""

import random
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from hornada.core.batch import Batch, BatchFilter, Status
from hornada.core.clock import SECOND
from hornada.core.file import File
from hornada.core.page import Period
from hornada.store import batch, file
from hornada.store.database import Database
from tests.store.nouns import NOW, a_batch, a_file

Pairs = Mapping[str, str]


async def insert(db: Database, *batches: Batch) -> None:
    async with db.write() as tx:
        for each in batches:
            await batch.insert(tx, each, None)


async def paged(db: Database, only: BatchFilter, limit: int = 100) -> list[str]:
    """Every page of a list, one behind the other."""
    found: list[Batch] = []
    while True:
        place = (found[-1].created_at, found[-1].id) if found else None
        async with db.read() as tx:
            page = await batch.page(tx, "org", place, limit, only)
        found += page
        if len(page) < limit:
            return [each.id for each in found]


def with_metadata(pairs: Pairs | None) -> Batch:
    return replace(a_batch(a_file()), metadata=None if pairs is None else dict(pairs))


async def test_batches_are_found_by_status(db: Database) -> None:
    made = {status: replace(a_batch(a_file()), status=status) for status in Status}
    await insert(db, *made.values())
    assert await paged(db, BatchFilter(statuses=frozenset({Status.FAILED}))) == [made[Status.FAILED].id]
    wanted = frozenset({Status.EXPIRED, Status.CANCELLED, Status.COMPLETED})
    assert set(await paged(db, BatchFilter(statuses=wanted))) == {made[status].id for status in wanted}


async def test_batches_are_found_by_time(db: Database) -> None:
    made = [replace(a_batch(a_file()), created_at=NOW + n * SECOND // 2) for n in range(6)]
    await insert(db, *made)
    newest_first = [each.id for each in reversed(made)]
    assert await paged(db, BatchFilter(created=Period(since=NOW + SECOND))) == newest_first[:4]
    assert await paged(db, BatchFilter(created=Period(until=NOW + SECOND))) == newest_first[4:]
    assert await paged(db, BatchFilter(created=Period(since=NOW + SECOND, until=NOW + 2 * SECOND))) == newest_first[2:4]


@pytest.mark.parametrize(
    ("pairs", "wanted", "passes"),
    [
        ({"suite": "a"}, {"suite": "a"}, True),
        ({"x": "1", "suite": "a", "z": ""}, {"suite": "a"}, True),
        ({"x": "1", "suite": "a", "z": ""}, {"z": "", "x": "1"}, True),
        ({"suite": "a"}, {"suite": "b"}, False),
        ({"suite": "a"}, {"suite": "A"}, False),
        ({"suite": "ab"}, {"suite": "a"}, False),
        ({"my suite": "a"}, {"suite": "a"}, False),
        ({"x": "1"}, {"x": "1", "suite": "a"}, False),
        ({}, {"suite": "a"}, False),
        (None, {"suite": "a"}, False),
        ({"": ""}, {"": ""}, True),
        ({'"k"': "\\"}, {'"k"': "\\"}, True),
        ({'x"k': "v"}, {"k": "v"}, False),
        ({"x": '","k":"v'}, {"k": "v"}, False),
        ({"a{": ":", "b": "c"}, {":": ","}, False),
        ({"%": "_"}, {"%": "_"}, True),
        ({"suite": "%"}, {"suite": "x"}, False),
        ({"año": "🎉\n\u2028"}, {"año": "🎉\n\u2028"}, True),
        ({"x": "\0"}, {"x": "\0"}, True),
        ({"x": "\0", "suite": "a"}, {"suite": "a"}, True),
        ({"x": "null"}, {"x": "null"}, True),
    ],
)
async def test_batches_are_found_by_what_their_metadata_hold(
    db: Database, pairs: Pairs | None, wanted: Pairs, passes: bool
) -> None:
    made = with_metadata(pairs)
    await insert(db, made)
    assert await paged(db, BatchFilter(metadata=wanted)) == [made.id] * passes


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_pages_under_a_filter_miss_nothing_and_repeat_nothing(db: Database, limit: int) -> None:
    chance = random.Random(limit)
    kinds: list[Pairs] = [{"k": "v"}, {'x"k': "v"}, {"k": "w"}, {}]
    made = [
        replace(
            with_metadata(chance.choice(kinds)), created_at=NOW + chance.randrange(4), status=chance.choice([*Status])
        )
        for _ in range(60)
    ]
    await insert(db, *made)
    statuses = frozenset({Status.FAILED, Status.IN_PROGRESS, Status.COMPLETED})
    passing = [each for each in made if each.metadata == {"k": "v"} and each.status in statuses]
    expected = [each.id for each in sorted(passing, key=lambda each: (each.created_at, each.id), reverse=True)]
    assert await paged(db, BatchFilter(statuses=statuses, metadata={"k": "v"}), limit) == expected


async def test_files_are_found_by_time(db: Database) -> None:
    made = [a_file(created_at=NOW + n * SECOND // 2) for n in range(6)]
    async with db.write() as tx:
        for each in made:
            await file.insert(tx, each)

    async def listed(order: file.Order, created: Period) -> list[File]:
        async with db.read() as tx:
            return [*await file.page(tx, "org", None, 10, order=order, created=created)]

    assert await listed("asc", Period(since=NOW + SECOND)) == made[2:]
    assert await listed("desc", Period(since=NOW + SECOND, until=NOW + 2 * SECOND)) == made[3:1:-1]
