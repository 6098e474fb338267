"""How a batch gets on: its pace, when it will have run, what it costs, and why lines of it failed."""

import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hornada.core.batch import Batch, Counted, Status
from hornada.core.clock import SECOND

BUCKET_S = 5
"""Lines are counted together for so many seconds."""
SHORT_S, LONG_S = 60, 600
_ENOUGH = 10
"""A pace is told from at least so many lines, if need be from those of a longer time."""
MOST_CODES = 50
OTHER = "other"
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")


class Progress(Struct, frozen=True, kw_only=True):
    """How a batch gets on. ``rate``: lines a second; ``eta``: seconds until its last line has run; None: not known.

    ``cost`` and ``estimated_cost`` (of all its lines) in micro-units.
    """

    rate: float | None
    eta: int | None
    cost: int
    estimated_cost: int | None
    failures: Mapping[str, int]
    waiting_for: str | None = None


def progress(batch: Batch, counted: Counted, now: int, waiting_for: str | None = None) -> Progress:
    """How a live batch gets on; ``now`` in microseconds since 1970."""
    counts = batch.counts
    left = counts.total - counts.completed - counts.failed
    rate = _rate(batch, counted, now) if batch.status is Status.IN_PROGRESS else None
    runs = rate and not batch.paused and batch.stop is None
    return Progress(
        rate=None if rate is None else round(rate, 3),
        eta=math.ceil(left / rate) if rate and runs else None,
        cost=counted.cost,
        estimated_cost=counted.cost + counted.cost * left // counts.completed if counts.completed else None,
        failures=most(counted.failures),
        waiting_for=waiting_for,
    )


def ended(batch: Batch) -> Progress:
    """How a batch came out."""
    cost = batch.cost or 0
    return Progress(rate=None, eta=None, cost=cost, estimated_cost=cost, failures=batch.failures)


def most(failures: Mapping[str, int]) -> dict[str, int]:
    """The most frequent codes first; those beyond MOST_CODES together as ``other``."""
    ordered = sorted(failures.items(), key=lambda pair: (-pair[1], pair[0]))
    kept = dict(ordered[:MOST_CODES])
    rest = sum(n for _, n in ordered[MOST_CODES:])
    return kept | {OTHER: kept.get(OTHER, 0) + rest} if rest else kept


def since(now: int, seconds: int) -> int:
    """Where the first bucket begins that began within so many seconds, the one under way included."""
    return bucket(now - seconds * SECOND) + BUCKET_S * SECOND


def bucket(moment: int) -> int:
    """Where the bucket of a moment begins."""
    return moment // (BUCKET_S * SECOND) * BUCKET_S * SECOND


def code_of(status: int, body: bytes) -> str:
    """By which word a failed line is counted: its error's code, or ``http_503`` and the like where it has none.

    A number is no word: vLLM repeats the status there.
    """
    try:
        code = _decode(body).error.code
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        code = None
    named = isinstance(code, str) and _CODE.match(code) and not code.isdecimal()
    return str(code) if named else f"http_{status}"


class _Error(Struct, gc=False):
    code: Any = None


class _Body(Struct, gc=False):
    error: _Error


_decode = msgspec.json.Decoder(_Body).decode


def _rate(batch: Batch, counted: Counted, now: int) -> float:
    """Lines a second within the last minute; where they were few, within ten, or since the batch began."""
    began = batch.in_progress_at or now
    done = batch.counts.completed + batch.counts.failed
    for seconds, lines in ((SHORT_S, counted.short), (LONG_S, counted.long)):
        start = since(now, seconds)
        if lines >= _ENOUGH or began >= start:
            return lines / max(1.0, (now - max(start, began)) / SECOND)
    return done / max(1.0, (now - began) / SECOND)
