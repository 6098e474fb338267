"""One run: an installation, users, a storm, rest, and the verdict."""

import itertools
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg

from bench.client import Client, granted
from bench.hornada import KEY, model, settings, table
from bench.process import Process, free_port
from tests.chaos import calls as called
from tests.chaos import checks
from tests.chaos.checks import Regular
from tests.chaos.findings import Findings
from tests.chaos.fleet import GRACE_S, Fleet, Node
from tests.chaos.network import Wires
from tests.chaos.skew import skewed
from tests.chaos.storm import FAULTS, Storm, schedule
from tests.chaos.weather import Weather
from tests.chaos.witness import Witness
from tests.chaos.work import BROKEN, MODELS, Caller, Job, Organization, body, job, live
from tests.database_server import DatabaseServer
from tests.object_store import CREDENTIALS, ObjectStore

OPERATOR = "sk-operator-of-chaos"
LIMIT = 8
TTL_S = 3
CALL_S = 8
"""A call to the model server may take so long."""
REGULAR = 2
"""Regular calls at a time."""
WEIGHTS = {"ants": 1, "bees": 1, "cats": 3}
SKEWS = {"worker-1": 60, "worker-2": -60, "api-2": -60}
WIRED = "worker-3"
NAMES = ("api-1", "api-2", "worker-1", "worker-2", "worker-3")


class Plan(NamedTuple):
    """``seconds`` of storm; batches of up to ``lines``, ``at_once`` of each organization; ``cuts``: with namespaces."""

    seed: int
    seconds: float
    lines: int = 400
    at_once: int = 3
    pause_s: float = 3.0
    cuts: bool = True
    patience_s: float = 300.0
    keep: bool = False


class Verdict(NamedTuple):
    """What broke, how often each promise was looked at, and figures."""

    broken: list[str]
    checked: dict[str, int]
    figures: dict[str, Any]


def run(plan: Plan) -> Verdict:
    """Everything, from an empty machine to the verdict. Raises when the kit itself does not work."""
    folder = Path(tempfile.mkdtemp(prefix="hornada-chaos-"))
    with _world(folder, plan) as world:
        verdict = world.run()
    if plan.keep or verdict.broken:
        print(f"logs: {folder}")
    else:
        shutil.rmtree(folder)
    return verdict


class World:
    """The installation, its users, and who looks at them."""

    def __init__(
        self,
        plan: Plan,
        fleet: Fleet,
        storm: Storm,
        witness: Witness,
        weather: Weather,
        findings: Findings,
        log: Path,
        database: str,
    ) -> None:
        self._plan = plan
        self._fleet = fleet
        self._storm = storm
        self._witness = witness
        self._weather = weather
        self._findings = findings
        self._log = log
        self._database = database
        self._caller = Caller(fleet, findings)
        self._chance = random.Random(f"work {plan.seed}")
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._jobs: list[Job] = []
        self._regular: list[Regular] = []
        self._storming = self._going = True

    def run(self) -> Verdict:
        """The whole run."""
        self._fleet.start()
        orgs = self._organizations()
        self._findings.note("all are up")
        threads = [
            *(self._thread(lambda org=org: self._submit(org)) for org in orgs),
            *(self._thread(lambda at=at: self._ask(orgs[at], at)) for at in range(REGULAR)),
            self._thread(self._watch),
            self._thread(self._witnessed),
        ]
        for thread in threads:
            thread.start()
        try:
            kinds = [kind for kind in FAULTS if kind != "cut" or self._plan.cuts]
            faults = schedule(
                self._plan.seed,
                self._plan.seconds,
                nodes=len(self._fleet.nodes),
                ttl_s=TTL_S,
                pause_s=self._plan.pause_s,
                kinds=kinds,
            )
            self._storm.play(faults, lambda: False)
            self._findings.note("the storm is over")
            self._fleet.settle()
            self._storming = False
            self._rest()
        finally:
            self._storming = self._going = False
            for thread in threads:
                thread.join()
        return self._judge()

    def _rest(self) -> None:
        """Waits until every batch has ended."""
        began, end = time.monotonic(), time.monotonic() + self._plan.patience_s
        while any(job.batch is None or not job.over for job in self._jobs):
            self._fleet.look()
            if time.monotonic() > end:
                for each in self._jobs:
                    if not each.over:
                        self._findings.broke("every batch ends", f"batch {each.number} ({each.batch}) is {each.view}")
                return
            time.sleep(0.2)
        self._findings.looked("every batch ends", len(self._jobs))
        self._findings.note(f"all {len(self._jobs)} batches have ended, {time.monotonic() - began:.1f} s later")
        time.sleep(2)

    # ---------------------------------------------------------------- users

    def _organizations(self) -> list[Organization]:
        node = self._fleet.apis[0]
        root = Client(f"http://{node.host}:{node.port}", OPERATOR)

        def told(method: str, path: str, content: Any) -> Any:
            return granted(root.call(method, f"/admin/{path}", content), path)

        made = []
        for name, weight in WEIGHTS.items():
            roomy = {"requests_per_minute": 1_000_000, "active_batches": 1000, "queued_lines": 10_000_000}
            told("PUT", f"plans/{name}", {"weight": weight, **roomy})
            org = told("POST", "organizations", {"name": name, "plan": name})["id"]
            member = told("POST", f"organizations/{org}/members", {"name": name, "role": "admin"})["id"]
            key = told("POST", f"organizations/{org}/keys", {"member_id": member, "name": "key"})["key"]
            made.append(Organization(name, weight, key))
        return made

    def _thread(self, act: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                act()
            except Exception as error:  # noqa: BLE001 - whatever it is, the verdict must say it
                self._findings.broke("users", f"{type(error).__name__}: {error}")

        return threading.Thread(target=guarded)

    def _submit(self, org: Organization) -> None:
        """Keeps some batches of an organization going."""
        while self._storming:
            if sum(each.org == org for each in live(self._jobs)) >= self._plan.at_once:
                time.sleep(0.2)
                continue
            with self._lock:
                made = job(next(self._numbers), org, self._chance, most=self._plan.lines)
                self._jobs.append(made)
            self._caller.submit(made)
            if made.fate == "expired":
                self._shorten(made, random.Random(made.number).uniform(4, 12))

    def _shorten(self, job: Job, seconds: float) -> None:
        """Gives a batch less time than users can: a day."""

        async def write() -> str:
            connection = await asyncpg.connect(self._database, timeout=3)
            try:
                return str(
                    await connection.execute(
                        "UPDATE batch SET expires_at = (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT + $2"
                        " WHERE id = $1 AND status IN ('validating', 'in_progress')",
                        (job.batch or "").removeprefix("batch_"),
                        round(seconds * 1e6),
                    )
                )
            finally:
                connection.terminate()

        import asyncio

        while True:
            try:
                done = asyncio.run(write())
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                time.sleep(0.2)
                continue
            break
        if done.endswith(" 1"):
            job.stop_at = time.monotonic() + seconds
        else:
            job.fate = "completed"

    def _watch(self) -> None:
        """Looks at what goes on, and cancels what is to be cancelled."""
        while self._going:
            for each in live(self._jobs):
                self._caller.look(each)
                counts = each.view.get("request_counts", {})
                done = counts.get("completed", 0) + counts.get("failed", 0)
                if each.fate == "cancelled" and each.stop_at is None and done >= each.share * len(each.lines):
                    self._caller.cancel(each)
            ended = [each for each in self._jobs if each.over]
            if ended:
                self._caller.look(random.choice(ended))
            time.sleep(0.1)

    def _witnessed(self) -> None:
        while self._going:
            self._witness.look()
            time.sleep(0.8)

    def _ask(self, org: Organization, at: int) -> None:
        """Regular calls, one after another."""
        for number in itertools.count():
            if not self._storming:
                return
            mark, start = f"r{at}-{number}", time.monotonic()
            outcome: int | str
            try:
                wanted = body(MODELS[number % len(MODELS)], mark, 0.05, 200)
                outcome = self._caller.once(org.key, "POST", "/chat/completions", wanted).status
            except BROKEN as error:
                outcome = f"{type(error).__name__}: {error}"
            self._regular.append(Regular(mark, start, time.monotonic(), outcome))
            time.sleep(0.15)

    # ---------------------------------------------------------------- the verdict

    def _judge(self) -> Verdict:
        for each in self._jobs:
            if each.over:
                self._caller.look(each)
        self._witness.look()
        self._fleet.read_logs()
        calls = called.read(self._log)
        findings, weather, jobs = self._findings, self._weather, [each for each in self._jobs if each.over]
        rows = self._witness.tables()
        lines = checks.outputs(self._caller, jobs, findings)
        peaks = checks.limits(calls, REGULAR, LIMIT, findings)
        late = checks.stops(calls, jobs, weather, TTL_S, findings)
        checks.again(calls, self._jobs, self._witness.committed, findings)
        billed = checks.billing(rows, jobs, findings)
        served = sum(not call.is_line and call.status == "200" for call in calls)
        checks.regular_billing(rows, self._regular, served, weather, findings)
        median, slow = checks.regulars(self._regular, weather, findings)
        checks.hunger(calls, self._jobs, findings)
        mib = checks.memory(self._fleet.nodes, findings)
        files = self._witness.all_lies()
        twice = {line.mark for each in self._jobs for line in each.lines if line.order == 500}
        repeated = called.repeats(calls, twice)
        figures = {
            "seed": self._plan.seed,
            "storm, s": round(self._plan.seconds),
            "faults": {
                **self._fleet.counts,
                **{k: n for k, n in weather.counts.items() if k in ("cut", "ledger", "bucket")},
            },
            "batches": dict(
                sorted(
                    {
                        status: sum(j.view["status"] == status for j in jobs)
                        for status in ("completed", "cancelled", "expired")
                    }.items()
                )
            ),
            "lines": lines,
            "lines answered and billed": billed,
            "calls of lines": sum(call.is_line for call in calls),
            "sent again": repeated.total(),
            "most lines under way": peaks,
            "regular calls": len(self._regular),
            "of them answered": sum(call.outcome == 200 for call in self._regular),
            "regular, s": [round(median, 3), round(slow, 3)],
            "last start after a cancel, s": round(late, 2),
            "looks into the ledger": self._witness.looks,
            "files in the bucket": files,
            "largest process, MiB": round(mib),
        }
        return Verdict(findings.told, dict(findings.checked), figures)


@contextmanager
def _world(folder: Path, plan: Plan) -> Iterator[World]:
    from tests.conftest import weed_or_not

    weather, findings = Weather(), Findings()
    with ExitStack() as stack:
        wires = stack.enter_context(Wires(os.getpid() % 12_000)) if plan.cuts else None
        database = stack.enter_context(DatabaseServer(wires.network if wires else None))
        listens = "0.0.0.0" if wires else "127.0.0.1"  # noqa: S104 - a machine of tests
        bucket = stack.enter_context(ObjectStore(weed_or_not(), folder / "bucket", listens=listens))
        os.environ.update(CREDENTIALS)
        port, log = free_port(), folder / "calls.log"
        command = [sys.executable, "-m", "tests.chaos.model_server", "--port", str(port), "--log", str(log)]
        stack.enter_context(Process(command, folder / "model_server.log"))
        name, place = f"chaos_{uuid.uuid4().hex}", bucket.url()
        url = database.make(name)
        nodes = [_node(each, folder, port, database, name, place, wires) for each in NAMES]
        fleet = Fleet(nodes, weather, findings)
        stack.callback(fleet.end)
        storm = Storm(fleet, database, bucket, wires, WIRED, weather, findings)
        witness = Witness(
            url,
            place,
            weather,
            findings,
            limit=LIMIT,
            ttl_s=TTL_S,
            workers=[each for each in NAMES if each.startswith("worker")],
        )
        yield World(plan, fleet, storm, witness, weather, findings, log, url)


def _node(
    name: str, folder: Path, port: int, database: DatabaseServer, db: str, place: str, wires: Wires | None
) -> Node:
    """One process; the one that can be cut off sees all else through its wires."""
    wired = wires if name == WIRED else None
    gate, ledger, host = (wired.gate, wired.database, wired.inside) if wired else ("127.0.0.1",) * 3
    upstream = f"http://{gate}:{port}/v1"
    models = [model(each, upstream, capacity=LIMIT, batch=LIMIT) for each in MODELS]
    config = settings(models, limits={"upstream_timeout_s": CALL_S})
    config += table("[storage]", {"database": database.url(db, ledger), "blobs": place.replace("127.0.0.1", gate)})
    config += table("[server]", {"operator_key": OPERATOR, "shutdown_grace_s": GRACE_S})
    config += table("[engine]", {"lease_ttl_s": TTL_S})
    role = "worker" if name.startswith("worker") else "api"
    env = {**CREDENTIALS, "HORNADA_ROLE": role, **skewed(SKEWS.get(name, 0))}
    assert KEY
    return Node(name, folder / name, config, env, host=host, before=wired.within() if wired else [])
