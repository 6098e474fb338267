"""Whose line is next: organizations share a model by tokens and weight, batches of one by deadline and by size."""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, count

from hornada.engine.held import Held
from hornada.store.chunk import Source

BATCHES_AT_ONCE = 8
"""Batches of one organization that one model has in hand at a time."""

_TYPICAL_TOKENS = 100.0
"""What a line is taken to use before an organization's first answer says more."""
_LEARN = 0.1


class Course:
    """The chunks of one batch that are held, in order."""

    __slots__ = ("chunks", "deadline", "size")

    def __init__(self, deadline: int, size: int) -> None:
        self.chunks: deque[Held] = deque()
        self.deadline = deadline
        self.size = size


class Flow:
    """What one organization has had of a model, in tokens, and what of its batches waits."""

    __slots__ = (
        "_base",
        "_first",
        "_served",
        "_turn",
        "_typical",
        "courses",
        "idle",
        "in_flight",
        "moves",
        "weight",
    )

    def __init__(self) -> None:
        self.weight = 1
        self.courses: dict[str, Course] = {}
        self.in_flight = 0
        self.idle = True
        """It has no lines, here or in the ledger."""
        self._served = 0.0
        self._base = 0.0
        self._typical = _TYPICAL_TOKENS
        self._first: tuple[str, ...] = ()
        """The smallest batch and the one of the earliest deadline, if that is another; none once some came or went."""
        self._turn = 0
        """Turns so far: they go on as batches come and go."""
        self.moves = 0
        """Which change of its virtual time, of all flows', was its last."""

    @property
    def time(self) -> float:
        """Virtual time: tokens had by weight, lines in flight at what a line of this organization usually takes."""
        return self._base + (self._served + self._typical * self.in_flight) / self.weight

    def rejoin(self, time: float) -> None:
        """An organization that was idle banks no credit: it starts where the others are."""
        self._base += max(0.0, time - self.time)

    def took(self, tokens: int | None) -> None:
        """A line in flight has ended and has used so many tokens; None when nobody knows: then the usual."""
        self.in_flight -= 1
        self._served += self._typical if tokens is None else tokens
        if tokens is not None:
            self._typical += _LEARN * (tokens - self._typical)

    def batch(self) -> str:
        """The batch whose turn it is: the smallest, that of the earliest deadline, and who had none for longest.

        So a small batch ends in moments beside a large one, none is late, and all of them advance.
        """
        courses = self.courses
        if len(courses) == 1:
            return next(iter(courses))
        if not self._first:
            smallest = min(courses, key=lambda batch: (courses[batch].size, courses[batch].deadline))
            earliest = min(courses, key=lambda batch: (courses[batch].deadline, batch))
            self._first = tuple(dict.fromkeys((smallest, earliest)))
        at = self._turn % (len(self._first) + 1)
        self._turn += 1
        batch = self._first[at] if at < len(self._first) else next(iter(courses))
        courses[batch] = courses.pop(batch)  # behind the others
        return batch

    def open(self, batch: str, deadline: int, size: int) -> Course:
        """The course of a batch, a new one if it has none."""
        course = self.courses.get(batch)
        if course is None:
            course = self.courses[batch] = Course(deadline, size)
            self._first = ()
        return course

    def close(self, batch: str) -> None:
        """A batch has no more chunks here."""
        del self.courses[batch]
        self._first = ()


class FairQueue:
    """The lines that one model has yet to be sent. ``runs``: whether lines of a chunk may still start."""

    def __init__(self, runs: Callable[[Held], bool]) -> None:
        self._runs = runs
        self._flows: dict[str, Flow] = {}
        self._waiting: dict[str, Flow] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._move = count(1)
        self.dry = False
        """An organization has no line left here, and had more in the ledger; whoever asks for them says so no more."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def meet(self, sources: Iterable[Source]) -> None:
        """What was found in the ledger: an organization that has no line there, and none here, is idle from now on.

        One that has some is not, though it may have none here for a moment: what it did not get then it still gets.
        """
        weights = {source.org: source.weight or 1 for source in sources}
        for org, weight in weights.items():
            self._join(org, weight)
        for org, flow in self._flows.items():
            flow.idle = flow.idle or not (org in weights or org in self._waiting or flow.in_flight)

    def add(self, held: Held) -> None:
        """Takes a chunk on."""
        chunk = held.work.chunk
        flow = self._waiting[chunk.org] = self._join(chunk.org, held.work.source.weight or 1)
        flow.open(chunk.batch, held.work.source.expires_at, held.work.source.total).chunks.append(held)
        self._moved(chunk.org, flow)

    def _join(self, org: str, weight: int) -> Flow:
        """An organization that has lines; if it was idle, it starts where the others are."""
        flow = self._flows.get(org)
        if flow is None:
            flow = self._flows[org] = Flow()
        if flow.weight != weight:
            flow.weight = weight
            self._moved(org, flow)
        if flow.idle:
            busy = [other.time for other in self._flows.values() if not other.idle]
            flow.rejoin(min(busy, default=0.0))
            flow.idle = False
            self._moved(org, flow)
        return flow

    def next(self) -> tuple[Held, int] | None:
        """The next line to send; it counts as its organization's from here. None when no line waits."""
        while self._waiting:
            org = self._org()
            flow = self._waiting[org]
            batch = flow.batch()
            course = flow.courses[batch]
            held = course.chunks[0]
            line = held.pop() if self._runs(held) else None
            if line is not None:
                flow.in_flight += 1
                self._moved(org, flow)
                return held, line
            course.chunks.popleft()
            if not course.chunks:
                flow.close(batch)
                if not flow.courses:
                    del self._waiting[org]
                    self.dry = self.dry or not flow.idle
        return None

    def again(self, held: Held) -> None:
        """A line that was sent before is sent again."""
        org = held.work.chunk.org
        flow = self._flows[org]
        flow.in_flight += 1
        self._moved(org, flow)

    def ended(self, held: Held, tokens: int | None) -> None:
        """A line is no longer in flight; ``tokens`` None when it has no answer."""
        org = held.work.chunk.org
        flow = self._flows[org]
        flow.took(tokens)
        self._moved(org, flow)
        if not flow.in_flight and not flow.courses and len(self._flows) > _KEPT_FLOWS:
            del self._flows[org]

    def time(self, org: str) -> float:
        """An organization's virtual time; 0 when it has had nothing yet."""
        flow = self._flows.get(org)
        return flow.time if flow is not None else 0.0

    def _org(self) -> str:
        """The one of least virtual time: the top of a heap whose entries are out of date when a flow has moved on."""
        waiting, heap = self._waiting, self._heap
        if len(waiting) == 1:
            heap.clear()
            return next(iter(waiting))
        if not heap or len(heap) > _STALE * len(waiting):
            self._fill()
        while True:
            _, moves, org = heap[0]
            flow = waiting.get(org)
            if flow is not None and flow.moves == moves:
                return org
            heapq.heappop(heap)
            if not heap:
                self._fill()

    def _fill(self) -> None:
        self._heap[:] = [(flow.time, flow.moves, org) for org, flow in self._waiting.items()]
        heapq.heapify(self._heap)

    def _moved(self, org: str, flow: Flow) -> None:
        """An organization's virtual time is another now."""
        flow.moves = next(self._move)
        if self._heap and org in self._waiting:
            heapq.heappush(self._heap, (flow.time, flow.moves, org))


_STALE = 8
_KEPT_FLOWS = 1000
"""Idle organizations whose share is remembered; more are forgotten as they fall idle."""


def choose(
    sources: Sequence[Source], in_hand: Mapping[str, Mapping[str, int]], wanted: int, time: Callable[[str], float]
) -> list[tuple[Source, int]]:
    """From which batches to claim how many lines, most urgent first, so that a ``FairQueue`` has something to choose.

    ``sources``: batches with chunks to claim, by deadline. ``in_hand``: lines that wait, by organization and batch.
    ``wanted``: lines that should wait in all. Every organization gets its part of them, by weight, by deadline, and a
    first chunk of others of its batches as long as it has fewer than BATCHES_AT_ONCE in hand; who has had least is
    first.
    """
    by_org: dict[str, list[Source]] = {}
    for source in sources:
        by_org.setdefault(source.org, []).append(source)
    weights = sum(each[0].weight or 1 for each in by_org.values())
    chosen: list[tuple[Source, int]] = []
    for org in sorted(by_org, key=time):
        hand = in_hand.get(org, {})
        part = -(-wanted * (by_org[org][0].weight or 1) // weights)
        due = _due(by_org[org], part - sum(hand.values()))
        known = {*hand, *(source.batch for source, _ in due)}
        fresh = [source for source in by_org[org] if source.batch not in known]
        chosen += [*due, *((source, 1) for source in _by_turns(fresh)[: max(0, BATCHES_AT_ONCE - len(known))])]
    return chosen


def _due(sources: list[Source], lines: int) -> list[tuple[Source, int]]:
    """So many lines of one organization's batches, the earliest deadline first."""
    due: list[tuple[Source, int]] = []
    for source in sources:
        if lines <= 0:
            break
        due.append((source, lines))
        lines -= source.total
    return due


def _by_turns(sources: list[Source]) -> list[Source]:
    """Batches by turns: the smallest, the earliest due, the next smallest, and so on."""
    smallest = sorted(sources, key=lambda source: source.total)
    turns = chain.from_iterable(zip(smallest, sources, strict=True))
    return list({source.batch: source for source in turns}.values())
