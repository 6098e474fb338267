"""What was measured: one result a row of the target table, printed as a table and kept as JSON."""

import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Result:
    """One row: ``figure`` measured, ``yardstick`` from the same minute, ``ratio`` between them, ``met`` or not.

    ``met`` None: measured, not judged. ``more`` and ``less`` are figures by name that depend little on the machine and
    are better when they are more, or less: ``bench.check`` holds them against stored ones. ``facts``: the raw numbers.
    """

    row: str
    work: str
    figure: str
    target: str
    met: bool | None
    yardstick: str = "-"
    ratio: str = "-"
    more: dict[str, float] = field(default_factory=dict)
    less: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """In one word."""
        return {True: "met", False: "MISSED", None: "-"}[self.met]


COLUMNS = ("row", "work", "figure", "yardstick", "ratio", "target", "verdict")


def table(results: Sequence[Result]) -> str:
    """The rows, aligned."""
    rows = [COLUMNS, *(tuple(str(getattr(result, name)) for name in COLUMNS) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def save(results: Sequence[Result], path: Path, **about: Any) -> None:
    """Writes the report: the machine, the moment, every row with its facts."""
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}
    rows = [{**asdict(result), "verdict": result.verdict} for result in results]
    report = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": machine, **about, "rows": rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
