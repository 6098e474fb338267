"""``hornada admin``, against a server that runs and without one."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bench.client import Client
from bench.hornada import Hornada
from hornada.cli.app import app

OPERATOR_KEY = "sk-operator"
SETTINGS = f'[server]\noperator_key = "{OPERATOR_KEY}"\n[bootstrap]\norganization = "default"\nkey = "sk-first"\n'
UNKNOWN = "0" * 26
Admin = Callable[..., Result]


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("HORNADA_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    """A running server that knows the operator."""
    with Hornada(tmp_path_factory.mktemp("server"), SETTINGS) as server:
        server.start()
        yield server


def running(server: Hornada) -> Admin:
    """Runs a command against the server, as its operator."""
    at = ("--url", f"http://127.0.0.1:{server.port}", "--key", OPERATOR_KEY)
    return lambda *words: CliRunner().invoke(app, ["admin", *words, *at])


@pytest.fixture
def alone(tmp_path: Path) -> Admin:
    """Runs a command on a ledger in an empty folder; no server is there."""
    file = tmp_path / "hornada.toml"
    file.write_text("[server]\nport = 1\n")
    at = ("--config", str(file), "--data", str(tmp_path / "data"))
    return lambda *words: CliRunner().invoke(app, ["admin", *words, *at])


def found(result: Result) -> Any:
    """What a command printed as JSON."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(params=["running", "alone"])
def admin(request: pytest.FixtureRequest) -> Admin:
    """Both ways to reach the ledger."""
    if request.param == "running":
        return running(request.getfixturevalue("server"))
    alone: Admin = request.getfixturevalue("alone")
    return alone


def test_an_organization_with_a_member_and_a_key_is_made(admin: Admin) -> None:
    org = found(admin("org", "create", "Acme", "--json"))
    assert admin("org", "create", "Acme").exit_code == 2
    member = found(admin("member", "add", "Acme", "Ana", "--role", "admin", "--json"))
    assert (member["organization_id"], member["role"]) == (org["id"], "admin")
    words = ("--member", "Ana", "--model", "a", "--model", "b", "--days", "1", "--requests-per-minute", "5")
    key = found(admin("key", "create", org["id"], *words, "--json"))
    assert (key["member_id"], key["models"], key["requests_per_minute"]) == (member["id"], ["a", "b"], 5)
    assert 86_000 < key["expires_at"] - key["created_at"] <= 86_400
    assert key["id"] in admin("key", "list", "Acme").stdout
    assert key["key"] not in admin("key", "list", "Acme").stdout
    found(admin("key", "revoke", key["id"], "--json"))
    (listed,) = found(admin("key", "list", "Acme", "--json"))
    assert listed["revoked_at"] is not None
    assert found(admin("member", "set", member["id"], "--role", "member", "--json"))["role"] == "member"
    found(admin("member", "remove", member["id"], "--json"))
    assert found(admin("member", "list", "Acme", "--json")) == []


def test_plans_are_set_in_part_and_removed(admin: Admin) -> None:
    found(admin("plan", "set", "gold", "--active-batches", "3", "--json"))
    plan = found(admin("plan", "set", "gold", "--weight", "2", "--json"))
    assert (plan["active_batches"], plan["weight"], plan["requests_per_minute"]) == (3, 2, 600)
    found(admin("org", "create", "Golden", "--plan", "gold", "--json"))
    refused = admin("plan", "remove", "gold")
    assert (refused.exit_code, "plan_in_use" in refused.stderr) == (2, True)
    assert found(admin("org", "set", "Golden", "--plan", "default", "--name", "Plain", "--json"))["name"] == "Plain"
    assert admin("plan", "remove", "gold").exit_code == 0
    assert [plan["id"] for plan in found(admin("plan", "list", "--json"))] == ["default"]


def test_an_organization_is_suspended_resumed_and_erased(admin: Admin) -> None:
    org = found(admin("org", "create", "Gone", "--json"))["id"]
    assert found(admin("org", "suspend", "Gone", "--json"))["status"] == "suspended"
    assert found(admin("org", "resume", "Gone", "--json"))["status"] == "active"
    assert admin("org", "erase", "Gone").exit_code == 130, "nobody was there to answer"
    assert found(admin("org", "list", "--json"))[0]["status"] == "active"
    erased = found(admin("org", "erase", org, "--yes", "--json"))
    assert erased["status"] in {"erasing", "erased"}
    assert erased["kept"]


def test_what_does_not_exist_is_exit_code_2(admin: Admin) -> None:
    for words in (
        ("member", "list", UNKNOWN),
        ("org", "suspend", "nobody"),
        ("key", "revoke", UNKNOWN),
        ("batch", "cancel", UNKNOWN),
    ):
        result = admin(*words)
        assert (result.exit_code, "_not_found" in result.stderr) == (2, True), words


def test_lists_are_tables_for_people(admin: Admin) -> None:
    found(admin("org", "create", "Shown", "--json"))
    lines = admin("org", "list").stdout.splitlines()
    assert lines[0].split() == ["id", "name", "plan", "status", "created", "at"]
    assert any("Shown" in line and "active" in line for line in lines[1:])


def test_a_server_that_does_not_answer_is_exit_code_3() -> None:
    result = CliRunner().invoke(app, ["admin", "org", "list", "--url", "http://127.0.0.1:1", "--key", "k"])
    assert (result.exit_code, "does not answer" in result.stderr) == (3, True)


def test_what_is_no_hornada_is_exit_code_3(tmp_path: Path) -> None:
    import http.server
    import threading

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Quiet) as other:
        threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{other.server_port}"
        result = CliRunner().invoke(app, ["admin", "org", "list", "--url", url, "--key", "k"])
        other.shutdown()
    assert (result.exit_code, "no Hornada" in result.stderr) == (3, True)


def test_url_and_key_come_from_the_environment_too(server: Hornada, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HORNADA_URL", f"http://127.0.0.1:{server.port}/")
    monkeypatch.setenv("HORNADA_KEY", OPERATOR_KEY)
    assert CliRunner().invoke(app, ["admin", "org", "list"]).exit_code == 0
    monkeypatch.setenv("HORNADA_KEY", "sk-wrong")
    refused = CliRunner().invoke(app, ["admin", "org", "list"])
    assert (refused.exit_code, "invalid_api_key" in refused.stderr) == (2, True)


def test_without_a_url_the_server_of_the_configuration_is_asked_with_its_operator_key(
    server: Hornada, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HORNADA_SERVER_PORT", str(server.port))
    words = ["admin", "org", "list", "--config", str(server.config), "--json"]
    result = CliRunner().invoke(app, words)
    assert "default" in [org["name"] for org in found(result)]
    assert result.stderr == ""


def test_a_ledger_that_a_server_uses_is_not_opened(server: Hornada) -> None:
    words = ["admin", "org", "list", "--config", str(server.config), "--data", str(server.data)]
    result = CliRunner(env={"HORNADA_SERVER_PORT": "1"}).invoke(app, words)
    assert (result.exit_code, "--url" in result.stderr) == (2, True)


def test_what_was_done_without_a_server_holds_in_the_next_one(tmp_path: Path) -> None:
    with Hornada(tmp_path, SETTINGS) as server:
        at = ("--config", str(server.config), "--data", str(server.data))
        env = {"HORNADA_SERVER_PORT": str(server.port)}
        run = CliRunner(env=env)
        assert run.invoke(app, ["admin", "org", "create", "Acme", *at]).exit_code == 0
        member = found(run.invoke(app, ["admin", "member", "add", "Acme", "Ana", "--json", *at]))["id"]
        key = found(run.invoke(app, ["admin", "key", "create", "Acme", "--member", member, "--json", *at]))["key"]
        server.start()
        assert Client(server.base, key).call("GET", "/files").status == 200


def test_a_revoked_key_is_refused_by_the_next_call(server: Hornada) -> None:
    admin = running(server)
    found(admin("org", "create", "Quick", "--json"))
    member = found(admin("member", "add", "Quick", "Ana", "--json"))["id"]
    key = found(admin("key", "create", "Quick", "--member", member, "--json"))
    client = Client(server.base, key["key"])
    assert client.call("GET", "/files").status == 200
    found(admin("key", "revoke", key["id"], "--json"))
    assert client.call("GET", "/files").status == 401


def test_a_model_is_paused_and_resumed(admin: Admin) -> None:
    found(admin("model", "set", "pausing", "--upstream", "http://127.0.0.1:1/v1", "--json"))
    assert found(admin("model", "pause", "pausing", "--json"))["paused"] is True
    (listed,) = (each for each in found(admin("model", "list", "--json")) if each["name"] == "pausing")
    assert listed["paused"] is True
    assert found(admin("model", "resume", "pausing", "--json"))["paused"] is False
    assert admin("model", "pause", "nobody").exit_code == 2


def test_the_priority_of_lines_is_set_and_kept(admin: Admin) -> None:
    words = ("model", "set", "ranked", "--json")
    assert found(admin(*words, "--upstream", "http://127.0.0.1:1/v1", "--batch-priority", "10"))["batch_priority"] == 10
    assert found(admin(*words, "--reserve", "1"))["batch_priority"] == 10


def test_a_ledger_that_a_command_makes_is_told(alone: Admin) -> None:
    assert "; there is no ledger yet: making sqlite:///" in alone("org", "list").stderr
    assert "; opening sqlite:///" in alone("org", "list").stderr
