"""Holds a batch's result files against its input: lines lost, repeated, unknown, mixed up, broken."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

MARK = re.compile(r"\[\[(\d+)\]\]")


@dataclass
class Verdict:
    """Counts of lines; ``sound`` when nothing is wrong with them (failed lines are not wrong)."""

    lines: int = 0
    ok: int = 0
    failed: int = 0
    lost: int = 0
    repeated: int = 0
    unknown: int = 0
    mixed: int = 0
    broken: int = 0

    @property
    def sound(self) -> bool:
        """Every line exactly once, with its own answer."""
        return not (self.lost or self.repeated or self.unknown or self.mixed or self.broken)


def check(source: Path, *results: Path) -> Verdict:
    """The verdict on some result files; one that does not exist holds nothing."""
    want = wanted(source)
    found = Verdict(lines=len(want))
    seen: set[str] = set()
    for path in results:
        if path.exists():
            with path.open("rb") as rows:
                for row in rows:
                    judge(row, want, seen, found)
    found.lost = len(want) - len(seen)
    return found


def wanted(source: Path) -> dict[str, str | None]:
    """The marker of every id of the input."""
    want: dict[str, str | None] = {}
    with source.open("rb") as lines:
        for line in filter(bytes.strip, lines):
            mark = MARK.search(line.decode())
            want[json.loads(line)["custom_id"]] = mark and mark[1]
    return want


def judge(row: bytes, want: dict[str, str | None], seen: set[str], found: Verdict) -> None:
    """Counts one result line."""
    try:
        line = json.loads(row)
    except ValueError:
        found.broken += 1
        return
    custom_id = line.get("custom_id")
    if custom_id not in want:
        found.unknown += 1
        return
    found.repeated += custom_id in seen
    seen.add(custom_id)
    response = line.get("response") or {}
    if response.get("status_code") != 200:
        found.failed += 1
        return
    found.ok += 1
    mark = MARK.search(json.dumps(response.get("body")))
    found.mixed += mark is not None and mark[1] != want[custom_id]
