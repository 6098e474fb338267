"""The whole server in its scaled-out storage: PostgreSQL and a bucket, both real, both failing at times."""

import asyncio
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from bench.client import Client, granted
from bench.hornada import Hornada, answers, model, settings, table
from tests.database_server import DatabaseServer
from tests.object_store import CREDENTIALS, ObjectStore
from tests.platform.fleet import until
from tests.platform.operator import Ended, ended, half_way
from tests.platform.work import Work

PATIENCE_S = 60.0
CAPACITY = 8
LOCK = 0x686F726F


@pytest.fixture
def server(database: DatabaseServer, bucket: ObjectStore, backend: Client, tmp_path: Path) -> Iterator[Hornada]:
    """A server on an empty database and an empty place in the bucket, not yet started."""
    url = database.make(f"db_{uuid.uuid4().hex}")
    with Hornada(tmp_path, _configuration(backend, url, bucket.url()), CREDENTIALS) as hornada:
        yield hornada


@pytest.fixture
def near(database: DatabaseServer, backend: Client, tmp_path: Path) -> Iterator[Hornada]:
    """A running server on an empty database and a folder, which no other can share."""
    url = database.make(f"db_{uuid.uuid4().hex}")
    with Hornada(tmp_path, _configuration(backend, url, f"file://{tmp_path}/bytes")) as hornada:
        hornada.start()
        yield hornada


@pytest.fixture
def client(server: Hornada) -> Client:
    """The first organization of a running server."""
    server.start()
    return server.client


def test_a_batch_runs_from_an_upload_of_20_mib_to_a_part_of_its_results(client: Client, work: Work) -> None:
    data = work.lines(500, delay=0, size=43_000, fails=lambda at: at % 50 == 7)
    assert len(data) > 20 << 20
    file = granted(client.upload(data), "upload")
    assert client.content(file["id"]) == data
    found = ended(client, granted(client.create(file["id"]), "create")["id"])
    assert (found.batch["status"], found.counts) == ("completed", (490, 10))
    assert _ids(found) == [f"{at:04}" for at in range(500)]
    whole = client.content(found.batch["output_file_id"])
    at = f"/files/{found.batch['output_file_id']}/content"
    for first, last in ((0, 0), (1_000_000, 4_999_999), (len(whole) - 5, len(whole) - 1)):
        part = client.call("GET", at, headers={"Range": f"bytes={first}-{last}"})
        assert (part.status, part.body) == (206, whole[first : last + 1])


def test_a_batch_is_cancelled(client: Client, work: Work) -> None:
    batch = client.submit(work.lines(200, free=20))
    half_way(client, batch, 5)
    granted(client.call("POST", f"/batches/{batch}/cancel"), "cancel")
    work.open()
    found = ended(client, batch)
    assert found.batch["status"] == "cancelled"
    assert (found.counts[0], sum(found.counts)) == (work.calls(), 200)


def test_a_batch_expires(server: Hornada, work: Work) -> None:
    server.start({"HORNADA_LIMITS_BATCH_LIFETIME_S": "3"})
    found = ended(server.client, server.client.submit(work.lines(200, delay=0.3)))
    assert found.batch["status"] == "expired"
    assert (found.counts[0], sum(found.counts)) == (work.calls(), 200)


def test_nothing_is_lost_or_written_twice_when_the_server_is_killed(
    server: Hornada, client: Client, work: Work
) -> None:
    batch = client.submit(work.lines(300, free=100))
    seen = half_way(client, batch, 50)["request_counts"]["completed"]
    server.kill()
    work.open()
    server.start()
    assert client.batch(batch)["request_counts"]["completed"] >= seen
    found = ended(client, batch)
    assert (found.batch["status"], found.counts) == ("completed", (300, 0))
    assert _ids(found) == [f"{at:04}" for at in range(300)]


def test_a_second_server_is_refused_while_the_first_lives(near: Hornada, tmp_path: Path) -> None:
    server = near
    with Hornada(tmp_path / "second", server.config.read_text(), CREDENTIALS) as second:
        with pytest.raises(RuntimeError, match=r"ended with 2 .*\n.*in use by another hornada process"):
            second.start()
        server.terminate()
        second.start()


def test_the_server_survives_a_database_that_is_stopped_hard(
    server: Hornada, work: Work, database: DatabaseServer
) -> None:
    server.start({"HORNADA_ENGINE_LEASE_TTL_S": "2"})
    client = server.client
    batch = client.submit(work.lines(300, free=100))
    half_way(client, batch, 50)
    until(lambda: work.calls() == 100 + CAPACITY)
    database.stop_hard()
    try:
        probe = Client(f"http://127.0.0.1:{server.port}")
        until(
            lambda: b"no line is started: this process could not renew its lease" in probe.call("GET", "/readyz").body
        )
        assert probe.call("GET", "/readyz").status == 503
        work.open()
        assert work.quiet() == 100 + CAPACITY
        assert client.call("GET", f"/batches/{batch}").status == 503
    finally:
        database.start()
    found = ended_in_the_end(client, batch)
    assert (found.batch["status"], found.counts) == ("completed", (300, 0))
    assert _ids(found) == [f"{at:04}" for at in range(300)]
    assert work.calls() == 300
    until(lambda: answers(probe, "/readyz"))


def test_the_server_survives_a_bucket_that_refuses(
    server: Hornada, client: Client, work: Work, bucket: ObjectStore
) -> None:
    batch = client.submit(work.lines(400, delay=0.2, free=50))
    half_way(client, batch, 40)
    bucket.kill()
    try:
        probe = Client(f"http://127.0.0.1:{server.port}")
        work.open()
        until(lambda: probe.call("GET", "/readyz").status == 503)
        assert work.quiet() < 400
        assert client.batch(batch)["status"] == "in_progress"
        assert client.upload(b"{}\n").status == 503
    finally:
        bucket.start()
    found = ended_in_the_end(client, batch)
    assert (found.batch["status"], found.counts) == ("completed", (400, 0))
    assert work.calls() == 400


def test_a_lost_lock_is_taken_again(near: Hornada, work: Work, database: DatabaseServer) -> None:
    server, client = near, near.client
    batch = client.submit(work.lines(100, free=20))
    half_way(client, batch, 10)
    name = server.config.read_text().split(f"{database.url('')}", 1)[1].split('"')[0]
    database.do(lambda connection: connection.execute(_END), name)
    work.open()
    found = ended(client, batch)
    assert (found.counts, work.calls()) == ((100, 0), 100)


def test_a_server_ends_when_another_took_its_lock(near: Hornada, work: Work, database: DatabaseServer) -> None:
    server, client = near, near.client
    batch = client.submit(work.lines(300, delay=0.2))
    half_way(client, batch, 10)
    name = server.config.read_text().split(f"{database.url('')}", 1)[1].split('"')[0]

    async def take(connection: asyncpg.Connection) -> int | None:
        other = await asyncpg.connect(database.url(name))
        waiting = asyncio.create_task(other.execute("SELECT pg_advisory_lock($1)", LOCK))
        while not await connection.fetchval("SELECT count(*) FROM pg_locks WHERE objid = $1 AND NOT granted", LOCK):
            await asyncio.sleep(0.01)
        await connection.execute(_END)
        await waiting
        code = await asyncio.to_thread(server.running.wait, PATIENCE_S)
        await other.close()
        return code

    assert database.do(take, name) == 3
    assert "in use by another hornada process" in server.log()
    server.start()
    assert sum(ended(client, batch).counts) == 300


def ended_in_the_end(client: Client, batch: str) -> Ended:
    """The batch at its end, though the server may still refuse calls."""
    end = time.monotonic() + PATIENCE_S
    while not client.call("GET", f"/batches/{batch}").ok:
        assert time.monotonic() < end
        time.sleep(0.1)
    return ended(client, batch)


_END = f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objid = {LOCK} AND granted"  # noqa: S608 - ours


def _ids(found: Ended) -> list[str]:
    return sorted(row["custom_id"] for row in found.output + found.error)


def _configuration(backend: Client, database: str, blobs: str) -> str:
    upstream = f"http://127.0.0.1:{backend.port}/v1"
    models = [model("m-chat", upstream, capacity=CAPACITY, batch=CAPACITY)]
    return settings(models) + table("[storage]", {"database": database, "blobs": blobs})
