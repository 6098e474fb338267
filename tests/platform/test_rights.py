"""Rights end while a batch runs: its key, its member or its organization."""

import time
from collections.abc import Callable

import pytest

from bench.client import Client, granted
from bench.hornada import Hornada
from tests.platform.fleet import until
from tests.platform.operator import CAPACITY, Operator, ended, half_way

LINES, MOST = 200, 100
"""Of so many lines, so many may start at most: on a machine that has nothing else to do, those of six seconds."""


class Organization:
    """An organization of a test's own with two members, each with a key."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.id = operator.told("POST", "organizations", {"name": f"org {operator.mark}"})["id"]
        self.ana = self._told("members", name="Ana", role="member")["id"]
        bob = self._told("members", name="Bob", role="member")["id"]
        self.other = Client(operator.hornada.base, self._told("keys", member_id=bob, name="second")["key"])
        self.take_key(None)

    def take_key(self, expires_at: int | None) -> None:
        """Another key for the first of them."""
        key = self._told("keys", member_id=self.ana, name="first", expires_at=expires_at)
        self.key_id = key["id"]
        self.client = Client(self.operator.hornada.base, key["key"])

    def _told(self, noun: str, **body: object) -> dict[str, str]:
        return self.operator.told("POST", f"organizations/{self.id}/{noun}", body)


def revoke(org: Organization) -> None:
    org.operator.told("DELETE", f"keys/{org.key_id}")


def remove(org: Organization) -> None:
    org.operator.told("DELETE", f"members/{org.ana}")


def suspend(org: Organization) -> None:
    org.operator.told("PATCH", f"organizations/{org.id}", {"suspended": True})


def resume(org: Organization) -> None:
    org.operator.told("PATCH", f"organizations/{org.id}", {"suspended": False})


def check(org: Organization, batch: str, lose: Callable[[Organization], None]) -> None:
    """Takes rights away half way, then looks at everything that must follow."""
    half_way(org.other, batch, 2)
    lose(org)
    if lose is suspend:
        assert org.other.call("GET", f"/batches/{batch}").status == 401
        batches = f"batches?organization={org.id}"
        until(lambda: org.operator.told("GET", batches)["data"][0]["status"] == "completed")
        resume(org)
    found = ended(org.other, batch)
    calls = org.operator.calls()
    assert (found.batch["status"], found.counts) == ("completed", (calls, LINES - calls))
    assert CAPACITY <= calls <= MOST
    for row in found.error:
        assert (row["response"], row["error"]["code"]) == (None, "authorization_revoked")
    event = org.other.call("GET", "/billing/balance").json["last_event"]
    assert event["endpoint"] == "/v1/chat/completions:batch"
    assert org.client.call("GET", "/batches").status == (200 if lose is suspend else 401)


@pytest.mark.parametrize("lose", [revoke, remove, suspend], ids=["key", "member", "organization"])
def test_lines_of_a_batch_that_lost_its_rights_are_not_started(
    operator: Operator, server: Hornada, lose: Callable[[Organization], None]
) -> None:
    org = Organization(operator)
    batch = org.client.submit(operator.lines([operator.model("m")] * LINES))
    check(org, batch, lose)


def test_lines_of_a_batch_whose_key_expires_are_not_started(operator: Operator) -> None:
    org = Organization(operator)
    file = granted(org.other.upload(operator.lines([operator.model("m")] * LINES)), "upload")["id"]
    expires_at = int(time.time()) + 4
    org.take_key(expires_at)
    batch = granted(org.client.create(file), "create")["id"]

    def wait(_: Organization) -> None:
        until(lambda: time.time() >= expires_at)

    check(org, batch, wait)
