"""``hornada admin credit``, ``balance`` and ``reconcile``, without a server."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hornada.cli.app import app

Admin = Callable[..., Result]


@pytest.fixture
def admin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Admin:
    """Runs a command on a ledger in an empty folder, where the organization ``Acme`` is."""
    settings = tmp_path / "hornada.toml"
    settings.write_text('[server]\nport = 1\n[billing]\ncurrency = "MXN"\n')
    monkeypatch.setenv("HORNADA_CONFIG", str(settings))

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, ["admin", *words, "--data", str(tmp_path / "data")])

    assert run("org", "create", "Acme").exit_code == 0
    return run


def test_credit_is_added_and_shown(admin: Admin) -> None:
    assert "balance: 0" not in admin("balance", "Acme").stdout, "unlimited until the first credit"
    added = admin("credit", "add", "Acme", "2500000", "--note", "invoice 7")
    assert (added.exit_code, added.stdout) == (0, "balance: 2500000\ncurrency: MXN\n")
    admin("credit", "add", "Acme", "1")
    shown = json.loads(admin("balance", "Acme", "--json").stdout)
    assert shown == {"object": "balance", "balance": 2500001, "currency": "MXN", "last_event": None}


def test_credit_is_never_taken_away(admin: Admin) -> None:
    assert admin("credit", "add", "Acme", "--", "-5").exit_code == 2


def test_an_unknown_organization_has_no_balance(admin: Admin) -> None:
    asked = admin("balance", "Nobody")
    assert (asked.exit_code, "organization_not_found" in asked.stderr) == (2, True)


def test_a_ledger_that_agrees_is_proved_with_exit_code_0(admin: Admin) -> None:
    admin("credit", "add", "Acme", "5")
    proved = admin("reconcile")
    assert (proved.exit_code, "agrees" in proved.stderr) == (0, True)


def test_a_planted_difference_is_printed_and_exits_1(admin: Admin, tmp_path: Path) -> None:
    admin("credit", "add", "Acme", "5")
    with closing(sqlite3.connect(tmp_path / "data" / "ledger.db")) as ledger, ledger:
        ledger.execute("UPDATE balance SET amount = 3")
    found = admin("reconcile")
    assert (found.exit_code, "movement of the balance" in found.stdout) == (1, True)
