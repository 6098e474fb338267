"""``hornada admin`` straight on a ledger that running processes share: heeded at once, and nobody loses anything."""

import asyncio
import os
import subprocess
from typing import Any

import asyncpg
import pytest

from bench.client import Client, granted
from bench.hornada import PROGRAM, Hornada
from bench.process import free_port
from tests.object_store import CREDENTIALS
from tests.platform.fleet import Fleet, metric, until
from tests.platform.operator import OPERATOR_KEY, ended
from tests.platform.work import Work

_HELD = "SELECT batch || ' ' || idx || ' ' || epoch || ' ' || owner FROM chunk WHERE state = 'leased'"


def admin(beside: Hornada, *arguments: str, **env: str) -> str:
    """Runs a command with a process's configuration, but for the port; what it said of where it went."""
    environ = {**os.environ, **CREDENTIALS, "HORNADA_SERVER_PORT": str(free_port()), **env}
    command = [PROGRAM, "admin", *arguments, "--config", beside.config]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr


def column(url: str, sql: str) -> set[Any]:
    async def asked() -> set[Any]:
        connection = await asyncpg.connect(url)
        try:
            return {row[0] for row in await connection.fetch(sql)}
        finally:
            await connection.close()

    return asyncio.run(asked())


def test_it_pauses_and_resumes_what_runs_and_no_lease_ends(fleet: Fleet, work: Work) -> None:
    api, worker = fleet.add("api", ttl_s=15), fleet.add("worker", ttl_s=15)
    until(lambda: len(column(fleet.url, "SELECT id FROM worker")) == 2)
    alive = column(fleet.url, "SELECT id FROM worker")
    batch = api.client.submit(work.lines(200, free=8))
    until(lambda: work.calls() == 16)
    held = column(fleet.url, _HELD)
    admin(api, "plan", "list")
    assert column(fleet.url, _HELD) == held != set()
    assert "opening" in admin(api, "model", "pause", "m-chat")
    until(lambda: metric(worker, 'hornada_model_paused{model="m-chat"}') == 1)
    work.open()
    assert work.quiet() == 16
    assert column(fleet.url, "SELECT id FROM worker") == alive
    admin(api, "model", "resume", "m-chat")
    assert ended(api.client, batch).counts == (200, 0)
    assert work.calls() == 200
    assert "lease" not in worker.log()


def test_other_processes_heed_it_at_once(fleet: Fleet) -> None:
    api = fleet.add("api", ttl_s=15)
    operator = Client(f"http://127.0.0.1:{api.port}", OPERATOR_KEY)
    org = granted(operator.call("GET", "/admin/organizations"), "organizations")["data"][0]["id"]
    made = granted(operator.call("POST", f"/admin/organizations/{org}/keys", {"name": "short"}), "key")
    client = Client(api.base, made["key"])
    assert client.call("GET", "/models").status == 200
    admin(api, "key", "revoke", made["id"])
    assert client.call("GET", "/models").status == 401


def test_beside_a_worker_it_goes_to_the_ledger(fleet: Fleet) -> None:
    worker = fleet.add("worker", ttl_s=15)
    port = str(worker.port)
    assert "opening" in admin(worker, "org", "list", HORNADA_ROLE="worker", HORNADA_SERVER_PORT=port)


@pytest.mark.parametrize("role", ["api", "all"])
def test_beside_a_server_it_calls_that(fleet: Fleet, role: str) -> None:
    server = fleet.add(role, ttl_s=15)
    assert not admin(server, "org", "list", HORNADA_ROLE=role, HORNADA_SERVER_PORT=str(server.port))
