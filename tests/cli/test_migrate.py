"""``hornada migrate``, and what a server does on a ledger of another version."""

import os
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.hornada import PROGRAM
from bench.process import free_port
from hornada.cli.app import app
from hornada.store import migration

KNOWN = migration.steps()[-1].number
COUNT = len(migration.steps())


def run(*arguments: str, **environ: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments), env=environ)
    return done.exit_code, done.output


def test_it_says_what_it_does_and_checks_without_doing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert run("migrate", "--check", "--data", str(data)) == (
        2,
        f"The ledger has schema version 0, this program knows {KNOWN}: hornada migrate takes {COUNT} steps\n",
    )
    assert not data.exists()
    code, said = run("migrate", "--data", str(data))
    assert code == 0
    assert said.splitlines()[:2] == ["Took step 1, ledger", "Took step 2, platform"]
    assert len(said.splitlines()) == COUNT + 1
    for flags in ((), ("--check",)):
        assert run("migrate", "--data", str(data), *flags) == (
            0,
            f"The ledger has schema version {KNOWN}, this program knows {KNOWN}: nothing is left to do\n",
        )


def test_a_postgresql_ledger_is_migrated(fresh_postgres: Callable[[], str]) -> None:
    url = fresh_postgres()
    assert run("migrate", "--check", HORNADA_STORAGE_DATABASE=url)[0] == 2
    assert run("migrate", HORNADA_STORAGE_DATABASE=url)[0] == 0
    assert run("migrate", "--check", HORNADA_STORAGE_DATABASE=url)[0] == 0


def test_a_database_that_does_not_answer_is_exit_3() -> None:
    code, said = run("migrate", HORNADA_STORAGE_DATABASE=f"postgresql://u@127.0.0.1:{free_port()}/d")
    assert (code, said[:50]) == (3, "The ledger is not up to date: the database did not")


def serve(data: Path, **environ: str) -> tuple[int, str]:
    command = [PROGRAM, "serve", "--data", data, "--port", "0"]
    done = subprocess.run(
        command, env={**os.environ, **environ}, capture_output=True, text=True, check=False, timeout=120
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(("breaking", "code"), [(False, 0), (True, 2)])
def test_a_newer_ledger_is_used_if_its_steps_allow_it(tmp_path: Path, breaking: bool, code: int) -> None:
    run("migrate", "--data", str(tmp_path))
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as ledger:
        ledger.execute("INSERT INTO schema_version VALUES (9999, 0)")
        if breaking:
            ledger.execute("INSERT INTO schema_floor VALUES (9999)")
    for flags in ((), ("--check",)):
        assert run("migrate", "--data", str(tmp_path), *flags)[0] == code
    if breaking:
        served, said = serve(tmp_path)
        assert (served, "must know 9999" in said) == (2, True)


def test_a_server_told_not_to_migrate_refuses_an_older_ledger(tmp_path: Path) -> None:
    code, said = serve(tmp_path, HORNADA_STORAGE_MIGRATE="false")
    assert code == 2
    assert f"schema version 0, this program needs {KNOWN}: run hornada migrate" in said
