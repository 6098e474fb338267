"""When keys were last used."""

import pytest

from hornada.core.account import ApiKey
from hornada.engine.keyuse import KeyUse
from hornada.store import key as keys
from hornada.store.database import Database
from tests.conftest import Hands
from tests.store.nouns import a_key


async def stored(db: Database) -> ApiKey:
    async with db.read() as tx:
        found = await keys.get(tx, "org", "key")
    assert found is not None
    return found


async def test_a_use_is_written_with_the_next_step(db: Database, clock: Hands) -> None:
    await a_key(db, "digest")
    uses = KeyUse(db, clock)
    uses.note("key")
    assert (await stored(db)).last_used_at is None
    await uses.once()
    assert (await stored(db)).last_used_at == clock.now()


async def test_a_key_is_written_once_a_minute_however_often_it_is_used(db: Database, clock: Hands) -> None:
    await a_key(db, "digest")
    uses = KeyUse(db, clock)
    first = clock.now()
    for _ in range(60):
        uses.note("key")
        await uses.once()
        clock.advance(0.99)
    assert (await stored(db)).last_used_at == first
    clock.advance(1)
    uses.note("key")
    await uses.once()
    assert (await stored(db)).last_used_at == clock.now()


async def test_the_time_of_use_never_goes_back(db: Database, clock: Hands) -> None:
    await a_key(db, "digest")
    later = clock.now() + 1
    async with db.write() as tx:
        await keys.used(tx, {"key": later})
    uses = KeyUse(db, clock)
    uses.note("key")
    await uses.once()
    assert (await stored(db)).last_used_at == later


async def test_what_could_not_be_written_is_written_later(db: Database, clock: Hands) -> None:
    await a_key(db, "digest")
    uses = KeyUse(_Away(db), clock)  # type: ignore[arg-type]
    uses.note("key")
    with pytest.raises(ConnectionError):
        await uses.once()
    uses._db = db
    await uses.once()
    assert (await stored(db)).last_used_at == clock.now()


class _Away:
    """A database that cannot be written to."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def write(self) -> None:
        raise ConnectionError
