"""What users want meanwhile: batches of several organizations, of which some are cancelled or run out of time."""

import json
import random
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, NamedTuple

from bench.client import TERMINAL, Answer, Client, granted
from tests.chaos.findings import Findings
from tests.chaos.fleet import Fleet

Json = dict[str, Any]
MODELS = ("m-one", "m-two")
BROKEN = (OSError, HTTPException)
REFUSED, FAILS_ONCE = 29, 101
"""Of so many lines, one is always refused, and one is answered 500 the first time."""
TIMEOUT_S = 10.0


class Organization(NamedTuple):
    """``weight``: of its plan; ``key``: one of its keys."""

    name: str
    weight: int
    key: str


class Line(NamedTuple):
    """A request; ``status``: what its result must say."""

    mark: str
    seconds: float
    status: int
    order: int


@dataclass
class Job:
    """A batch. ``fate``: how it is to end; ``share``: of its lines are done when that befalls it."""

    number: int
    org: Organization
    model: str
    lines: list[Line]
    fate: str = "completed"
    share: float = 1.0
    batch: str | None = None
    input: bytes = b""
    view: Json = field(default_factory=dict)
    stop_at: float | None = None
    """When (monotonic) its cancel was answered, or its time ran out."""
    expires: float | None = None
    """The same, as the database's clock says it."""
    submitted_at: float = 0.0
    ended_at: float | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.view.get("status") in TERMINAL


def job(number: int, org: Organization, chance: random.Random, *, most: int) -> Job:
    """A batch as chance wants it: always the same for the same numbers."""
    model = MODELS[number % len(MODELS)]
    lines = [_line(f"b{number}.{at}", at, chance) for at in range(chance.randint(most // 3, most))]
    fate = chance.choices(["completed", "cancelled", "expired"], [6, 2, 1])[0]
    made = Job(number, org, model, lines, fate, chance.uniform(0.1, 0.6))
    made.input = "".join(_row(model, line) for line in lines).encode()
    return made


def _line(mark: str, at: int, chance: random.Random) -> Line:
    order = 400 if at % REFUSED == 7 else 500 if at % FAILS_ONCE == 11 else 200
    return Line(mark, round(chance.choice([0.02, 0.05, 0.1, 0.1, 0.2, 0.4]), 2), 400 if order == 400 else 200, order)


def body(model: str, mark: str, seconds: float, order: int) -> Json:
    """A request of which the model server knows what to do."""
    return {"model": model, "messages": [{"role": "user", "content": f"[[{mark}]] {seconds} {order}"}]}


def _row(model: str, line: Line) -> str:
    row = {"custom_id": line.mark, "method": "POST", "url": "/v1/chat/completions"}
    return json.dumps({**row, "body": body(model, line.mark, line.seconds, line.order)}) + "\n"


class Caller:
    """Asks whichever process answers calls, again and again, as a patient program behind a balancer would."""

    def __init__(self, fleet: Fleet, findings: Findings) -> None:
        self._fleet = fleet
        self._findings = findings

    def once(self, key: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One try. Raises OSError and HTTPException."""
        node = self._fleet.an_api()
        client = Client(f"http://{node.host}:{node.port}/v1", key)
        answer = client.call(method, path, body, {**headers}, timeout=TIMEOUT_S)
        self._findings.looked("no internal error")
        if answer.status == 500:
            self._findings.broke("no internal error", f"{method} {path} at {node.name}: {answer.body[:300]!r}")
        return answer

    def ask(
        self, org: Organization, method: str, path: str, body: Any = None, patience_s: float = 180, **headers: str
    ) -> Answer:
        """The answer, which is no server's fault."""
        end = time.monotonic() + patience_s
        while True:
            try:
                answer = self.once(org.key, method, path, body, **headers)
            except BROKEN as error:
                seen = f"{type(error).__name__}: {error}"
            else:
                if answer.status < 500 and answer.status != 429:
                    return answer
                seen = f"{answer.status} {answer.body[:300]!r}"
            if time.monotonic() > end:
                raise TimeoutError(f"{method} {path}: {seen}")
            time.sleep(0.2)

    def submit(self, job: Job) -> None:
        """Uploads and creates; a lost answer is asked for again under the same key."""
        name = f"job-{job.number}"
        boundary = uuid.uuid4().hex
        part = f'--{boundary}\r\nContent-Disposition: form-data; name="'
        form = (
            f'{part}purpose"\r\n\r\nbatch\r\n{part}file"; filename="{name}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        sent = form.encode() + job.input + f"\r\n--{boundary}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        file = granted(self.ask(job.org, "POST", "/files", sent, **kind), "upload")["id"]
        wanted = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        made = self.ask(job.org, "POST", "/batches", wanted, **{"Idempotency-Key": name})
        job.submitted_at = time.monotonic()
        job.batch = str(granted(made, "create")["id"])

    def look(self, job: Job) -> None:
        """The batch now, if anybody answers; its counts must not have fallen, nor its end have changed."""
        asked = time.monotonic()
        try:
            answer = self.once(job.org.key, "GET", f"/batches/{job.batch}")
        except BROKEN:
            return
        if answer.status >= 500:
            return
        found = granted(answer, "get")
        self._compare(job, found)
        if found["status"] in TERMINAL and job.ended_at is None:
            job.ended_at = asked
        job.view = found

    def _compare(self, job: Job, found: Json) -> None:
        before, broke = job.view, self._findings.broke
        self._findings.looked("5 counts")
        now, then = found["request_counts"], before.get("request_counts", {})
        if any(now[name] < n for name, n in then.items()):
            broke("5 counts", f"{job.batch}: counts fell from {then} to {now}")
        settled = now["completed"] + now["failed"]
        if settled > now["total"] or (settled == now["total"] > 0 and found["status"] == "validating"):
            broke("5 counts", f"{job.batch}: {now} while {found['status']}")
        if job.over:
            self._findings.looked("9 ends")
            if found != before:
                broke("9 ends", f"{job.batch} changed after its end: {_changes(before, found)}")

    def cancel(self, job: Job) -> None:
        """Cancels; from the answer on it counts. One that has ended first ends as if nobody had wanted it."""
        if self.ask(job.org, "POST", f"/batches/{job.batch}/cancel", {}).ok:
            job.stop_at = time.monotonic()
        else:
            job.fate = "completed"

    def content(self, job: Job, name: str) -> bytes:
        """A result file; empty where there is none."""
        file = job.view.get(name)
        if not file:
            return b""
        answer = self.ask(job.org, "GET", f"/files/{file}/content")
        if answer.status != 200:
            raise ValueError(f"{name} of {job.batch}: {answer.status} {answer.body[:300]!r}")
        return answer.body


def _changes(before: Json, after: Json) -> str:
    return ", ".join(
        f"{name}: {before.get(name)} -> {after.get(name)}" for name in after if before.get(name) != after[name]
    )


def live(jobs: Sequence[Job]) -> list[Job]:
    """Those that have begun and not ended."""
    return [each for each in jobs if each.batch is not None and not each.over]
