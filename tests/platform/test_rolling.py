"""A newer program migrates the ledger of a server that runs a batch on PostgreSQL: the older one keeps serving."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hornada
from bench.client import Client, granted
from bench.hornada import Hornada, model, settings, table
from hornada.store import migration
from tests.platform.operator import ended, half_way
from tests.platform.work import Work

NEWER = {
    "9001_later.sql": """
ALTER TABLE batch ADD COLUMN later BIGINT;
ALTER TABLE chunk ADD COLUMN later BIGINT NOT NULL DEFAULT 0;
ALTER TABLE segment ADD COLUMN later TEXT;
ALTER TABLE ledger_entry ADD COLUMN later TEXT;
ALTER TABLE file ADD COLUMN later TEXT;
ALTER TABLE organization ADD COLUMN later TEXT;
CREATE TABLE later (id TEXT PRIMARY KEY);
""",
    "9002_later_index.sql": "CREATE INDEX {online} chunk_later ON chunk (later);",
}
BREAKING = {"9003_end.sql": "-- breaking\nALTER TABLE later ADD COLUMN more BIGINT;"}


@pytest.fixture
def database(fresh_postgres: Callable[[], str]) -> str:
    return fresh_postgres()


@pytest.fixture
def server(database: str, backend: Client, tmp_path: Path) -> Iterator[Hornada]:
    models = [model("m-chat", f"http://127.0.0.1:{backend.port}/v1", capacity=8, batch=8)]
    configuration = settings(models) + table("[storage]", {"database": database})
    with Hornada(tmp_path / "server", configuration) as server:
        yield server


@pytest.fixture
def newer(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a copy of this program that knows more steps."""
    source = tmp_path / "newer"
    shutil.copytree(Path(hornada.__file__).parent, source / "hornada", ignore=shutil.ignore_patterns("__pycache__"))

    def run(steps: dict[str, str], *arguments: Any) -> subprocess.CompletedProcess[str]:
        for name, text in steps.items():
            (source / "hornada" / "store" / "migrations" / name).write_text(text)
        command = [sys.executable, "-c", "from hornada.cli import main; main()", *map(str, arguments)]
        environ = {**os.environ, "PYTHONPATH": str(source)}
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)

    return run


def test_an_older_server_runs_on_while_and_after_a_newer_one_migrates(
    server: Hornada, backend: Client, newer: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    server.start()
    client, work = server.client, Work(backend)
    batch = client.submit(work.lines(300, free=40))
    half_way(client, batch, 20)
    done = newer(NEWER, "migrate", "--config", server.config)
    assert done.returncode == 0, done.stderr
    assert "Took step 9001, later\nTook step 9002, later index\n" in done.stdout
    assert client.batch(batch)["status"] == "in_progress"
    work.open()
    found = ended(client, batch)
    assert (found.batch["status"], found.counts, work.calls()) == ("completed", (300, 0), 300)
    granted(client.call("DELETE", f"/files/{found.batch['output_file_id']}"), "delete")
    server.terminate()
    server.start({"HORNADA_STORAGE_MIGRATE": "false"})
    assert ended(server.client, server.client.submit(work.lines(20, delay=0))).counts == (20, 0)


def test_an_older_server_does_not_start_once_a_step_broke_with_it(
    server: Hornada, newer: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    assert newer(NEWER | BREAKING, "migrate", "--config", server.config).returncode == 0
    known = migration.steps()[-1].number
    with pytest.raises(RuntimeError, match=rf"(?s)ended with 2 .*must know 9003, this program knows up to {known}"):
        server.start()
