"""The process is killed in the middle of erasing an organization, and the next one erases the rest."""

import sqlite3
import time
from contextlib import closing, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from bench.client import Client, granted
from bench.hornada import Hornada
from bench.stub import Stub
from tests.crash.conftest import SLOW_MS
from tests.crash.test_crash_points import ARMED

OPERATOR = {"HORNADA_SERVER_OPERATOR_KEY": "sk-operator"}
GRACE_S = 60.0
OURS = b'{"custom_id": "ours", "body": {"model": "m", "messages": []}}\n'


class Office:
    """The operator, the organization that is erased and one that is not."""

    def __init__(self, server: Hornada) -> None:
        self.server = server
        self.operator = Client(f"http://127.0.0.1:{server.port}", "sk-operator")
        self.org = granted(self.operator.call("GET", "/admin/organizations"), "list")["data"][0]["id"]
        other = self.post("organizations", name="other")["id"]
        member = self.post(f"organizations/{other}/members", name="Eve")["id"]
        key = self.post(f"organizations/{other}/keys", member_id=member)["key"]
        self.other = Client(server.base, key)
        self.kept = granted(self.other.upload(OURS), "upload")["id"]

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        """Creates something."""
        return granted(self.operator.call("POST", f"/admin/{path}", body), path)

    def state(self) -> str:
        """How far the erasure is."""
        return str(granted(self.operator.call("GET", f"/admin/organizations/{self.org}"), "show")["status"])

    def until_erased(self) -> None:
        """Waits for the end."""
        end = time.monotonic() + GRACE_S
        while self.state() != "erased":
            assert time.monotonic() < end, f"still {self.state()}"
            time.sleep(0.05)


@pytest.mark.parametrize("point", ["cancel_committed", "organization_hidden", "bytes_removed", "organization_erased"])
def test_a_kill_while_an_organization_is_erased_only_delays_it(
    point: str, server: Hornada, stub: Stub, data: Path
) -> None:
    stub.tune(latency_ms=SLOW_MS)
    server.start({**OPERATOR, ARMED: point})
    office = Office(server)
    batch = server.client.submit(data)
    for seen in server.client.watch(batch, GRACE_S, poll=0.02):
        if seen["request_counts"]["completed"] > 20:
            break
    with suppress(OSError, HTTPException):  # it may die before it has answered
        granted(office.operator.call("DELETE", f"/admin/organizations/{office.org}"), "erase")
    assert server.running.wait(GRACE_S) == -9, "the server did not die of the crash point"
    server.start(OPERATOR)
    assert server.client.call("GET", "/files").status == 401
    office.until_erased()
    assert granted(office.operator.call("GET", "/admin/reconciliation"), "reconcile")["data"] == []
    assert office.other.content(office.kept) == OURS
    assert server.terminate() == 0
    _check_nothing_is_left(server, office.org)


def _check_nothing_is_left(server: Hornada, org: str) -> None:
    with closing(sqlite3.connect(server.ledger)) as ledger:

        def rows(sql: str) -> list[tuple[Any, ...]]:
            return ledger.execute(sql, {"org": org} if ":org" in sql else {}).fetchall()

        assert rows("SELECT * FROM file WHERE org = :org") == []
        assert rows("SELECT * FROM chunk") == rows("SELECT * FROM segment") == []
        assert rows("SELECT name FROM organization WHERE id = :org") == [(f"erased {org}",)]
        assert set(
            rows("SELECT name FROM member WHERE org = :org UNION SELECT name FROM api_key WHERE org = :org")
        ) == {("erased",)}
        assert rows("SELECT status, metadata, errors FROM batch WHERE org = :org") == [("cancelled", None, None)]
        assert rows("SELECT sum(lines) FROM ledger_entry WHERE org = :org") == rows("SELECT n_ok FROM batch")
        assert rows("SELECT action FROM audit WHERE org = :org ORDER BY at") == [
            ("organization.erase",),
            ("batch.cancel",),
            ("organization.erased",),
        ]
    assert len([path for path in server.blobs.rglob("*") if path.is_file()]) == 1, "the other organization's file"
