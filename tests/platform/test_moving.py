"""An embedded installation moves to PostgreSQL and a bucket amid a batch: stopped, killed, or from a backup."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bench.client import Client
from bench.hornada import PROGRAM, Hornada, model, settings, table
from tests.object_store import CREDENTIALS, ObjectStore
from tests.platform.operator import ended, half_way
from tests.platform.work import Work

LINES = 300
CAPACITY = 8


@pytest.fixture
def models(backend: Client) -> str:
    return settings([model("m-chat", f"http://127.0.0.1:{backend.port}/v1", capacity=CAPACITY, batch=CAPACITY)])


@pytest.fixture
def near(models: str, tmp_path: Path) -> Iterator[Hornada]:
    with Hornada(tmp_path / "near", models) as server:
        server.start()
        yield server


@pytest.fixture
def url(fresh_postgres: Callable[[], str]) -> str:
    return fresh_postgres()


@pytest.fixture
def far(models: str, url: str, object_store: ObjectStore, tmp_path: Path) -> Iterator[Hornada]:
    storage = {"database": url, "blobs": object_store.url()}
    with Hornada(tmp_path / "far", models + table("[storage]", storage), CREDENTIALS) as server:
        yield server


def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120)


async def billed(url: str) -> tuple[int, int]:
    """Lines of all ledger entries, and entries that name the same source as another."""
    connection = await asyncpg.connect(url)
    row = await connection.fetchrow("SELECT sum(lines), count(*) - count(DISTINCT source) FROM ledger_entry")
    await connection.close()
    return int(row[0]), int(row[1])


def finished(server: Hornada, batch: str) -> None:
    found = ended(server.client, batch)
    assert (found.batch["status"], found.counts) == ("completed", (LINES, 0))
    assert [row["custom_id"] for row in found.output] == [f"{at:04}" for at in range(LINES)]


@pytest.mark.parametrize("how", ["stopped", "killed"])
async def test_a_batch_begun_here_ends_there(near: Hornada, far: Hornada, work: Work, url: str, how: str) -> None:
    refused = run("move", far.config, "--data", near.data)
    assert (refused.returncode, "in use by another hornada process" in refused.stderr) == (2, True)
    batch = near.client.submit(work.lines(LINES, delay=0.1, free=110))
    half_way(near.client, batch, 100)
    if how == "killed":
        near.kill()
        work.open()
    else:
        work.open()
        near.terminate()
    before = work.quiet()
    moved = run("move", far.config, "--data", near.data)
    assert moved.returncode == 0, moved.stderr
    assert "chunk: 3 rows\n" in moved.stdout
    far.start()
    seen = far.client.batch(batch)["request_counts"]["completed"]
    assert seen >= before - (CAPACITY * 12 if how == "killed" else 0)
    finished(far, batch)
    repeats = work.calls() - LINES
    assert repeats == 0 if how == "stopped" else repeats <= CAPACITY * 12  # in flight, and of the last half second
    assert await billed(url) == (LINES, 0)
    again = run("move", far.config, "--data", near.data)
    assert (again.returncode, "hornada processes work on the target" in again.stderr) == (2, True)
    far.terminate()
    again = run("move", far.config, "--data", near.data)
    assert (again.returncode, "the target is not empty" in again.stderr) == (2, True)


def test_a_backup_is_moved_and_the_way_back(
    near: Hornada, far: Hornada, work: Work, models: str, tmp_path: Path
) -> None:
    batch = near.client.submit(work.lines(LINES, free=60))
    half_way(near.client, batch, 50)
    backup = tmp_path / "backup"
    assert run("backup", backup, "--data", near.data).returncode == 0
    near.kill()
    work.open()
    assert run("move", far.config, "--data", backup).returncode == 0
    far.start()
    half_way(far.client, batch, 100)
    far.terminate()
    home = tmp_path / "home.toml"
    storage = {"database": f"sqlite:///{tmp_path}/home/data/ledger.db", "blobs": f"file://{tmp_path}/home/data/blobs"}
    home.write_text(f"data = {json.dumps(str(tmp_path / 'home' / 'data'))}\n{table('[storage]', storage)}")
    moved = run("move", home, "--config", far.config)
    assert moved.returncode == 0, moved.stderr
    with Hornada(tmp_path / "home", models) as server:
        server.start()
        assert server.client.batch(batch)["request_counts"]["completed"] >= 100
        finished(server, batch)
