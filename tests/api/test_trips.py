"""How often one control call goes to the database, on both databases.

Each trip waits for a turn of the event loop and, beside a batch at full speed, for the interpreter. A trip is a job for
a thread of SQLite, or a statement that goes to PostgreSQL and comes back.
"""

import functools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest

from hornada.store.database import Database
from hornada.store.lane import Lane
from tests.api.site import LINE, Site, open_site
from tests.store.ledgers import accept

TWO = LINE + LINE.replace(b'"a"', b'"b"')


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What went to the database since it was last cleared."""
    told: list[str] = []
    do = Lane.do

    def counted(self: Lane, work: Any, *args: Any) -> Any:
        told.append(str(args))
        return do(self, work, *args)

    async def listen(connection: Any) -> None:
        connection.add_query_logger(lambda logged: told.append(logged.query))

    monkeypatch.setattr(Lane, "do", counted)
    monkeypatch.setattr(asyncpg, "create_pool", functools.partial(asyncpg.create_pool, init=listen))
    return told


@pytest.fixture
async def site(trips: list[str], db: Database, tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path, db=db) as opened:
        yield opened


@pytest.fixture
def writing(database_url: str) -> dict[str, int]:
    """How many trips a call may make that writes: SQLite does all of a transaction at once."""
    if database_url.startswith("sqlite:"):
        return {"create": 1, "cancel": 1, "pause": 1, "delete": 1}
    return {"create": 7, "cancel": 7, "pause": 6, "delete": 4}


async def running(site: Site) -> str:
    """A batch whose lines run."""
    file = await site.upload(TWO)
    batch: str = (await site.create(file.json()["id"])).json()["id"]
    await accept(site.db, 2, model="m-chat")
    return batch


def good(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_what_shows_something_asks_once(site: Site, trips: list[str]) -> None:
    batch = good(await site.client.get(f"/v1/batches/{await running(site)}"))
    assert batch["status"] == "in_progress"
    for path in (f"/batches/{batch['id']}", "/batches", f"/files/{batch['input_file_id']}", "/files"):
        for base in ("/v1", "/strict/v1", "/openai/v1"):
            trips.clear()
            good(await site.client.get(base + path))
            assert len(trips) == 1, (path, trips)


async def test_what_changes_something_is_one_transaction(site: Site, trips: list[str], writing: dict[str, int]) -> None:
    batch = await running(site)
    file = good(await site.upload(TWO.replace(b"[]", b"[{}]")))["id"]
    for name, call in (
        ("create", lambda: site.create(file)),
        ("pause", lambda: site.client.post(f"/v1/batches/{batch}/pause")),
        ("cancel", lambda: site.client.post(f"/v1/batches/{batch}/cancel")),
    ):
        trips.clear()
        good(await call())
        assert len(trips) == writing[name], (name, trips)
    spare = good(await site.upload(TWO.replace(b"[]", b"[{},{}]")))["id"]
    trips.clear()
    good(await site.client.delete(f"/v1/files/{spare}"))
    assert len(trips) == writing["delete"], trips


async def test_a_key_is_looked_up_once_a_second(site: Site, trips: list[str]) -> None:
    batch = await running(site)
    site.clock.advance(1.1)
    for expected in (2, 1, 1):
        trips.clear()
        good(await site.client.get(f"/v1/batches/{batch}"))
        assert len(trips) == expected, trips
