"""What the model server wrote down."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

_NOTICE_S = 0.5
"""So late, on a busy machine, the model server may notice that a caller has died."""


class Call(NamedTuple):
    """``end`` is None while nobody has heard of it; ``status`` is ``gone`` when the caller hung up."""

    mark: str
    model: str
    start: float
    end: float | None
    status: str

    @property
    def is_line(self) -> bool:
        """A line of a batch, not a regular call."""
        return self.mark.startswith("b")

    @property
    def batch(self) -> int:
        """The number of its batch."""
        return int(self.mark[1:].partition(".")[0])


def read(log: Path) -> list[Call]:
    """All calls, in order of their beginning."""
    begun: dict[str, tuple[str, str, float]] = {}
    ended: dict[str, tuple[float, str]] = {}
    for row in log.read_text().splitlines():
        kind, call, at, *rest = row.split(" ")
        if kind == "+" and len(rest) == 2:
            begun[call] = (rest[1], rest[0], float(at))
        elif rest:
            ended[call] = (float(at), rest[0])
    return [
        Call(mark, model, start, *ended.get(call, (None, "under way"))) for call, (mark, model, start) in begun.items()
    ]


def peaks(calls: list[Call], *, lines_only: bool) -> dict[str, int]:
    """The most calls of each model at a time."""
    steps: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for call in calls:
        if lines_only and not call.is_line:
            continue
        steps[call.model].append((call.start, 1))
        if call.end is not None:
            early = _NOTICE_S if call.status == "gone" else 0
            steps[call.model].append((max(call.start, call.end - early), -1))
    found = {}
    for model, those in steps.items():
        now = most = 0
        for _, step in sorted(those):
            now += step
            most = max(most, now)
        found[model] = most
    return found


def repeats(calls: list[Call], twice: set[str]) -> Counter[str]:
    """How often each line was sent more than it needed; ``twice``: those that are refused the first time."""
    sent = Counter(call.mark for call in calls if call.is_line)
    return Counter({mark: n - 1 - (mark in twice) for mark, n in sent.items() if n > 1 + (mark in twice)})
