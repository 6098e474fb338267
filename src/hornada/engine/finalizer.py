"""Writes a drained batch's two files in input order from its segments, verifies them, and ends the batch."""

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Collection

import msgspec

from hornada.blobs.protocol import Blobs, BlobWriter
from hornada.core.batch import Batch, Event, Finding, RequestCounts, Status, StopReason, after
from hornada.core.chunk import Chunk
from hornada.core.clock import SECOND, Clock
from hornada.core.errors import Broken, Code, HornadaError, Unavailable
from hornada.core.file import File, Purpose
from hornada.core.ids import new_id
from hornada.core.jsonl import parse_requests
from hornada.core.limits import Limits
from hornada.core.line import Request, Spelling
from hornada.core.segment import Segment, unpack
from hornada.engine import crashpoint
from hornada.engine.losses import Losses, Place
from hornada.engine.outbox import Outbox
from hornada.engine.tally import Tally
from hornada.store import chunk as chunks
from hornada.store import file as files
from hornada.store import ledger, progress, segment
from hornada.store import stage as stages
from hornada.store.database import Database
from hornada.store.stage import Stage

log = logging.getLogger("hornada")

_CHUNKS_AT_ONCE = 50
_WRITE_BYTES = 1 << 20
_RETRY_CAP_S = 60
_NAMED = 3
"""So many of the places that cannot be read are named when a batch is put off."""
NAMELESS = ""
"""The custom_id of a line whose request was lost: no request has it."""


class Finalizer:
    """Finds batches with every chunk done and assembles them; whoever loses the stage leaves only garbage."""

    def __init__(
        self,
        db: Database,
        blobs: Blobs,
        clock: Clock,
        *,
        owner: Callable[[], str],
        spelling: Callable[[str], Spelling],
        limits: Limits,
        on_ended: Callable[[], None],
        outbox: Outbox | None = None,
        tally: Tally | None = None,
        losses: Losses | None = None,
    ) -> None:
        self._tally = tally or Tally(clock)
        self._losses = losses or Losses(db, blobs, clock)
        self._db = db
        self._blobs = blobs
        self._clock = clock
        self._owner = owner
        self._spelling = spelling
        self._limits = limits
        self._on_ended = on_ended
        self._outbox = outbox

    def adopt(self, limits: Limits) -> None:
        """Takes over changed limits; what has begun keeps those that it began with."""
        self._limits = limits

    async def once(self) -> bool:
        """Assembles one batch; False when there is none."""
        async with self._db.write() as tx:
            stage = await stages.take_drained(tx, self._owner())
        if stage is None:
            return False
        crashpoint.reach("drain_committed")
        spelling = self._spelling(stage.batch.dialect)
        assembly = Assembly(self._db, self._blobs, stage.batch, spelling, self._losses)
        try:
            await assembly.write()
            await self._end(stage, assembly)
        except HornadaError as error:
            away = isinstance(error, Unavailable)
            if away:
                self._losses.doubt()
            level = logging.WARNING if away else logging.ERROR
            log.log(level, "batch_%s could not be assembled: %s", stage.batch.id, error)
            await self._put_off(stage, assembly)
        except Exception:
            log.exception("batch_%s could not be assembled", stage.batch.id)
            await self._put_off(stage, assembly)
        except BaseException:
            await assembly.abort()
            raise
        return True

    async def _put_off(self, stage: Stage, assembly: "Assembly") -> None:
        """Tries again later, for as long as it takes."""
        await assembly.abort()
        async with self._db.write() as tx:
            await stages.postpone(tx, stage, min(_RETRY_CAP_S, 1 << min(stage.tries, 10)) * SECOND)

    async def _end(self, stage: Stage, assembly: "Assembly") -> None:
        """The compare-and-set that makes the files known and the batch ended."""
        batch = stage.batch
        to = after(batch.status, Event.ASSEMBLE, batch.stop)
        if to is None:
            raise Broken(f"a batch that is {batch.status} cannot be assembled")
        now = self._clock.now()
        output, error = self._file(batch, assembly.output, now), self._file(batch, assembly.error, now)
        counts = RequestCounts(batch.counts.total, assembly.output.lines, assembly.error.lines)
        lost = assembly.loss
        async with self._db.write() as tx:
            if assembly.lost and await stages.hold(tx, stage):
                sources = [ledger.source_of(*found.key) for found in assembly.lost_answers]
                await ledger.take_back(tx, sources, now)
                await segment.forget(tx, assembly.lost_answers)
            usage = await ledger.usage_of(tx, batch.id)
            cost = await ledger.cost_of(tx, batch.id)
            ended = await stages.assemble(
                tx,
                stage,
                to,
                counts=counts,
                usage=usage,
                cost=cost,
                output_file=output.id if output else None,
                error_file=error.id if error else None,
                errors=(*batch.errors, lost) if lost else batch.errors,
                now=now,
            )
            if ended:
                await progress.settle(tx, batch.id, assembly.without_result)
                for file in (output, error):
                    if file is not None:
                        await files.insert(tx, file)
                if self._outbox is not None:
                    await self._outbox.ended(tx, batch, to, now)
        if not ended:
            await assembly.forget()
            return
        crashpoint.reach("assembled")
        log.info("batch_%s: %s, %d answered, %d failed", batch.id, to, counts.completed, counts.failed)
        if lost is not None:
            log.error("batch_%s: bytes were lost: %s", batch.id, "; ".join(assembly.reasons))
        self._count(batch, to, assembly)
        self._on_ended()
        if self._outbox is not None:
            self._outbox.ring()

    def _count(self, batch: Batch, to: Status, assembly: "Assembly") -> None:
        self._tally.ended[to] += 1
        self._tally.lost += assembly.lost_lines
        if batch.model is not None:
            self._tally.of(batch.model).stopped += assembly.stopped

    def _file(self, batch: Batch, result: "ResultFile", now: int) -> File | None:
        if result.writer is None:
            return None
        lifetime = batch.output_lifetime_s or self._limits.file_lifetime_s
        return File(
            id=result.id,
            org=batch.org,
            member=batch.member,
            key=batch.key,
            purpose=Purpose.BATCH_OUTPUT,
            name=f"batch_{batch.id}_{result.kind}.jsonl",
            bytes=result.writer.size,
            sha256=result.writer.sha256,
            object=result.object,
            requests=result.lines,
            created_at=now,
            expires_at=now + lifetime * SECOND,
        )


class ResultFile:
    """One of a batch's two files in the making; it exists only once it has a line."""

    def __init__(self, blobs: Blobs, batch: str, kind: str) -> None:
        self._blobs = blobs
        self.id = new_id()
        self.kind = kind
        self.object = f"out/{batch}/{self.id}"
        self.writer: BlobWriter | None = None
        self.lines = 0
        self._buffer = bytearray()

    def add(self, line: bytes | memoryview) -> None:
        """One result line, its LF included."""
        self._buffer += line
        self.lines += 1

    async def flush(self, least: int = _WRITE_BYTES) -> None:
        """Writes what has gathered, if it is at least so much."""
        if len(self._buffer) < max(1, least):
            return
        if self.writer is None:
            self.writer = await self._blobs.writer(self.object)
        await self.writer.write(self._buffer)
        self._buffer = bytearray()

    async def commit(self) -> None:
        """Makes the file durable, if there is one."""
        await self.flush(least=0)
        if self.writer is not None:
            await self.writer.commit()

    async def abort(self) -> None:
        """Leaves nothing behind."""
        if self.writer is not None:
            await self.writer.abort()


class Assembly:
    """One pass over a batch's chunks in order; holds one chunk's answers in memory at a time.

    What cannot be read does not end the pass, so that one pass finds all of it.
    """

    def __init__(self, db: Database, blobs: Blobs, batch: Batch, spelling: Spelling, losses: Losses) -> None:
        self._db = db
        self._blobs = blobs
        self._batch = batch
        self._spelling = spelling
        self._losses = losses
        self._input: File | None = None
        self.output = ResultFile(blobs, batch.id, "output")
        self.error = ResultFile(blobs, batch.id, "error")
        self.stopped = 0
        """Lines that never ran."""
        self.lost: dict[Place, str] = {}
        """What could not be read, and why."""
        self.lost_answers: list[Segment] = []
        """The segments among it."""
        self._unanswered = 0
        """Lines of those that had been answered."""
        self.lost_lines = 0
        """Lines of those segments, and others of which not even the custom_id is known."""

    async def write(self) -> None:
        """Writes both files; raises Broken unless every input line is in exactly one of them.

        Raises Broken, too, for what could not be read, until it is certain that it is lost.
        """
        first, lines = 0, 0
        while True:
            async with self._db.read() as tx:
                group = await chunks.of_batch(tx, self._batch.id, first, _CHUNKS_AT_ONCE)
                segments = await segment.of_chunks(tx, self._batch.id, first, first + _CHUNKS_AT_ONCE - 1)
            if not group:
                break
            by_chunk: dict[int, list[Segment]] = {}
            for found in segments:
                by_chunk.setdefault(found.idx, []).append(found)
            for chunk in group:
                if chunk.span.first != lines:
                    raise Broken(f"chunk {chunk.idx} begins with line {chunk.span.first} where {lines} is next")
                await self._chunk(chunk, by_chunk.get(chunk.idx, []))
                lines += chunk.span.n
            first += len(group)
        written = self.output.lines + self.error.lines
        if not lines == written == self._batch.counts.total:
            raise Broken(f"{self._batch.counts.total} lines, {lines} in chunks, {written} written")
        if self.lost and not await self._losses.certain(self.lost):
            raise Broken("; ".join(self.reasons))
        await self.output.commit()
        await self.error.commit()
        crashpoint.reach("output_written")

    @property
    def without_result(self) -> dict[str, int]:
        """Lines that never ran or whose answer was lost, by code."""
        counts = Counter[str]({_reason(self._batch).value: self.stopped})
        counts[StopReason.INTERNAL.value] += self._unanswered
        return dict(+counts)

    @property
    def reasons(self) -> list[str]:
        """Why some of what cannot be read cannot."""
        return sorted(set(self.lost.values()))[:_NAMED]

    @property
    def loss(self) -> Finding | None:
        """What the batch tells of lost bytes."""
        if not self.lost:
            return None
        message = (
            f"Stored bytes of the batch were lost, so that {self.lost_lines:,} of its lines have no result or no "
            "custom_id; they are in its error file, and are not charged."
        )
        return Finding(code=Code.INTERNAL_ERROR, message=message)

    async def abort(self) -> None:
        """Drops both files before they are whole."""
        await self.output.abort()
        await self.error.abort()

    async def forget(self) -> None:
        """Removes both files: another process ended the batch."""
        for result in (self.output, self.error):
            if result.writer is not None:
                await self._blobs.delete(result.object)

    async def _chunk(self, chunk: Chunk, segments: list[Segment]) -> None:
        results: list[tuple[bool, memoryview] | None] = [None] * chunk.span.n
        lost = dict[int, bool]()
        read = await asyncio.gather(*(self._read(found) for found in segments))
        for found, found_bytes in zip(segments, read, strict=True):
            data = memoryview(found_bytes or b"")
            for entry in unpack(found.index):
                if results[entry.line] is not None or entry.line in lost:
                    raise Broken(f"line {chunk.span.first + entry.line} has two results")
                if found_bytes is None:
                    lost[entry.line] = entry.ok
                else:
                    results[entry.line] = (entry.ok, data[entry.offset : entry.offset + entry.length])
        missing = [line for line, result in enumerate(results) if result is None]
        self.stopped += len(missing) - len(lost)
        self._unanswered += sum(lost.values())
        without = await self._without_result(chunk, missing, lost) if missing else {}
        for line, result in enumerate(results):
            if result is None:
                self.error.add(without[line])
            elif result[0]:
                self.output.add(result[1])
            else:
                self.error.add(result[1])
        await self.output.flush()
        await self.error.flush()

    async def _read(self, found: Segment) -> bytes | None:
        """A segment's bytes; None when they are not there or not what was written, also at the second look."""
        place = Place(found.object, found.offset)
        try:
            for _ in range(2):
                data = await self._blobs.read(found.object, found.offset, found.length)
                if hashlib.sha256(data).hexdigest() == found.sha256:
                    self._losses.found(place)
                    return data
            why = f"segment {found.idx}/{found.epoch}/{found.seq} is not what was written"
        except Broken as error:
            why = str(error)
        self.lost[place] = why
        self.lost_answers.append(found)
        return None

    async def _without_result(self, chunk: Chunk, lines: list[int], lost: Collection[int]) -> dict[int, bytes]:
        """The lines of requests that never ran, and of those whose answers were ``lost``."""
        requests = await self._requests(chunk)
        self.lost_lines += len(lost) if requests else len(lines)
        write, first, reason = self._spelling.lines.stopped, chunk.span.first, _reason(self._batch)
        return {
            line: write(
                self._batch.id,
                first + line,
                requests[line].custom_id if requests else NAMELESS,
                StopReason.INTERNAL if line in lost else reason,
            )
            for line in lines
        }

    async def _requests(self, chunk: Chunk) -> list[Request] | None:
        """What was asked; None when it is not there or not what was checked."""
        if self._input is None:
            async with self._db.read() as tx:
                self._input = await files.get(tx, self._batch.org, self._batch.input_file)
        if self._input is None:
            raise Broken(f"the input file {self._batch.input_file} is gone")
        span, key = chunk.span, self._input.object
        try:
            data = await self._blobs.read(key, span.offset, span.length)
            requests = parse_requests(data, at_start=span.offset == 0)
            if len(requests) == span.n:
                return requests
            why = f"{key} holds {len(requests)} requests where {span.n} were counted"
        except (Broken, msgspec.MsgspecError, UnicodeDecodeError) as error:
            why = str(error)
        self.lost[Place(key)] = why
        return None


def _reason(batch: Batch) -> StopReason:
    """Why the lines of a batch did not run that have no result."""
    return batch.stop or StopReason.INTERNAL
