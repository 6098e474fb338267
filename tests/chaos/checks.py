"""What is held against what must be, once everything has come to rest."""

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.chaos.calls import Call, peaks
from tests.chaos.findings import Findings
from tests.chaos.fleet import Node
from tests.chaos.weather import Weather
from tests.chaos.work import Caller, Job

Row = dict[str, Any]
SLOWLY_S = 1.5
"""So much later than promised things may be seen to happen on a machine that is busy with others."""
REAPED_S = 6.0
"""A deadline that a batch was given after it was claimed is found by looking, every few seconds."""
HUNGER_S, HUNGER_LINES = 25.0, 800
ANSWERS_S = 5.0
MIB = 400.0
STOPPED = {"cancelled": "batch_cancelled", "expired": "batch_expired"}


class Regular(NamedTuple):
    """A regular call: from when to when, and its status, or what broke."""

    mark: str
    start: float
    end: float
    outcome: int | str


def outputs(caller: Caller, jobs: Sequence[Job], findings: Findings) -> int:
    """1 and 14: every line of every batch is in one of its files, once, in order, with its own answer; how many."""
    seen = 0
    for job in jobs:
        findings.looked("1 every line once")
        findings.looked("14 same output")
        try:
            files = [_rows(caller.content(job, f"{name}_file_id")) for name in ("output", "error")]
        except ValueError as error:
            findings.broke("1 every line once", str(error))
            continue
        for problem in _once(job, files):
            findings.broke("1 every line once", f"batch {job.number} ({job.batch}): {problem}")
        for problem in _same(job, files):
            findings.broke("14 same output", f"batch {job.number} ({job.batch}): {problem}")
        seen += len(job.lines)
    return seen


def _rows(data: bytes) -> list[Row]:
    return [json.loads(row) for row in data.splitlines()]


def _once(job: Job, files: Sequence[Sequence[Row]]) -> list[str]:
    ids = [[row["custom_id"] for row in rows] for rows in files]
    got, want = Counter(ids[0] + ids[1]), {line.mark for line in job.lines}
    order = {line.mark: at for at, line in enumerate(job.lines)}
    problems = []
    if lost := want - got.keys():
        problems.append(f"{len(lost)} lines are lost: {sorted(lost)[:5]}")
    if twice := [mark for mark, n in got.items() if n > 1]:
        problems.append(f"{len(twice)} lines are there twice: {twice[:5]}")
    if strange := got.keys() - want:
        problems.append(f"strange lines: {sorted(strange)[:5]}")
    problems += [
        "a file is not in input order" for some in ids if some != sorted(some, key=lambda id_: order.get(id_, 0))
    ]
    counts = job.view["request_counts"]
    if (counts["completed"], counts["failed"], counts["total"]) != (len(ids[0]), len(ids[1]), len(want)):
        problems.append(f"counts {counts} are not {len(ids[0])} and {len(ids[1])} of {len(want)}")
    return problems


def _same(job: Job, files: Sequence[Sequence[Row]]) -> list[str]:
    want = {line.mark: line for line in job.lines}
    ends = {job.fate}
    if job.fate == "expired" and (job.ended_at or 0) <= (job.stop_at or 0) + SLOWLY_S:
        ends.add("completed")  # its time was enough
    problems = [] if job.view["status"] in ends else [f"it ended as {job.view['status']}, not {job.fate}"]
    for row in (*files[0], *files[1]):
        line, answer = want.get(row["custom_id"]), row.get("response") or {}
        if line is None:
            continue
        if answer.get("status_code") == 200 == line.status:
            said = answer["body"]["choices"][0]["message"]["content"]
            if said != f"echo {line.mark}":
                problems.append(f"{line.mark} has the answer {said!r}")
        elif answer.get("status_code") != line.status and (row.get("error") or {}).get("code") != STOPPED.get(job.fate):
            problems.append(f"{line.mark} should have {line.status}: {json.dumps(row)[:300]}")
    return problems


def limits(calls: list[Call], regular: int, limit: int, findings: Findings) -> dict[str, int]:
    """6: never more lines of a model under way than it has slots; the most there were."""
    findings.looked("6 in flight")
    found = peaks(calls, lines_only=True)
    for model, most in found.items():
        if most > limit:
            findings.broke("6 in flight", f"{most} lines of {model} were under way at a time, {limit} may be")
    for model, most in peaks(calls, lines_only=False).items():
        if most > limit + regular:
            findings.broke("6 in flight", f"{most} calls of {model} were under way at a time")
    return found


def stops(calls: list[Call], jobs: Sequence[Job], weather: Weather, ttl_s: float, findings: Findings) -> float:
    """8: no line starts long after its batch was stopped; by how much the last one was late where all was well."""
    last: dict[int, float] = {}
    for call in calls:
        if call.is_line:
            last[call.batch] = call.start
    latest = 0.0
    for job in jobs:
        if job.stop_at is None or job.number not in last:
            continue
        findings.looked("8 stops")
        late = last[job.number] - job.stop_at
        troubles = weather.among(job.stop_at - ttl_s, job.stop_at + 1)
        bound = (0.9 * ttl_s if troubles else 1.0) + (REAPED_S if job.fate == "expired" else 0) + SLOWLY_S
        if job.fate == "cancelled" and not troubles:
            latest = max(latest, late)
        if late > bound:
            findings.broke(
                "8 stops", f"{job.batch} ({job.fate}): a line started {late:.1f} s after; troubles: {troubles}"
            )
    return latest


def again(calls: list[Call], jobs: Sequence[Job], committed: dict[tuple[str, int], float], findings: Findings) -> None:
    """3: a line that has a result is never sent again."""
    numbers = {job.number: job for job in jobs}
    findings.looked("3 no line again")
    for call in calls:
        if not call.is_line:
            continue
        job, at = numbers[call.batch], int(call.mark.partition(".")[2])
        seen = committed.get(((job.batch or "").removeprefix("batch_"), at))
        if seen is not None and call.start > seen:
            findings.broke("3 no line again", f"{call.mark} was sent {call.start - seen:.1f} s after it had a result")


def billing(rows: dict[str, list[Row]], jobs: Sequence[Job], findings: Findings) -> int:
    """10: the ledger has each answered line once; how many."""
    billed: Counter[str] = Counter()
    for row in rows["ledger_entry"]:
        if row["batch"] is not None:
            billed[row["batch"]] += row["lines"]
    for job in jobs:
        findings.looked("10 billing")
        got, answered = billed[(job.batch or "").removeprefix("batch_")], job.view["request_counts"]["completed"]
        if got != answered:
            findings.broke("10 billing", f"{job.batch}: {got} lines are billed, {answered} were answered")
    return billed.total()


def regular_billing(
    rows: dict[str, list[Row]], calls: Sequence[Regular], served: int, weather: Weather, findings: Findings
) -> int:
    """10: a regular call is billed at most once, and always unless its process died right after; how many."""
    findings.looked("10 billing")
    billed = sum(row["lines"] for row in rows["ledger_entry"] if row["batch"] is None)
    sure = sum(call.outcome == 200 and not weather.among(call.start, call.end + 8, "down", "ledger") for call in calls)
    if not sure <= billed <= served:
        findings.broke("10 billing", f"{billed} regular calls are billed; {served} were served, {sure} surely")
    return billed


def regulars(calls: Sequence[Regular], weather: Weather, findings: Findings) -> tuple[float, float]:
    """13: regular calls are answered, and soon, unless what they need is away; the median and the 95th part."""
    calm = []
    for call in calls:
        if weather.among(call.start - 2, call.end, "ledger", "down", "frozen"):
            continue
        findings.looked("13 regular calls")
        if call.outcome != 200:
            findings.broke(
                "13 regular calls", f"{call.mark} ended with {call.outcome} after {call.end - call.start:.1f} s"
            )
        calm.append(call.end - call.start)
    if len(calm) < 2:
        return 0.0, 0.0
    parts = statistics.quantiles(calm, n=20)
    if parts[18] > ANSWERS_S:
        findings.broke("13 regular calls", f"one in twenty took longer than {parts[18]:.1f} s")
    return parts[9], parts[18]


def hunger(calls: list[Call], jobs: Sequence[Job], findings: Findings) -> None:
    """12, loosely: nobody who has lines waits while hundreds of lines of others are served."""
    org = {job.number: job.org.name for job in jobs}
    by_model: dict[str, list[tuple[float, str]]] = defaultdict(list)
    ends: dict[int, float] = {}
    for call in calls:
        if call.is_line:
            by_model[call.model].append((call.start, org[call.batch]))
            ends[call.batch] = call.start
    for job in jobs:
        findings.looked("12 fairness")
        served = by_model[job.model]
        waits_since, others = job.submitted_at, 0
        for at, name in served:
            if not job.submitted_at <= at <= ends.get(job.number, 0):
                continue
            if name == job.org.name:
                waits_since, others = at, 0
                continue
            others += 1
            if others > HUNGER_LINES and at - waits_since > HUNGER_S:
                findings.broke("12 fairness", f"{job.org.name} waited while {others} lines of others were served")
                break


def memory(nodes: Sequence[Node], findings: Findings) -> float:
    """18: no process grows; the largest there was, in MiB."""
    for node in nodes:
        findings.looked("18 memory")
        if node.peak_mib > MIB:
            findings.broke("18 memory", f"{node.name} used {node.peak_mib:.0f} MiB")
    return max(node.peak_mib for node in nodes)
