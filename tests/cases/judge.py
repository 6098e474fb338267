"""Judges the facts of a case against one listed outcome: an empty list of reasons means that it came."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bench.client import TERMINAL, Answer
from tests.cases.run import Facts

Outcome = Mapping[str, Any]
ORDER = ("validating", "in_progress", "finalizing", "completed")
SEPARATORS = re.compile(rb"\xe2\x80[\xa8\xa9]|\xc2\x85")


def verdict(outcomes: list[dict[str, Any]], facts: Facts) -> tuple[str, list[str]]:
    """``best``, ``tolerable`` or ``miss``, and why the best one did not come."""
    first: list[str] = []
    for number, outcome in enumerate(outcomes):
        why = reasons(outcome, facts)
        if not why:
            return ("tolerable" if number else "best"), first
        first = first or why
    return "miss", first


def reasons(outcome: Outcome, facts: Facts) -> list[str]:
    """Why this outcome did not come."""
    why = list(facts.notes)
    if outcome.get("http_only"):
        return why
    for call in ("upload", "create"):
        answer: Answer | None = getattr(facts, call)
        if call in outcome:
            return [*why, *refused(call, outcome[call], answer)]
        if answer is not None and not answer.ok:
            return [*why, f"{call} refused with {answer.status} {answer.code}"]
    if outcome.get("accepted"):
        return [*why, *accepted(outcome, facts.batch)]
    if facts.batch.get("status") != outcome["batch"]:
        errors = json.dumps(facts.batch.get("errors"))[:300]
        return [*why, f"batch {facts.batch.get('status')}, wanted {outcome['batch']} {errors}"]
    for part in (counts, findings, twins, files, upstream, history):
        why += part(outcome, facts)
    return why


def refused(call: str, want: Mapping[str, Any], answer: Answer | None) -> list[str]:
    """A call that had to be refused with one of these statuses and codes."""
    if answer is None or answer.status not in want["status"]:
        return [f"{call} answered {answer and answer.status}, wanted {want['status']}"]
    if want.get("code") and answer.code not in want["code"]:
        return [f"{call} code {answer.code!r}, wanted {want['code']}"]
    return []


def accepted(outcome: Outcome, batch: Mapping[str, Any]) -> Iterator[str]:
    """A file whose lines may run."""
    total = (batch.get("request_counts") or {}).get("total")
    if batch.get("status") == "failed":
        yield f"failed: {json.dumps(batch.get('errors'))[:200]}"
    if "counts_total" in outcome and total != outcome["counts_total"]:
        yield f"total {total}, wanted {outcome['counts_total']}"


def counts(outcome: Outcome, facts: Facts) -> Iterator[str]:
    """Total, completed, failed."""
    found = facts.batch.get("request_counts") or {}
    got = [found.get(name) for name in ("total", "completed", "failed")]
    if "counts" in outcome and got != outcome["counts"]:
        yield f"counts {got}, wanted {outcome['counts']}"
    if "counts_sum" in outcome and (got[1] or 0) + (got[2] or 0) != outcome["counts_sum"]:
        yield f"completed + failed of {got}, wanted {outcome['counts_sum']}"


def findings(outcome: Outcome, facts: Facts) -> Iterator[str]:
    """``errors.data``: a code at a line, their number, their order."""
    errors = facts.batch.get("errors")
    data = (errors.get("data") or []) if isinstance(errors, dict) else []
    got: dict[int | None, list[str]] = {}
    for entry in data:
        got.setdefault(entry.get("line"), []).append(entry.get("code"))
    for line, codes in outcome.get("errors", []):
        pool = got.get(line, []) if line is not None else [code for found in got.values() for code in found]
        if not set(pool) & set(codes):
            yield f"no error {'/'.join(codes)} at line {line} (got {json.dumps(got)[:200]})"
    if outcome.get("errors_exact") and set(got) != {line for line, _ in outcome["errors"]}:
        yield f"errors at lines {sorted(got, key=str)}, wanted exactly {[line for line, _ in outcome['errors']]}"
    if "errors_len" in outcome and len(data) != outcome["errors_len"]:
        yield f"{len(data)} errors, wanted {outcome['errors_len']}"
    lines = [entry.get("line") or 0 for entry in data]
    if outcome.get("errors_sorted") and lines != sorted(lines):
        yield "errors are not in line order"


def twins(outcome: Outcome, facts: Facts) -> Iterator[str]:
    """Whether a repeated call answered the earlier object."""
    if "same_batch_id" in outcome and facts.same_batch != outcome["same_batch_id"]:
        yield f"same batch: {facts.same_batch}"
    if "same_file_id" in outcome and facts.same_file != outcome["same_file_id"]:
        yield f"same file: {facts.same_file}"
    if outcome.get("same_file_id") and not facts.said_so:
        yield "no deduplication header"


def rows_of(kind: str, answer: Answer, why: list[str]) -> list[dict[str, Any]]:
    """The objects of a result file; what is wrong with its form goes to ``why``."""
    if answer.status != 200:
        why.append(f"{kind} file answered {answer.status}")
        return []
    try:
        text = answer.body.decode()
    except UnicodeDecodeError:
        why.append(f"{kind} file is not UTF-8")
        return []
    rows = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            why.append(f"{kind} file line {number} is not JSON ({error})")
    if not all(isinstance(row, dict) for row in rows):
        why.append(f"{kind} file holds lines that are no objects")
        return []
    return rows


def files(outcome: Outcome, facts: Facts) -> list[str]:
    """Both result files: form, headers, every line in exactly one of them, the answers asked for."""
    why: list[str] = []
    rows = {kind: rows_of(kind, answer, why) for kind, answer in facts.files.items()}
    for kind, answer in facts.files.items():
        why += download(kind, outcome, answer)
    for kind in ("output", "error"):
        if f"{kind}_file" in outcome and bool(facts.batch.get(f"{kind}_file_id")) != outcome[f"{kind}_file"]:
            why.append(f"{kind}_file_id is {facts.batch.get(f'{kind}_file_id')!r}")
    good, bad = rows.get("output", []), rows.get("error", [])
    if outcome["batch"] != "failed":
        why += conserved(outcome, facts.batch["request_counts"], good, bad)
    output = {row["custom_id"]: row for row in good}
    errors = {row["custom_id"]: row for row in bad}
    if "cancelled_code" in outcome:
        why += stopped(outcome["cancelled_code"], errors)
    for custom_id, want in (outcome.get("output") or {}).items():
        why += answered(custom_id, want, output.get(custom_id))
    for custom_id, want in (outcome.get("error") or {}).items():
        why += failed(custom_id, want, errors.get(custom_id))
    if outcome.get("shape"):
        why += shape(output)
    return why


def download(kind: str, outcome: Outcome, answer: Answer) -> Iterator[str]:
    """Length, checksum and separators of a file as it was sent."""
    if outcome.get("check_download"):
        length = answer.headers.get("content-length")
        if length is None or int(length) != len(answer.body):
            yield f"{kind} file: Content-Length {length}, body {len(answer.body)}"
        sums = [value for name, value in answer.headers.items() if "sha256" in name]
        if set(sums) != {hashlib.sha256(answer.body).hexdigest()}:
            yield f"{kind} file: no right SHA-256 header"
        disposition = answer.headers.get("content-disposition", "")
        if "\n" in disposition or ".." in disposition:
            yield f"{kind} file: Content-Disposition is hostile: {disposition!r}"
    if outcome.get("raw_escaped_separators") and SEPARATORS.search(answer.body):
        yield f"raw U+2028, U+2029 or U+0085 in the {kind} file"


def conserved(
    outcome: Outcome, found: Mapping[str, int], good: list[dict[str, Any]], bad: list[dict[str, Any]]
) -> Iterator[str]:
    """Every input line in exactly one of the two files, and the counts say so."""
    if len({row.get("custom_id") for row in good + bad}) != len(good) + len(bad):
        yield "an id appears more than once in the files"
    if len(good) + len(bad) != found["total"]:
        yield f"{len(good) + len(bad)} result lines for total {found['total']}"
    if (found["completed"], found["failed"]) != (len(good), len(bad)):
        yield f"counts {found}, but {len(good)} output and {len(bad)} error lines"
    if "accounted" in outcome and len(good) + len(bad) != outcome["accounted"]:
        yield f"{len(good) + len(bad)} result lines, wanted {outcome['accounted']}"


def stopped(code: str, errors: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Lines that never ran carry no response and this code."""
    for custom_id, row in errors.items():
        if (row.get("error") or {}).get("code") != code or row.get("response") is not None:
            yield f"{custom_id}: not response null and {code} ({json.dumps(row)[:160]})"
            return


def answered(custom_id: str, want: Mapping[str, Any], row: Mapping[str, Any] | None) -> Iterator[str]:
    """A line of the output file and its answer."""
    if row is None:
        yield f"{custom_id[:60]!r} is not in the output file"
        return
    response = row.get("response") or {}
    body = response.get("body")
    if response.get("status_code") != 200 or not isinstance(body, dict):
        yield f"{custom_id[:40]!r}: status {response.get('status_code')}, body {type(body).__name__}"
        return
    for reason in wrong_body(body, want):
        yield f"{custom_id[:40]!r}: {reason}"


def wrong_body(body: Mapping[str, Any], want: Mapping[str, Any]) -> Iterator[str]:
    """What an answer's body lacks."""
    content = content_of(body)
    if "echo" in want and content != "ECHO:" + want["echo"]:
        yield f"answer {str(content)[:60]!r}, wanted ECHO:{want['echo'][:60]!r}"
    if "content" in want and content != want["content"]:
        yield f"content {str(content)[:80]!r}, wanted {str(want['content'])[:80]!r}"
    if "choices" in want and len(body.get("choices", [])) != want["choices"]:
        yield f"{len(body.get('choices', []))} choices, wanted {want['choices']}"
    vectors = [item["embedding"] for item in body.get("data") or []]
    if "vectors" in want and [item["index"] for item in body.get("data") or []] != list(range(want["vectors"])):
        yield f"{len(vectors)} vectors, wanted {want['vectors']} in order"
    if "dim" in want and any(len(vector) != want["dim"] for vector in vectors):
        yield f"{len(vectors[0])} dimensions, wanted {want['dim']}"
    if "emb_type" in want and any(type(vector).__name__ != want["emb_type"] for vector in vectors):
        yield f"the vector is a {type(vectors[0]).__name__}"
    if want.get("emb_type") == "str" and not all(is_base64(vector) for vector in vectors):
        yield "the vector is not base64"


def is_base64(text: str) -> bool:
    """Whether it decodes strictly."""
    try:
        return bool(base64.b64decode(text, validate=True))
    except ValueError:
        return False


def content_of(body: Mapping[str, Any]) -> Any:
    """The text of a chat completion, a completion or a response; None where there is none."""
    if body.get("choices"):
        choice = body["choices"][0]
        return choice["message"].get("content") if "message" in choice else choice.get("text")
    if body.get("output"):
        return body["output"][0]["content"][0]["text"]
    return None


def failed(custom_id: str, want: Mapping[str, Any], row: Mapping[str, Any] | None) -> Iterator[str]:
    """A line of the error file and its cause."""
    if row is None:
        yield f"{custom_id[:60]!r} is not in the error file"
        return
    response = row.get("response") or {}
    if "status" in want and response.get("status_code") not in want["status"]:
        yield f"{custom_id[:40]!r}: status {response.get('status_code')}, wanted {want['status']}"
    if "body_code" in want:
        body = response.get("body")
        error = body.get("error") if isinstance(body, dict) else None
        if not error or error.get("code") != want["body_code"]:
            yield f"{custom_id[:40]!r}: body.error.code is {error and error.get('code')}"
    if want.get("error_null") and row.get("error") is not None:
        yield f"{custom_id[:40]!r}: error is not null beside a response"


def shape(output: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Four keys on every line, ids distinct."""
    for row in output.values():
        response = row.get("response") or {}
        named = str(row.get("id", "")).startswith("batch_req_") and bool(response.get("request_id"))
        if set(row) != {"id", "custom_id", "response", "error"} or row["error"] is not None or not named:
            yield f"shape: {json.dumps(row)[:200]}"
    if len({row.get("id") for row in output.values()}) != len(output):
        yield "result ids repeat"


def upstream(outcome: Outcome, facts: Facts) -> Iterator[str]:
    """What reached the model server."""
    want, stats = outcome.get("upstream") or {}, facts.stats
    if "calls" in want and not want["calls"][0] <= stats["total"] <= want["calls"][1]:
        yield f"{stats['total']} backend calls, wanted {want['calls']}"
    for text, (least, most) in (want.get("calls_text") or {}).items():
        found = sum(n for key, n in stats["calls"].items() if key == text or key.startswith(f"{text} @@"))
        if not least <= found <= most:
            yield f"{found} calls for {text!r}, wanted {least}-{most}"
    seen = {entry["text"]: entry for entry in stats["log"]}
    for part in ("raw_has", "raw_has2"):
        for text, raw in (want.get(part) or {}).items():
            if text not in seen or raw not in seen[text]["raw"]:
                yield f"the backend's body for {text!r} lacks {raw!r}"
    for text, least in (want.get("bytes_min") or {}).items():
        if text not in seen or seen[text]["bytes"] < least:
            yield f"the backend got {seen.get(text, {}).get('bytes')} bytes for {text!r}"


def history(outcome: Outcome, facts: Facts) -> Iterator[str]:
    """States in order, counts that never fall, file ids only at the end, stamps in order."""
    if not outcome.get("watch"):
        return
    last = (0, 0)
    for batch in facts.history:
        found = batch["request_counts"]
        now = (found["completed"], found["failed"])
        if now[0] < last[0] or now[1] < last[1]:
            yield f"counts fell from {last} to {now}"
        if sum(now) > found["total"]:
            yield f"counts exceed the total: {found}"
        last = now
        if batch["status"] not in TERMINAL and (batch["output_file_id"] or batch["error_file_id"]):
            yield f"a file id shows while {batch['status']}"
    states = [batch["status"] for batch in facts.history]
    if any(state not in ORDER for state in states) or states != sorted(states, key=ORDER.index):
        yield f"states went {list(dict.fromkeys(states))}"
    stamps = [facts.batch.get(f"{name}_at") for name in ("created", "in_progress", "finalizing", "completed")]
    if not all(type(stamp) is int for stamp in stamps) or stamps != sorted(stamps, key=lambda stamp: stamp or 0):
        yield f"timestamps {stamps}"
    total = facts.batch["request_counts"]["total"]
    moving = [batch["request_counts"]["completed"] for batch in facts.history if batch["status"] == "in_progress"]
    if outcome.get("counts_move") and not any(0 < found < total for found in moving):
        yield "completed never moved while in_progress"
