"""``python -m bench.scale``: a ledger with 2 million ready chunks of 10,000 organizations, and hundreds of workers."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence

import asyncpg

from bench.scale.claims import Times, claims, p, watches
from bench.scale.crowd import crowd, server_cpu
from bench.scale.fill import empty, fill
from bench.scale.server import server
from hornada.core.clock import SystemClock
from hornada.store import connect

_SIZES = (
    "SELECT relname, n_live_tup, pg_table_size(relid), pg_indexes_size(relid) FROM pg_stat_user_tables"
    " WHERE relname IN ('chunk', 'segment', 'ledger_entry', 'batch') ORDER BY relname"
)


def shown(times: Times, names: Sequence[str]) -> None:
    """A row for each kind of transaction."""
    for name in names:
        found = times.get(name, [])
        if len(found) > 1:
            print(f"    {name:8} {len(found):7,} times   p50 {p(found, 50):8.2f} ms   p99 {p(found, 99):8.2f} ms")


async def _claims(url: str, organizations: int, batches: int, chunks: int, rounds: int) -> None:
    await empty(url)
    began = time.perf_counter()
    await fill(url, organizations, batches, chunks)
    print(f"{organizations:,} organizations, {batches:,} batches, {batches * chunks:,} ready chunks", end=" ")
    print(f"(filled in {time.perf_counter() - began:.0f} s); one worker:", flush=True)
    db = await connect(url, SystemClock())
    await claims(db, 5)
    shown(await claims(db, rounds), ("models", "sources", "look", "claim"))
    shown(await watches(db, max(5, rounds // 20)), ("watch",))
    await db.close()


async def _crowd(url: str, number: int, seconds: float) -> None:
    connection = await asyncpg.connect(url)
    wal = await connection.fetchval("SELECT pg_current_wal_lsn()")
    backend = await connection.fetchval("SELECT pg_backend_pid()")
    before = server_cpu(backend)
    times = await asyncio.to_thread(crowd, url, number, seconds)
    cpu = server_cpu(backend) - before
    written = await connection.fetchval("SELECT pg_current_wal_lsn() - $1::pg_lsn", wal)
    done = sum(len(times.get(name, ())) for name in ("beat", "share", "flush", "sources", "claim")) + 2 * len(
        times["look"]
    )
    lines = 200 * len(times["flush"])
    print(
        f"{number} workers for {seconds:.0f} s: {done / seconds:,.0f} transactions/s, {lines / seconds:,.0f} lines/s,",
        end=" ",
    )
    print(
        f"{cpu / seconds:.2f} cores of the database, {written / max(lines, 1):.0f} bytes of log for each line",
        flush=True,
    )
    shown(times, ("beat", "share", "look", "flush", "sources", "claim"))
    await connection.close()


async def _sizes(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("ANALYZE")
    for row in await connection.fetch(_SIZES):
        table, indexes, rows = row[2], row[3], max(row[1], 1)
        print(f"    {row[0]:13} {rows:10,} rows   {table / rows:7.0f} bytes a row and {indexes / rows:5.0f} in indexes")
    await connection.close()


async def _measure(url: str, asked: argparse.Namespace) -> None:
    db = await connect(url, SystemClock())
    await db.migrate()
    await db.close()
    await _claims(url, 100, 100, 10, asked.rounds)
    batches = 2 * asked.organizations
    await _claims(url, asked.organizations, batches, asked.chunks // batches, asked.rounds)
    for number in (50, asked.workers):
        await _crowd(url, number, asked.seconds)
    await _sizes(url)


def main() -> int:
    """Runs it; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--organizations", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=300, help="looks and claims of one worker")
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30, help="for how long workers are simulated")
    asked = parser.parse_args()
    with server() as url:
        asyncio.run(_measure(url, asked))
    return 0


if __name__ == "__main__":
    sys.exit(main())
