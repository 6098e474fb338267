"""A chunk in the hands of this process: which of its lines are open, in flight or done, and results not yet durable."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from hornada.core.batch import StopReason, Usage
from hornada.core.chunk import Chunk
from hornada.core.line import Reply, Request, Spelling
from hornada.core.progress import code_of
from hornada.core.segment import Entry, Segment, pack
from hornada.engine.budget import Purse
from hornada.engine.retries import Tries
from hornada.store.chunk import Work


class Take(Struct, frozen=True, kw_only=True):
    """What one flush commits of a chunk: its row as it will be, and the new results (``data`` may be empty).

    ``index`` finds each in it. ``lines``: how many were answered, ``failed`` how many not; ``usage`` and ``amount`` are
    theirs, ``failures`` counts the failed ones by code.
    ``estimated``: a count was missing or clamped. ``settled``: nothing of the chunk is left to do here;
    ``left``: lines that have no result all the same, and ``passed_to`` the model that they ask for now.
    """

    chunk: Chunk
    seq: int
    data: bytes
    index: bytes
    sha256: str
    failed: int
    lines: int
    usage: Usage
    amount: int
    failures: Mapping[str, int]
    estimated: bool
    settled: bool
    left: int
    passed_to: str | None

    def segment(self, object_: str, offset: int) -> Segment:
        """The segment row, once the bytes lie somewhere."""
        return Segment(
            batch=self.chunk.batch,
            idx=self.chunk.idx,
            epoch=self.chunk.epoch,
            seq=self.seq,
            object=object_,
            offset=offset,
            length=len(self.data),
            sha256=self.sha256,
            model=self.chunk.model,
            n_ok=self.lines,
            n_failed=self.failed,
            index=self.index,
        )


class Backlog:
    """Bytes of results that are not yet durable, over all chunks held."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0


class Held:
    """One leased chunk. Line numbers here count from the chunk's first."""

    __slots__ = (
        "_backlog",
        "_cost",
        "_done",
        "_n_failed",
        "_n_ok",
        "_next",
        "_passed_to",
        "_pending",
        "_seq",
        "_unsaved",
        "abort_at",
        "in_flight",
        "left",
        "purse",
        "requests",
        "spelling",
        "stop",
        "tasks",
        "tries",
        "work",
    )

    def __init__(
        self, work: Work, requests: list[Request], spelling: Spelling, backlog: Backlog, purse: Purse | None = None
    ) -> None:
        self._backlog = backlog
        self.work = work
        self.requests = requests
        self.spelling = spelling
        self.purse = purse
        self.stop: StopReason | None = None
        self.abort_at: float | None = None
        self.in_flight = 0
        self.tasks: set[asyncio.Task[None]] = set()
        self.tries: dict[int, Tries] = {}
        self._done = bytearray(work.chunk.done)
        self._n_ok = work.chunk.n_ok
        self._n_failed = work.chunk.n_failed
        self.left = len(requests) - self._n_ok - self._n_failed
        self._next = 0
        self._seq = 0
        self._passed_to: str | None = None
        self._pending: list[tuple[int, Reply, bytes]] = []
        self._cost = 0
        self._unsaved: Take | None = None

    @property
    def settled(self) -> bool:
        """Nothing is in flight and nothing will be."""
        return self.in_flight == 0 and (self.left == 0 or self.stop is not None)

    @property
    def unsaved(self) -> bool:
        """Whether there is something that a flush would commit."""
        return bool(self._pending) or self._unsaved is not None or self.settled

    @property
    def unbooked(self) -> int:
        """Micro-units of its results that are not yet in the ledger."""
        taken = self._unsaved.amount if self._unsaved is not None else 0
        return taken + self._cost

    def pop(self) -> int | None:
        """The next line that was never sent by this process and has no result; None when there is none."""
        line, n, done = self._next, len(self.requests), self._done
        while line < n and done[line >> 3] & (1 << (line & 7)):
            line += 1
        self._next = line + 1
        return line if line < n else None

    def settle(self, line: int, reply: Reply) -> None:
        """A line has its result."""
        chunk = self.work.chunk
        custom_id = self.requests[line].custom_id
        written = self.spelling.lines.reply(chunk.batch, chunk.span.first + line, custom_id, reply)
        self._pending.append((line, reply, written))
        self._backlog.bytes += len(written)
        self.left -= 1
        self._cost += reply.cost
        if self.purse is not None:
            self.purse.spend(reply.cost)
        if self.tries:
            self.tries.pop(line, None)

    def pass_on(self, line: int, model: str) -> None:
        """A line has no result here, because it asks for another model now."""
        self.left -= 1
        self._passed_to = model
        self.tries.pop(line, None)

    def take(self) -> Take | None:
        """What there is to commit; the same again until ``saved``."""
        if self._unsaved is None and (self._pending or self.settled):
            self._unsaved = self._take()
        return self._unsaved

    def saved(self) -> None:
        """The last take is durable."""
        if self._unsaved is not None:
            self._backlog.bytes -= len(self._unsaved.data)
            self._unsaved = None

    def forget(self) -> None:
        """Nobody wants its results, nor those that are still to come."""
        self.saved()
        self._backlog.bytes -= sum(len(written) for _, _, written in self._pending)
        self._backlog = Backlog()
        self._pending, self._cost = [], 0

    def _take(self) -> Take:
        entries, parts, offset = [], [], 0
        input_, cached, output, reasoning, cost, answered, estimated = 0, 0, 0, 0, 0, 0, False
        failures = Counter[str]()
        for line, reply, written in self._pending:
            entries.append(Entry(line, reply.ok, offset, len(written)))
            parts.append(written)
            offset += len(written)
            self._done[line >> 3] |= 1 << (line & 7)
            if reply.ok:
                answered += 1
                estimated = estimated or reply.estimated
                used = reply.usage
                input_ += used.input
                cached += used.cached
                output += used.output
                reasoning += used.reasoning
                cost += reply.cost
            else:
                failures[code_of(reply.status, reply.body)] += 1
        self._n_ok += answered
        self._n_failed += len(entries) - answered
        self._pending, self._cost = [], 0
        self._seq += 1
        chunk = replace(self.work.chunk, done=bytes(self._done), n_ok=self._n_ok, n_failed=self._n_failed)
        data = b"".join(parts)
        return Take(
            chunk=chunk,
            seq=self._seq,
            data=data,
            index=pack(entries),
            sha256=hashlib.sha256(data).hexdigest(),
            lines=answered,
            failed=len(entries) - answered,
            usage=Usage(input_, cached, output, reasoning),
            amount=cost,
            failures=failures,
            estimated=estimated,
            settled=self.settled,
            left=len(self.requests) - self._n_ok - self._n_failed,
            passed_to=None if self.stop else self._passed_to,
        )
