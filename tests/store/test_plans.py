"""What PostgreSQL does for the statements of every tick must not grow with the number of batches and chunks."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bench.scale.fill import MODEL, fill
from hornada.core.chunk import ChunkState
from hornada.core.clock import SystemClock
from hornada.core.ids import new_id
from hornada.store import batch as batches
from hornada.store import chunk as chunks
from hornada.store import connect, grant, load, worker
from hornada.store import stage as stages
from hornada.store.database import Row, Tx, Value

GROWING = {"batch", "chunk", "segment", "ledger_entry", "file", "organization", "api_key"}
OWNER = "w"


class Explained:
    """A transaction that has each statement explained as it runs: pages touched, tables read from end to end."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.pages = 0
        self.scanned: dict[str, str] = {}

    async def rows(self, sql: str, **params: Value) -> Sequence[Row]:
        await self._tx.rows("SAVEPOINT explained")
        (row,) = await self._tx.rows(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", **params)
        await self._tx.rows("ROLLBACK TO SAVEPOINT explained")
        plan = json.loads(row["QUERY PLAN"])[0]["Plan"]
        self.pages += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        self.scanned |= {node["Relation Name"]: sql for node in nodes(plan) if node["Node Type"] == "Seq Scan"}
        return await self._tx.rows(sql, **params)

    async def row(self, sql: str, **params: Value) -> Row | None:
        found = await self.rows(sql, **params)
        return found[0] if found else None

    async def run(self, sql: str, **params: Value) -> int:
        await self.rows(sql, **params)
        return 1

    async def many(self, sql: str, params: Sequence[Mapping[str, Value]]) -> None:
        for each in params:
            await self.rows(sql, **each)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


async def of_turn(tx: Tx) -> Collection[chunks.Source]:
    orgs = await chunks.turns(tx, MODEL, "o2", 32)
    return await chunks.sources(tx, MODEL, orgs, 8)


async def held(tx: Tx) -> chunks.Chunk:
    """A chunk that was claimed before what is looked at."""
    plain = tx._tx if isinstance(tx, Explained) else tx
    source = next(iter(await of_turn(plain)))
    return (await chunks.claim(plain, source, MODEL, OWNER, 100))[0].chunk


async def claim(tx: Tx) -> None:
    plain = tx._tx if isinstance(tx, Explained) else tx
    source = next(iter(await of_turn(plain)))
    assert await chunks.claim(tx, source, MODEL, OWNER, 300)


async def commit(tx: Tx) -> None:
    assert await chunks.commit(tx, [(await held(tx), ChunkState.DONE)])


async def hand_back(tx: Tx) -> None:
    await chunks.hand_back(tx, await held(tx))


async def free(tx: Tx) -> None:
    await held(tx)
    assert await chunks.free(tx, [OWNER], 100)


async def drain(tx: Tx) -> None:
    await batches.drain(tx, (await held(tx)).batch, 1)


async def standing(tx: Tx) -> None:
    assert await batches.standing(tx, [source.batch for source in await of_turn(tx)])


async def stages_of_batches(tx: Tx) -> None:
    assert await stages.take_unchecked(tx, OWNER) is None
    assert await stages.take_drained(tx, OWNER) is None
    await stages.free(tx, [OWNER])
    await batches.overdue(tx, 1, 10)


async def heartbeat(tx: Tx) -> None:
    await worker.join(tx, OWNER, "worker", "here", 1)
    await worker.renew(tx, OWNER, 1)
    await worker.ended(tx)


async def shares(tx: Tx) -> None:
    await grant.lock(tx, [MODEL], [(MODEL, 8)])
    await grant.of_models(tx, [MODEL])
    await load.of_models(tx, [MODEL], ttl=1, recent=1)


LOOKS: list[tuple[Callable[[Tx], Any], int]] = [
    (chunks.ready_models, 40),
    (of_turn, 3000),  # 128 batches of 32 organizations, with their chunks, files, keys and plans
    (claim, 200),
    (commit, 40),
    (hand_back, 80),
    (free, 200),
    (drain, 40),
    (standing, 3500),
    (stages_of_batches, 80),
    (heartbeat, 40),
    (shares, 40),
]
"""What a process does again and again, and how many pages of 8 KiB that may touch."""


@pytest.fixture(scope="module")
def large(postgres: Callable[[str], str]) -> str:
    """A ledger of 5,000 organizations, 20,000 running batches and 40,000 ready chunks."""

    async def make(url: str) -> None:
        db = await connect(url, SystemClock())
        await db.migrate()
        await db.close()
        await fill(url, 5_000, 20_000, 2)

    url = postgres(f"plans_{new_id()}")
    asyncio.run(make(url))
    return url


@asynccontextmanager
async def explained(url: str) -> AsyncIterator[Explained]:
    db = await connect(url, SystemClock())
    try:
        async with db.write() as tx:
            yield Explained(tx)
            await tx.rows("ROLLBACK")
            await tx.rows("BEGIN")
    finally:
        await db.close()


@pytest.mark.parametrize(("look", "pages"), LOOKS, ids=[look.__name__ for look, _ in LOOKS])
async def test_a_statement_of_every_tick_touches_little_of_a_large_ledger(
    large: str, look: Callable[[Tx], Any], pages: int
) -> None:
    async with explained(large) as tx:
        await look(tx)
    assert {table: sql for table, sql in tx.scanned.items() if table in GROWING} == {}
    assert tx.pages <= pages


async def test_organizations_have_their_turns_one_after_another(large: str) -> None:
    async with explained(large) as tx:
        every = await chunks.turns(tx, MODEL, "", 6000)
        assert len(every) == 5000
        assert await chunks.turns(tx, MODEL, every[4996], 5) == [*every[4997:], *every[:2]]
        assert await chunks.turns(tx, MODEL, every[2], 6000) == [*every[3:], *every[:3]]
        assert await chunks.turns(tx, "none", "", 6000) == []
