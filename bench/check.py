"""Holds a report against stored ratios: ``python -m bench.check REPORT``; exit code 1 when a ratio is worse.

``ratios.json`` has, by row and name, the ``stored`` figure, which way is ``better``, and the ``tolerance``: the part
of it by which a run may be worse. ``--store`` writes the figures of a report there; tolerances stay as they are.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import build

STORED = build.HERE / "ratios.json"
TOLERANCE = 0.25
"""Of a ratio that is stored for the first time: what runs on two shared cores differ by."""
FLOOR = 1e-9

Ratios = dict[str, dict[str, dict[str, Any]]]


class Found(NamedTuple):
    """One stored ratio beside the one of a run; None: the run measured the row and has no such ratio."""

    row: str
    name: str
    stored: float
    now: float | None
    worst: float
    """The worst that passes."""
    good: bool

    def __str__(self) -> str:
        now = "missing" if self.now is None else f"{self.now:.3g}"
        verdict = "ok" if self.good else "WORSE"
        return (
            f"{self.row:5} {self.name:32} stored {self.stored:8.3g}  now {now:>8}  worst {self.worst:8.3g}  {verdict}"
        )


def figures(report: Mapping[str, Any]) -> dict[str, dict[str, tuple[float, str]]]:
    """The comparable figures of a report by row and name, with which way is better."""
    found: dict[str, dict[str, tuple[float, str]]] = {}
    for row in report["rows"]:
        names = found.setdefault(row["row"], {})
        for way in ("more", "less"):
            names |= {name: (float(value), way) for name, value in row.get(way, {}).items()}
    return found


def compared(report: Mapping[str, Any], ratios: Ratios) -> Iterator[Found]:
    """Every stored ratio of the rows that were measured; a measurement that failed has no row, and is told as ``?``."""
    now = figures(report)
    for row, names in ratios.items():
        for name, known in names.items() if row in now else ():
            stored, tolerance, more = known["stored"], known["tolerance"], known["better"] == "more"
            worst = stored * (1 - tolerance) if more else stored * (1 + tolerance)
            value = now[row][name][0] if name in now[row] else None
            good = value is not None and (value >= worst - FLOOR if more else value <= worst + FLOOR)
            yield Found(row, name, stored, value, worst, good)
    if "?" in now:
        yield Found("?", "a measurement failed", 0, None, 0, good=False)


def stored(report: Mapping[str, Any], ratios: Ratios) -> Ratios:
    """The ratios with the figures of a report; tolerances that were set stay."""
    merged = {row: dict(names) for row, names in ratios.items()}
    for row, names in figures(report).items():
        for name, (value, better) in names.items() if row != "?" else ():
            tolerance = merged.get(row, {}).get(name, {}).get("tolerance", TOLERANCE)
            merged.setdefault(row, {})[name] = {"stored": round(value, 3), "better": better, "tolerance": tolerance}
    return merged


def main(given: Sequence[str] | None = None) -> int:
    """Compares or stores; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.check", description=__doc__)
    parser.add_argument("report", type=Path, nargs="?", default=build.FOLDER / "report.json")
    parser.add_argument("--ratios", type=Path, default=STORED, help="where the stored ratios are")
    parser.add_argument("--store", action="store_true", help="store this report's ratios instead")
    asked = parser.parse_args(given)
    report = json.loads(asked.report.read_text())
    ratios: Ratios = json.loads(asked.ratios.read_text()) if asked.ratios.exists() else {}
    if asked.store:
        asked.ratios.write_text(json.dumps(stored(report, ratios), indent=1) + "\n")
        return 0
    found = list(compared(report, ratios))
    print("\n".join(map(str, found)) or "nothing of this report is stored")
    worse = [each for each in found if not each.good]
    print(f"\n{len(found) - len(worse)} of {len(found)} ratios hold")
    return 1 if worse or not found else 0


if __name__ == "__main__":
    sys.exit(main())
