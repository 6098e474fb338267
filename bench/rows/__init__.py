"""The rows of the target table, and which function measures which of them."""

from collections.abc import Callable, Sequence

from bench.report import Result
from bench.rows import backlog, bursts, control, crash, files, gateway, growth, pace, relay, speed, workers
from bench.setting import Setting

Measure = Callable[[Setting], Sequence[Result]]

MEASURES: dict[tuple[str, ...], Measure] = {
    ("P1", "P2", "P8a", "P9"): speed.full_speed,
    ("P3",): pace.slow_server,
    ("P4",): pace.refusing_server,
    ("P5",): bursts.beside_a_batch,
    ("P6",): files.validation,
    ("P7",): files.copies,
    ("P8b",): backlog.many_batches,
    ("P10",): crash.kill_midway,
    ("P11",): control.during_a_batch,
    ("P12",): gateway.pass_through,
    ("P13",): relay.events,
    ("P14a",): growth.of_lines,
    ("P14b",): growth.of_batches,
    ("P14c",): growth.of_organizations,
    ("P15",): workers.several,
}


def wanted(rows: Sequence[str]) -> list[Measure]:
    """The measures that give at least one of these rows (``P8`` means P8a and P8b, ``P14`` its three); all for none."""
    if not rows:
        return list(MEASURES.values())
    return [
        measure for given, measure in MEASURES.items() if any(row in rows or row.rstrip("abc") in rows for row in given)
    ]
