"""A run that is worse than what is stored fails, and nothing else does."""

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.build import ROOT
from bench.check import STORED, compared, main
from bench.report import Result, save

RATIOS = {
    "P1": {"of aiohttp": {"stored": 2.0, "better": "more", "tolerance": 0.1}},
    "P6": {"of msgspec": {"stored": 3.0, "better": "less", "tolerance": 0.2}},
}


def report(p1: float | None = 2.0, p6: float = 3.0) -> dict[str, Any]:
    more = {} if p1 is None else {"of aiohttp": p1}
    return {"rows": [{"row": "P1", "more": more}, {"row": "P6", "less": {"of msgspec": p6}}]}


def worse(found: dict[str, Any], ratios: Any = RATIOS) -> list[str]:
    return [each.row for each in compared(found, ratios) if not each.good]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (report(), []),
        (report(p1=1.81, p6=3.59), []),
        (report(p1=20.0, p6=0.3), []),
        (report(p1=1.79), ["P1"]),
        (report(p6=3.61), ["P6"]),
        (report(p1=None), ["P1"]),
        ({"rows": [{"row": "P6", "less": {"of msgspec": 3.0}}]}, []),
        ({"rows": [{"row": "?"}]}, ["?"]),
    ],
)
def test_what_is_worse_by_more_than_its_tolerance_is_told(found: dict[str, Any], expected: list[str]) -> None:
    assert worse(found) == expected


def as_stored(ratios: Any) -> dict[str, Any]:
    """A report with exactly the stored figures."""
    rows = []
    for row, names in ratios.items():
        figures = {way: {n: k["stored"] for n, k in names.items() if k["better"] == way} for way in ("more", "less")}
        rows.append({"row": row, **figures})
    return {"rows": rows}


def test_every_stored_ratio_fails_when_it_is_made_worse() -> None:
    ratios = json.loads(STORED.read_text())
    assert worse(as_stored(ratios), ratios) == []
    for row, names in ratios.items():
        for name, known in names.items():
            changed = copy.deepcopy(ratios)
            less = known["better"] == "less"
            changed[row][name]["stored"] *= 1.01 + known["tolerance"] if less else 0.99 - known["tolerance"]
            changed[row][name]["stored"] += 0.001 if less else -0.001
            assert worse(as_stored(changed), ratios) == [row], name


def test_a_report_that_is_stored_passes_and_a_worse_one_ends_the_command_with_1(tmp_path: Path) -> None:
    good, bad, ratios = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "ratios.json"
    result = Result("P1", "work", "figure", "target", met=True, more={"of aiohttp": 2.0}, less={"MiB": 100.0})
    save([result], good)
    result.less["MiB"] = 200.0
    save([result], bad)
    assert main([str(good), "--ratios", str(ratios), "--store"]) == 0
    assert main([str(good), "--ratios", str(ratios)]) == 0
    command = [sys.executable, "-m", "bench.check", bad, "--ratios", ratios]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 1
    assert [line for line in run.stdout.splitlines() if "WORSE" in line] == [
        line for line in run.stdout.splitlines() if "MiB" in line
    ]


def test_tolerances_survive_that_a_report_is_stored(tmp_path: Path) -> None:
    kept, found = tmp_path / "ratios.json", tmp_path / "report.json"
    kept.write_text(json.dumps(RATIOS))
    found.write_text(json.dumps(report(p1=2.5)))
    main([str(found), "--ratios", str(kept), "--store"])
    assert json.loads(kept.read_text())["P1"]["of aiohttp"] == {"stored": 2.5, "better": "more", "tolerance": 0.1}
