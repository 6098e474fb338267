"""``hornada admin webhook``, without a server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bench.hornada import table
from hornada.cli.app import app
from tests.listener import ALLOWED, Listener, listening

Admin = Callable[..., Result]


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as listener:
        yield listener


@pytest.fixture
def admin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Admin:
    """Runs a command on a ledger in an empty folder, where the organization ``Acme`` is."""
    settings = tmp_path / "hornada.toml"
    settings.write_text("[server]\nport = 1\n" + table("[webhooks]", ALLOWED))
    monkeypatch.setenv("HORNADA_CONFIG", str(settings))

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, ["admin", *words, "--data", str(tmp_path / "data")])

    assert run("org", "create", "Acme").exit_code == 0
    return run


def found(result: Result) -> Any:
    """What a command printed as JSON."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_an_endpoint_is_made_tried_changed_and_deleted(admin: Admin, listener: Listener) -> None:
    made = admin("webhook", "create", "Acme", listener.url, "--event", "batch.failed", "--name", "Ana's")
    assert (made.exit_code, "The secret is shown only now." in made.stderr) == (0, True)
    shown = dict(line.split(": ", 1) for line in made.stdout.splitlines())
    assert (shown["name"], shown["event_types"], shown["signing_secret"][:6]) == ("Ana's", "batch.failed", "whsec_")
    endpoint = shown["id"]
    (listed,) = found(admin("webhook", "list", "Acme", "--json"))
    assert (listed["id"], listed["url"], "signing_secret" in listed) == (endpoint, listener.url, False)
    assert found(admin("webhook", "test", endpoint, "--event", "batch.expired", "--json"))["status_code"] == 200
    (heard,) = listener.wait(1)
    (entry,) = found(admin("webhook", "log", endpoint, "--status", "delivered", "--json"))
    assert (entry["event_id"], entry["test"]) == (heard.headers["webhook-id"], True)
    assert found(admin("webhook", "redeliver", endpoint, entry["id"], "--json"))["status"] == "pending"
    changed = found(
        admin("webhook", "set", endpoint, "--to", listener.url + "2", "--event", "batch.completed", "--json")
    )
    assert (changed["url"], changed["event_types"], changed["name"]) == (
        listener.url + "2",
        ["batch.completed"],
        "Ana's",
    )
    assert found(admin("webhook", "disable", endpoint, "--json"))["disabled_reason"] == "asked"
    assert "webhook_endpoint_disabled" in admin("webhook", "redeliver", endpoint, entry["id"]).stderr
    assert found(admin("webhook", "enable", endpoint, "--json"))["status"] == "enabled"
    rotated = found(admin("webhook", "rotate", endpoint, "--keep-old", "--json"))
    assert rotated["signing_secret"] != shown["signing_secret"]
    assert rotated["old_secret_expires_at"] is not None
    assert found(admin("webhook", "delete", endpoint, "--json"))["deleted"]
    gone = admin("webhook", "log", endpoint)
    assert (gone.exit_code, "webhook_endpoint_not_found" in gone.stderr) == (2, True)


def test_every_event_is_sent_when_none_is_named(admin: Admin) -> None:
    made = found(admin("webhook", "create", "Acme", "https://example.com/", "--json"))
    assert made["event_types"] == ["batch.cancelled", "batch.completed", "batch.expired", "batch.failed"]


def test_a_url_that_will_not_do_and_an_event_that_is_none_are_told(admin: Admin) -> None:
    refused = admin("webhook", "create", "Acme", "https://10.0.0.1/")
    assert (refused.exit_code, "not a public address" in refused.stderr) == (2, True)
    assert admin("webhook", "create", "Acme", "https://example.com/", "--event", "batch.done").exit_code == 2
