"""``python -m bench.scale``: fills a real PostgreSQL with 2 million ready chunks of 10,000 organizations and measures."""

import argparse
import asyncio
import sys
import time

from bench.scale.claims import claims, p
from bench.scale.fill import empty, fill
from bench.scale.server import server
from hornada.core.clock import SystemClock
from hornada.store import connect


async def _claims(url: str, organizations: int, batches: int, chunks: int, rounds: int) -> None:
    await empty(url)
    began = time.perf_counter()
    await fill(url, organizations, batches, chunks)
    filled = time.perf_counter() - began
    db = await connect(url, SystemClock())
    await claims(db, 5)
    found = await claims(db, rounds)
    await db.close()
    cells = "  ".join(f"{name} {p(times, 50):.2f} / {p(times, 99):.2f}" for name, times in found.items())
    print(
        f"{organizations:,} orgs, {batches * chunks:,} ready chunks ({filled:.0f} s): p50 / p99 ms: {cells}", flush=True
    )


async def _measure(url: str, asked: argparse.Namespace) -> None:
    db = await connect(url, SystemClock())
    await db.migrate()
    await db.close()
    await _claims(url, 10, 10, 100, 300)
    await _claims(
        url, asked.organizations, asked.organizations * 2, asked.chunks // asked.organizations // 2, asked.rounds
    )


def main() -> int:
    """Runs it; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--organizations", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=200)
    asked = parser.parse_args()
    with server() as url:
        asyncio.run(_measure(url, asked))
    return 0


if __name__ == "__main__":
    sys.exit(main())
