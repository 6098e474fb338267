"""The lock on a ledger in PostgreSQL."""

import asyncio
from collections.abc import Callable

import asyncpg
import pytest

from hornada.core.errors import Taken, Unavailable
from hornada.store import exclusive_lock
from hornada.store.exclusive import Exclusive


@pytest.fixture
def url(fresh_postgres: Callable[[], str]) -> str:
    return fresh_postgres()


@pytest.fixture
def other_url(fresh_postgres: Callable[[], str]) -> str:
    return fresh_postgres()


def lock(url: str) -> Exclusive:
    found = exclusive_lock(url)
    assert found is not None
    return found


def test_a_file_has_no_such_lock() -> None:
    assert exclusive_lock("sqlite:///ledger.db") is None


async def test_one_process_holds_it_and_another_is_told_so(url: str) -> None:
    first, second = lock(url), lock(url)
    await first.check()
    await first.check()
    with pytest.raises(Taken, match="in use by another hornada process"):
        await second.check()
    await first.close()
    await second.check()
    await second.close()


async def test_two_databases_of_a_server_have_two_locks(url: str, other_url: str) -> None:
    both = [lock(url), lock(other_url)]
    for each in both:
        await each.check()
    for each in both:
        await each.close()


async def test_its_end_is_noticed_and_it_is_taken_again(url: str) -> None:
    held = lock(url)
    lost: list[str] = []
    held.on_lost = lambda: lost.append("lost")
    await held.check()
    other = await asyncpg.connect(url)
    await other.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted")
    await other.close()
    while not lost:
        try:
            await held.check()
        except Unavailable as error:
            lost.append(str(error))
    await held.check()
    await held.close()


async def test_a_session_of_its_own_that_got_lost_is_ended(url: str) -> None:
    held = lock(url)
    await held.check()
    lost, held._connection = held._connection, None
    with pytest.raises(Unavailable, match="held by a lost session of this process"):
        await held.check()
    for _ in range(100):  # the server ends it in its own time
        try:
            await held.check()
            break
        except Unavailable:
            continue
    assert lost is not None
    while not lost.is_closed():
        await asyncio.sleep(0)
    await held.close()


async def test_a_database_that_is_away_is_unavailable(url: str) -> None:
    with pytest.raises(Unavailable, match="the lock on the database"):
        await lock("postgresql://postgres@127.0.0.1:1/nothing").check()
