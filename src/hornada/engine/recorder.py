"""Makes results durable: their bytes first, then one transaction that names them, however many lines they are."""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence

from hornada.blobs.protocol import Blobs, Placed
from hornada.core.chunk import ChunkState
from hornada.core.clock import Clock
from hornada.core.errors import Unavailable
from hornada.core.ids import new_id
from hornada.engine import crashpoint
from hornada.engine.budget import Budget
from hornada.engine.held import Take
from hornada.store import batch as batches
from hornada.store import chunk as chunks
from hornada.store import ledger, progress, segment
from hornada.store.chunk import Source
from hornada.store.database import Database, Tx

log = logging.getLogger("hornada")

Taken = tuple[Source, Take]
"""What a flush commits of one chunk, and the batch it comes from."""


class Recorder:
    """Writes takes until they are durable; after Unavailable the same takes are given again.

    Bytes that lie somewhere are not written twice, and a commit whose answer was lost is looked up by its segments.
    """

    def __init__(self, db: Database, blobs: Blobs, clock: Clock, budget: Budget) -> None:
        self._db = db
        self._blobs = blobs
        self._clock = clock
        self._budget = budget
        self._placed: dict[tuple[str, int, int, int], tuple[str, int]] = {}
        self._uncertain = False
        self._worker = new_id()

    async def record(self, taken: Sequence[Taken]) -> set[tuple[str, int]]:
        """Makes takes durable; the (batch, chunk) of those that somebody else holds now, whose results do not count."""
        await self._place([take for _, take in taken])
        try:
            async with self._budget.booking(), self._db.write() as tx:
                fenced = await self._write(tx, taken)
        except Unavailable:
            self._uncertain = True
            raise
        self._uncertain = False
        crashpoint.reach("tick_committed")
        for _, take in taken:
            self._placed.pop(_key(take), None)
        return fenced

    async def _place(self, takes: Sequence[Take]) -> None:
        """Appends the bytes of takes that do not lie anywhere yet: one durable write a batch."""
        by_batch: dict[str, list[Take]] = {}
        for take in takes:
            if take.data and _key(take) not in self._placed:
                by_batch.setdefault(take.chunk.batch, []).append(take)
        written = await asyncio.gather(
            *(self._append(batch, group) for batch, group in by_batch.items()), return_exceptions=True
        )
        for failure in written:
            if failure is not None:
                raise failure
        if by_batch:
            crashpoint.reach("segment_written")

    async def _append(self, batch: str, group: list[Take]) -> None:
        placed: Placed = await self._blobs.append(batch, [take.data for take in group])
        for take, offset in zip(group, placed.offsets, strict=True):
            self._placed[_key(take)] = (placed.object, offset)

    async def _write(self, tx: Tx, taken: Sequence[Taken]) -> set[tuple[str, int]]:
        fresh = [(source, take) for source, take in taken if not await self._lies(tx, take)]
        held = await chunks.commit(tx, [(take.chunk, _state(take)) for _, take in fresh])
        good = [(source, take) for source, take in fresh if _of(take) in held]
        back = [take for _, take in good if take.settled and take.left]
        if back:  # in the same order in every process, those to be drained among them, so that none waits for the other
            for batch in sorted({take.chunk.batch for _, take in taken if take.settled}):
                await batches.lock(tx, batch)
        for take in back:
            await chunks.hand_back(tx, take.chunk, model=take.passed_to)
        good = [(source, take) for source, take in good if take.data]
        await segment.insert(tx, [take.segment(*self._placed[_key(take)]) for _, take in good])
        await progress.add(tx, self._worker, _steps(good))
        await ledger.insert(tx, [self._entry(source, take) for source, take in good if take.lines])
        for batch in sorted({take.chunk.batch for _, take in taken if take.settled}):
            if await batches.drain(tx, batch, self._clock.now()):
                log.info("batch_%s: every line has a result", batch)
        return {_of(take) for _, take in fresh} - held

    async def _lies(self, tx: Tx, take: Take) -> bool:
        """Whether a take was committed before, although nobody could say so."""
        return self._uncertain and bool(take.data) and await segment.exists(tx, *_key(take))

    def _entry(self, source: Source, take: Take) -> ledger.LedgerEntry:
        chunk = take.chunk
        return ledger.LedgerEntry(
            id=new_id(),
            source=ledger.source_of(*_key(take)),
            org=chunk.org,
            key=source.key,
            batch=chunk.batch,
            model=chunk.model,
            endpoint=f"{source.endpoint}:batch",
            lines=take.lines,
            usage=take.usage,
            amount=take.amount,
            estimated=take.estimated,
            created_at=self._clock.now(),
        )


def _of(take: Take) -> tuple[str, int]:
    return take.chunk.batch, take.chunk.idx


def _state(take: Take) -> ChunkState:
    return ChunkState.DONE if take.settled and not take.left else ChunkState.LEASED


def _steps(good: Sequence[Taken]) -> dict[str, progress.Step]:
    """What takes add to the progress of their batches."""
    by_batch: dict[str, list[Take]] = {}
    for _, take in good:
        by_batch.setdefault(take.chunk.batch, []).append(take)
    steps = {}
    for batch, takes in by_batch.items():
        failures = Counter[str]()
        for take in takes:
            failures.update(take.failures)
        lines, cost = sum(take.lines + take.failed for take in takes), sum(take.amount for take in takes)
        steps[batch] = progress.Step(lines, cost, failures)
    return steps


def _key(take: Take) -> tuple[str, int, int, int]:
    """What names the segment of a take."""
    return take.chunk.batch, take.chunk.idx, take.chunk.epoch, take.seq
