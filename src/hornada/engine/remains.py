"""How many calls of workers that fell silent a model's servers can still be at, by what those say of themselves."""

from collections.abc import Sequence

from msgspec.structs import replace

from hornada.core.clock import Clock
from hornada.engine.gauge import Load
from hornada.store.grant import SlotGrant

APART_S = 5.0
"""So long after the first reading the last must be: requests on their way into a server's queue are counted by then."""


class Remains:
    """``most`` is what the silent workers can have under way at the most, None while that is not known.

    All that servers work on or have waiting is counted as theirs, whoever asked for it. A worker whose lease is over
    starts nothing, so that it can only become less.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.silent = frozenset[str]()
        """The workers whose slots are kept."""
        self._first: tuple[float, int] | None = None
        self.most: int | None = None

    def hear(self, others: Sequence[SlotGrant]) -> None:
        """Who holds slots; readings from before somebody fell silent say nothing of him."""
        before = self.silent
        self.silent = frozenset(each.worker for each in others if not each.live and each.slots)
        if self.silent - before:
            self._first = self.most = None

    def read(self, load: Load | None) -> None:
        """What the servers say now; without an answer of each of them nothing is known."""
        if load is None or load.silent or load.partly:
            self._first = self.most = None
            return
        now, n = self._clock.monotonic(), load.running + load.waiting
        began, highest = self._first or (now, n)
        self._first = began, max(highest, n)
        if now - began >= APART_S:
            self.most = self._first[1]
            self._first = now, n

    def trimmed(self, others: Sequence[SlotGrant]) -> Sequence[SlotGrant]:
        """The same grants, those of silent workers with no more slots in all than these can have in use."""
        if self.most is None:
            return others
        left, kept = self.most, list[SlotGrant]()
        for each in others:
            slots = each.slots if each.live else min(each.slots, left)
            left -= 0 if each.live else slots
            kept.append(replace(each, slots=slots, in_use=min(each.in_use, slots)) if slots < each.slots else each)
        return kept
