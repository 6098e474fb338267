"""A user's program that goes on after every crash of the server: upload, create, watch, cancel, read the files."""

import json
import time
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

from bench import verify
from bench.client import TERMINAL, Client, granted
from bench.hornada import Hornada, model, settings
from bench.lines import MODEL
from bench.stub import Stub, spread
from tests.crash import ledger

BROKEN = (OSError, HTTPException)
CAPACITY = 8
TOKENS = 16
PRICE = 100_001
COST = 2
"""Micro-units of a line: 16 tokens at this price a million, rounded up for each line."""
CREDIT = 1_000_000
GRACE_S = 60.0


def configuration(stub: Stub) -> str:
    """One model on the stub, with a price, and an organization with credit."""
    plain = settings([model(MODEL, stub.upstream, capacity=CAPACITY)])
    priced = plain.replace("[[models]]\n", f"[[models]]\nprice = {{ output = {PRICE} }}\n")
    return priced.replace("[bootstrap]\n", f"[bootstrap]\ncredit = {CREDIT}\n")


class Story:
    """One file, one batch. ``go`` may be broken off by a crash at any moment and called again."""

    def __init__(self, server: Hornada, stub: Stub, data: Path, *, cancel_at: int | None = None) -> None:
        self.server = server
        self.stub = stub
        self.data = data
        self.lines = len(data.read_bytes().splitlines())
        self.cancel_at = cancel_at
        self.file_id: str | None = None
        self.batch_id: str | None = None
        self.batch: dict[str, Any] = {}
        self.last: ledger.Snapshot | None = None
        self.durable: set[int] = set()

    def go(self) -> dict[str, Any]:
        """Goes on from where the last attempt broke off, to the batch's end. Raises OSError when the server dies."""
        client = self.server.client
        if self.file_id is None:
            self.file_id = str(granted(client.upload(self.data), "upload")["id"])
        if self.batch_id is None:
            self.batch_id = str(granted(client.create(self.file_id), "create")["id"])
        for batch in client.watch(self.batch_id, GRACE_S, poll=0.03):
            self.saw(batch)
            if self.cancel_at is not None and batch["request_counts"]["completed"] >= self.cancel_at:
                granted(client.call("POST", f"/batches/{self.batch_id}/cancel"), "cancel")
                self.cancel_at = None
        return self.batch

    def saw(self, batch: dict[str, Any]) -> None:
        """Counts never fall, whatever happened in between, and reach the total only when all is settled."""
        now, before = batch["request_counts"], self.batch.get("request_counts", {})
        assert all(now[name] >= n for name, n in before.items()), f"counts fell from {before} to {now}"
        assert now["completed"] + now["failed"] <= now["total"], f"counts exceed the total: {now}"
        self.batch = batch

    def until_it_dies(self) -> None:
        """Goes on until the server is gone; it must have been a SIGKILL. AssertionError when it lives."""
        with suppress(*BROKEN):
            self.go()
        code = self.server.running.wait(60)
        assert code == -9, f"the server did not die of the crash point: exit {code}, batch {self.batch}"
        self.server.kill()
        self.look()

    def look(self) -> None:
        """Reads what the dead server left, and lets the stub forget, so that it shows what is run again."""
        time.sleep(0.05)
        self.ran_nothing_again()
        found = ledger.snapshot(self.server.ledger, self.server.folder)
        ledger.check(found, self.server.blobs)
        if self.last is not None:
            ledger.check_growth(self.last, found)
        self.last = found
        self.durable |= found.committed()
        self.stub.reset()

    def ran_nothing_again(self) -> None:
        """No line whose result was durable before this start of the server was sent since."""
        again = self.durable & self.stub.answered(self.lines)
        assert not again, f"committed lines were run again: {spread(again)}"
        assert self.stub.stats()["max_inflight"] <= CAPACITY

    def check_end(self, status: str = "completed") -> None:
        """The batch ended once, with every line exactly once, in input order, and billed once."""
        client = self.server.client
        assert self.batch["status"] == status, self.batch
        listed = granted(client.call("GET", "/batches?limit=100"), "list")["data"]
        assert [batch["id"] for batch in listed] == [self.batch_id], "the batch was created more than once"
        self.ran_nothing_again()
        good, bad = (self.results(client, kind) for kind in ("output", "error"))
        found = verify.check(self.data, good, bad)
        assert found.sound, found
        assert found.lines == self.lines
        counts = {"total": self.lines, "completed": found.ok, "failed": found.failed}
        assert self.batch["request_counts"] == counts
        for path in (good, bad):
            numbers = [
                int(json.loads(row)["custom_id"].removeprefix("line-")) for row in path.read_bytes().splitlines()
            ]
            assert numbers == sorted(numbers), f"{path.name} is not in input order"
        assert self.batch["cost"] == found.ok * COST
        left = granted(client.call("GET", "/billing/balance"), "balance")["balance"]
        assert left == CREDIT - found.ok * COST
        assert self.billed() == (found.ok, found.ok * TOKENS, found.ok * COST)

    def results(self, client: Client, kind: str) -> Path:
        """One of the two files, read to disk; an empty one where there is none."""
        path = self.server.folder / f"{kind}.jsonl"
        path.write_bytes(client.content(self.batch[f"{kind}_file_id"]))
        return path

    def billed(self) -> tuple[int, ...]:
        """Lines, output tokens and micro-units in the ledger of the stopped server."""
        if self.server.running.exit_code is None:
            assert self.server.terminate() == 0
        entries = ledger.snapshot(self.server.ledger, self.server.folder).entries
        return tuple(sum(row[column] for row in entries) for column in ("lines", "output", "amount"))

    @property
    def over(self) -> bool:
        """Whether the batch has ended."""
        return self.batch.get("status") in TERMINAL
