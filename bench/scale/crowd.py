"""Workers by the hundred, as the database sees them: beats, shares, looks, flushes and claims at their pace."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import psutil
from msgspec.structs import replace

from bench.scale.claims import Times
from bench.scale.fill import MODEL
from hornada.core.batch import Usage
from hornada.core.chunk import Chunk, ChunkState
from hornada.core.clock import SECOND, SystemClock
from hornada.core.ids import new_id
from hornada.core.segment import Entry, Segment, pack
from hornada.engine.fairness import BATCHES_AT_ONCE
from hornada.engine.turns import ORGANIZATIONS
from hornada.store import batch as batches
from hornada.store import chunk as chunks
from hornada.store import connect, ledger, segment
from hornada.store import grant as grants
from hornada.store import load as loads
from hornada.store import worker as workers
from hornada.store.chunk import Source
from hornada.store.database import Database

BEAT_S, LOOK_S, FLUSH_S, SHARE_S, A_WORKER_S = 2.5, 0.5, 5.0, 0.5, 0.004
TTL = 15 * SECOND
_PROCESSES = 3
_POOLS = 8
HELD = 2
"""Chunks that each worker holds: two hundred lines."""
_INDEX = pack([Entry(at, ok=True, offset=at * 900, length=900) for at in range(100)])


class Worker:
    """One of them, with one half of its duties. ``times``: seconds of each transaction by its name."""

    def __init__(self, db: Database, crowd: int, times: Times, *, shares: bool) -> None:
        self.name = new_id()
        self._db = db
        self._times = times
        self._held: list[tuple[Source, Chunk]] = []
        self._turn = self.name
        self._shares = shares
        self._duties: list[tuple[str, float, Callable[[], Awaitable[None]]]] = (
            [("share", SHARE_S + A_WORKER_S * crowd, self._share)]
            if shares
            else [("beat", BEAT_S, self._beat), ("look", LOOK_S, self._look), ("flush", FLUSH_S, self._flush)]
        )

    async def run(self, seconds: float) -> None:
        """Joins, claims, and does each duty when it is due until the time is over."""
        if not self._shares:
            async with self._db.write() as tx:
                await workers.join(tx, self.name, "worker", "bench", TTL)
            await self._claim()
        end = time.monotonic() + seconds
        await asyncio.gather(*(self._every(name, pause, duty, end) for name, pause, duty in self._duties))

    async def _every(self, name: str, pause: float, duty: Callable[[], Awaitable[None]], end: float) -> None:
        await asyncio.sleep(random.uniform(0, pause))
        while time.monotonic() < end:
            began = time.monotonic()
            await duty()
            self._times[name].append(time.monotonic() - began)
            await asyncio.sleep(max(0.0, began + pause - time.monotonic()))

    async def _beat(self) -> None:
        async with self._db.write(durable=False) as tx:
            await workers.renew(tx, self.name, TTL)
            await workers.crew(tx)

    async def _share(self) -> None:
        mine = grants.Renewal(model=MODEL, slots=2, in_use=2, demand=200, more=True, refused=False, late=False)
        async with self._db.write(durable=False) as tx:
            await grants.lock(tx, [MODEL], [(MODEL, 400)])
            await grants.of_models(tx, [MODEL])
            await loads.of_models(tx, [MODEL], ttl=TTL, recent=60 * SECOND)
            await grants.renew(tx, self.name, [mine], ttl=TTL, calls=600 * SECOND)

    async def _look(self) -> None:
        async with self._db.read() as tx:
            await batches.standing(tx, {chunk.batch for _, chunk in self._held})
        async with self._db.read() as tx:
            await chunks.ready_models(tx)

    async def _flush(self) -> None:
        """Every chunk held is done: results of 100 lines each, their ledger entries, then new ones."""
        held, full = self._held, bytes([255] * 13)
        async with self._db.write() as tx:
            await chunks.commit(tx, [(_filled(chunk, full), ChunkState.DONE) for _, chunk in held])
            await segment.insert(tx, [_segment(chunk) for _, chunk in held])
            await ledger.insert(tx, [_entry(source, chunk) for source, chunk in held])
        await self._claim()

    async def _claim(self) -> None:
        began = time.monotonic()
        async with self._db.read() as tx:
            orgs = await chunks.turns(tx, MODEL, self._turn, ORGANIZATIONS)
            sources = await chunks.sources(tx, MODEL, orgs, 1 if len(orgs) == ORGANIZATIONS else BATCHES_AT_ONCE)
        self._turn = orgs[-1]
        looked = time.monotonic()
        async with self._db.write() as tx:
            works = [
                work
                for source in random.sample(sources, min(HELD, len(sources)))
                for work in await chunks.claim(tx, source, MODEL, self.name, 100)
            ]
        self._held = [(work.source, work.chunk) for work in works]
        self._times["sources"].append(looked - began)
        self._times["claim"].append(time.monotonic() - looked)


def _filled(chunk: Chunk, bits: bytes) -> Chunk:
    return replace(chunk, done=bits, n_ok=chunk.span.n)


def _segment(chunk: Chunk) -> Segment:
    return Segment(
        batch=chunk.batch,
        idx=chunk.idx,
        epoch=chunk.epoch,
        seq=0,
        object=f"seg/{chunk.batch}/{new_id()}-1",
        offset=0,
        length=90_000,
        sha256="0" * 64,
        model=MODEL,
        n_ok=100,
        n_failed=0,
        index=_INDEX,
    )


def _entry(source: Source, chunk: Chunk) -> ledger.LedgerEntry:
    return ledger.LedgerEntry(
        id=new_id(),
        source=f"{chunk.batch}:{chunk.idx}:{chunk.epoch}:0",
        org=chunk.org,
        key=source.key,
        batch=chunk.batch,
        model=MODEL,
        endpoint="/v1/chat/completions:batch",
        lines=100,
        usage=Usage(),
        amount=1000,
        estimated=False,
        created_at=1,
    )


def server_cpu(backend: int) -> float:
    """CPU seconds of the server that has this process, those of its ended processes included."""
    server = psutil.Process(backend).parent()
    assert server is not None
    ended = server.cpu_times()
    found = [process.cpu_times() for process in (server, *server.children())]
    return ended.children_user + ended.children_system + sum(times.user + times.system for times in found)


async def _part(url: str, number: int, of: int, seconds: float, *, shares: bool) -> Times:
    times: Times = defaultdict(list)
    databases = [await connect(url, SystemClock()) for _ in range(max(1, min(_POOLS, number // 4)))]
    found = [Worker(databases[at % len(databases)], of, times, shares=shares) for at in range(number)]
    await asyncio.gather(*(worker.run(seconds) for worker in found))
    for database in databases:
        await database.close()
    return dict(times)


def _run(url: str, number: int, of: int, seconds: float, shares: bool) -> Times:  # noqa: FBT001 - for the pool
    return asyncio.run(_part(url, number, of, seconds, shares=shares))


def crowd(url: str, number: int, seconds: float) -> Times:
    """So many workers for so long; the seconds of each transaction.

    Shares have a process of their own: they hold a lock between their statements, and must not wait for other work.
    """
    with ProcessPoolExecutor(_PROCESSES + 1, mp_context=get_context("spawn")) as pool:
        parts = [(url, number // _PROCESSES, number, seconds, False)] * _PROCESSES + [
            (url, number, number, seconds, True)
        ]
        found = [future.result() for future in [pool.submit(_run, *part) for part in parts]]
    names = {name for part in found for name in part}
    return {name: [each for part in found for each in part.get(name, ())] for name in names}
