"""What a process in which nothing happens asks of the database, counted by the database."""

import asyncio
import time

import asyncpg

from bench.client import Client, granted
from tests.platform.fleet import Fleet, until
from tests.platform.operator import OPERATOR_KEY, ended
from tests.platform.work import Work

SETTLED_S = 12.0
"""A session tells what it has done when it next does something, or after ten seconds: so what the start did is told."""
RESTED_S = 4.0
WATCHED_S = 12.0
MOST_A_SECOND = 8.0
_ASKED = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"


async def asked(url: str) -> int:
    """Transactions that a database has ended so far, those of this question included."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        return int(await connection.fetchval(_ASKED))
    finally:
        await connection.close()


def test_processes_in_which_nothing_happens_ask_the_database_rarely(fleet: Fleet) -> None:
    fleet.add("worker", ttl_s=15)
    fleet.add("api", ttl_s=15)
    time.sleep(SETTLED_S)
    before, began = asyncio.run(asked(fleet.url)), time.monotonic()
    time.sleep(WATCHED_S)
    after, took = asyncio.run(asked(fleet.url)), time.monotonic() - began
    assert 0 < (after - before - 3) / took < MOST_A_SECOND


def test_a_worker_that_has_rested_is_stopped_all_the_same(fleet: Fleet, work: Work) -> None:
    api, _ = fleet.add("api", ttl_s=15), fleet.add("worker", ttl_s=15)
    operator = Client(f"http://127.0.0.1:{api.port}", OPERATOR_KEY)
    org = granted(operator.call("GET", "/admin/organizations"), "organizations")["data"][0]["id"]
    time.sleep(RESTED_S)
    made = granted(operator.call("POST", f"/admin/organizations/{org}/keys", {"name": "short"}), "key")
    client = Client(api.base, made["key"])
    batch = client.submit(work.lines(400, delay=0.2))
    until(lambda: work.calls() > 8)
    expire(fleet.url, made["id"])
    before = work.calls()
    found = ended(api.client, batch)
    assert found.counts == (work.quiet(), 400 - work.calls())
    assert work.calls() < before + 160, "as many as run in four seconds, on a machine that has nothing else to do"


def expire(url: str, key: str) -> None:
    """Ends a key by time alone: nobody is told."""

    async def done() -> None:
        connection = await asyncpg.connect(url)
        try:
            now = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
            told = await connection.execute(f"UPDATE api_key SET expires_at = {now} WHERE id = $1", key)  # noqa: S608
            assert told == "UPDATE 1"
        finally:
            await connection.close()

    asyncio.run(done())
