"""Answers that are remembered."""

from hornada.store import idempotency
from hornada.store.database import Database
from hornada.store.idempotency import Remembered
from tests.conftest import Hands

DAY_S = 86_400


async def remember(db: Database, remembered: Remembered, *, key: str = "k") -> bool:
    async with db.write() as tx:
        return await idempotency.remember(tx, "org", "files", key, remembered)


async def recall(db: Database, org: str = "org", route: str = "files", key: str = "k") -> Remembered | None:
    async with db.read() as tx:
        return await idempotency.recall(tx, org, route, key)


async def test_an_answer_is_recalled_by_organization_route_and_key(db: Database) -> None:
    answer = Remembered("digest", "answer")
    assert await remember(db, answer)
    assert await recall(db) == answer
    assert await recall(db, org="other") is None
    assert await recall(db, route="batches") is None
    assert await recall(db, key="l") is None


async def test_the_first_answer_stands(db: Database) -> None:
    first = Remembered("digest", "first")
    assert await remember(db, first)
    assert not await remember(db, Remembered("other", "second"))
    assert await recall(db) == first


async def test_after_a_day_a_key_is_as_new(db: Database, clock: Hands) -> None:
    assert await remember(db, Remembered("digest", "first"))
    clock.advance(DAY_S)
    assert await recall(db) is None
    second = Remembered("other", "second")
    assert await remember(db, second)
    assert await recall(db) == second


async def test_old_answers_are_swept_a_few_at_a_time(db: Database, clock: Hands) -> None:
    for key in "abc":
        await remember(db, Remembered("digest", "answer"), key=key)
    clock.advance(DAY_S - 1)
    await remember(db, Remembered("digest", "answer"), key="young")
    clock.advance(1)
    async with db.write() as tx:
        assert [await idempotency.sweep(tx, 2) for _ in range(3)] == [2, 1, 0]
    assert await recall(db, key="young") is not None
