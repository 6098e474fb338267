"""Takes one case through a batch server and collects the facts that decide its outcome."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.client import TERMINAL, Answer, Client
from tests.cases import generate

HERE = Path(__file__).parent
Case = dict[str, Any]
CASES: dict[str, Case] = {case["id"]: case for case in json.loads((HERE / "cases.json").read_text("utf-8"))}
DEFAULT_STEPS = ("upload", "create", "wait")


@dataclass
class Facts:
    """What happened: the answers of upload and create, the batch's history and end, its files, the backend's stats.

    ``notes`` are faults whatever the outcome asks for.
    """

    upload: Answer | None = None
    create: Answer | None = None
    file_id: str | None = None
    batch_id: str | None = None
    same_file: bool | None = None
    same_batch: bool | None = None
    said_so: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)
    batch: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Answer] = field(default_factory=dict)
    stats: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_input(case: Case, folder: Path) -> bytes:
    """The bytes of a case's file; the large ones are written to ``folder`` first.

    Where something is done to a batch while it is alive, its lines are held, in place of a second each, until ``wait``.
    """
    source: str = case["input"]
    if not source.startswith("gen:"):
        data = (HERE / source).read_bytes()
        held = rb"\"hold\": \"%b\"" % case["id"].encode()
        return data.replace(rb"\"delay\": 1}", held + b"}") if case["id"].endswith("_alive") else data
    path = folder / f"{source[4:]}.jsonl"
    if not path.exists():
        generate.write(source[4:], path)
    return path.read_bytes()


class Run:
    """One case on one server. ``patience`` is in seconds, for one wait."""

    def __init__(self, case: Case, client: Client, backend: Client, folder: Path, patience: float = 60) -> None:
        self.case = case
        self.client = client
        self.backend = backend
        self.folder = folder
        self.patience = patience * 2 if case["heavy"] else patience
        self.facts = Facts()
        self.accepting = any(outcome.get("accepted") for outcome in case["outcomes"])

    def go(self) -> Facts:
        """Runs every step until one is refused, then reads the end and leaves nothing alive."""
        self.backend.call("POST", "/__reset", b"")
        for step in self.case.get("steps") or DEFAULT_STEPS:
            if not self.step(step):
                break
        facts = self.facts
        if facts.batch_id:
            facts.batch = self.look()
            self.read_files()
        facts.stats = self.backend.call("GET", "/__stats").json
        self.settle()
        return facts

    def step(self, step: str) -> bool:
        """One step, ``name[:argument]``; whether the case goes on."""
        name, _, argument = step.partition(":")
        known: Mapping[str, Callable[[str], bool]] = {
            "upload": self.upload,
            "upload_again": self.upload_again,
            "create": self.create,
            "create_again": self.create_again,
            "side": self.side,
            "wait": self.wait,
            "wait_completed": self.wait_completed,
            "cancel": lambda want: self.ask("POST", f"/batches/{self.facts.batch_id}/cancel", want),
            "cancel_unknown": lambda want: self.ask("POST", "/batches/batch_doesnotexist/cancel", want),
            "delete_input": lambda want: self.ask("DELETE", f"/files/{self.facts.file_id}", want),
        }
        return known[name](argument)

    def sound(self, what: str, answer: Answer) -> Answer:
        """Notes a 5xx."""
        if answer.status >= 500:
            self.facts.notes.append(f"{what} answered {answer.status}")
        return answer

    def look(self) -> dict[str, Any]:
        """The batch now, kept in the history."""
        answer = self.sound("GET batch", self.client.call("GET", f"/batches/{self.facts.batch_id}"))
        if not isinstance(answer.json, dict) or "status" not in answer.json:
            return {}
        self.facts.history.append(answer.json)
        return answer.json

    def submit(self, case: Case, file_id: str | None) -> Answer:
        """Creates a batch as the case says."""
        return self.client.create(file_id or "", case["endpoint"], **(case.get("create") or {}))

    def upload(self, _: str) -> bool:
        """Uploads the case's file."""
        answer = self.client.upload(read_input(self.case, self.folder), **(self.case.get("upload") or {}))
        self.facts.upload = self.sound("upload", answer)
        self.facts.file_id = answer.id if answer.ok else None
        return answer.ok

    def upload_again(self, _: str) -> bool:
        """Uploads the same bytes once more."""
        answer = self.sound("second upload", self.client.upload(read_input(self.case, self.folder)))
        self.facts.same_file = answer.id == self.facts.file_id
        self.facts.said_so = any("dedup" in name for name in answer.headers)
        return True

    def create(self, _: str) -> bool:
        """Creates the batch; a fresh one must be validating."""
        answer = self.facts.create = self.sound("create", self.submit(self.case, self.facts.file_id))
        if answer.ok:
            self.facts.batch_id = answer.id
            self.facts.history.append(answer.json)
            if answer.json.get("status") != "validating":
                self.facts.notes.append(f"a fresh batch shows {answer.json.get('status')!r}")
        return answer.ok

    def create_again(self, _: str) -> bool:
        """Creates the same batch once more."""
        answer = self.sound("second create", self.submit(self.case, self.facts.file_id))
        self.facts.same_batch = answer.id == self.facts.batch_id
        if answer.ok:
            self.facts.batch_id = answer.id
        return True

    def side(self, other: str) -> bool:
        """Starts another case's batch beside this one."""
        case = CASES[other]
        self.submit(case, self.client.upload(read_input(case, self.folder)).id)
        return True

    def until(self, done: Callable[[dict[str, Any]], bool]) -> bool:
        """Polls until ``done(batch)``; whether that came in time."""
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            if done(self.look()):
                return True
            time.sleep(0.1)
        return False

    def wait_completed(self, least: str) -> bool:
        """Waits until that many lines are completed."""
        if not self.until(lambda batch: completed(batch) >= int(least) or batch.get("status") in TERMINAL):
            self.facts.notes.append(f"never reached {least} completed")
        return True

    def wait(self, _: str) -> bool:
        """Waits for the end, or for an accepted file where the case asks for no more."""
        self.backend.call("POST", "/__open", self.case["id"].encode())
        if self.until(lambda batch: batch.get("status") in TERMINAL or (self.accepting and under_way(batch))):
            return True
        last = self.facts.history[-1].get("status") if self.facts.history else None
        self.facts.notes.append(f"still {last!r} after {self.patience:.0f} s")
        return False

    def ask(self, method: str, path: str, want: str) -> bool:
        """A call that must answer ``status|status[:code]``."""
        answer = self.sound(f"{method} {path}", self.client.call(method, path))
        statuses, _, code = want.partition(":")
        if str(answer.status) not in statuses.split("|"):
            self.facts.notes.append(f"{method} {path} answered {answer.status}, wanted {statuses}")
        if code and answer.code != code:
            self.facts.notes.append(f"{method} {path}: code {answer.code!r}, wanted {code!r}")
        return True

    def read_files(self) -> None:
        """Reads the result files of an ended batch."""
        batch = self.facts.batch
        for kind in ("output", "error"):
            file_id = batch.get(f"{kind}_file_id")
            if file_id and batch.get("status") in TERMINAL:
                self.facts.files[kind] = self.client.call("GET", f"/files/{file_id}/content", timeout=600)

    def settle(self) -> None:
        """Cancels what still runs and waits for it: its last calls must not count against the next case."""
        listed = self.client.call("GET", "/batches?limit=20").json
        alive = [batch["id"] for batch in (listed or {}).get("data", []) if batch["status"] not in TERMINAL]
        for batch_id in alive:
            self.client.call("POST", f"/batches/{batch_id}/cancel")
        for batch_id in alive:
            self.client.finish(batch_id, self.patience)


def completed(batch: Mapping[str, Any]) -> int:
    """Lines completed so far."""
    return int((batch.get("request_counts") or {}).get("completed") or 0)


def under_way(batch: Mapping[str, Any]) -> bool:
    """Whether the file was accepted."""
    return batch.get("status") in ("in_progress", "finalizing") and bool(batch["request_counts"]["total"])
