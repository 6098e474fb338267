"""A batch's results in input order beside what was asked: from its segments while it runs, later from its files."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

from msgspec import Struct

from hornada.blobs.protocol import Blobs
from hornada.core.account import Principal
from hornada.core.batch import LIVE, Batch, Status
from hornada.core.chunk import Chunk
from hornada.core.errors import Broken, Code, Refusal
from hornada.core.file import File
from hornada.core.jsonl import parse_requests
from hornada.core.line import Request
from hornada.core.segment import Entry, Segment, unpack
from hornada.core.written import begins, joined, numbered
from hornada.engine.batches import Batches
from hornada.engine.linewise import Requests, Results
from hornada.engine.places import Places
from hornada.store import batch as batches
from hornada.store import chunk as chunks
from hornada.store import file as files
from hornada.store import segment
from hornada.store.database import Database

MOST = 32
"""Readers of an organization at once: each may hold a chunk's results and open files for as long as it likes."""
_COME_BACK_S = 5
_CHUNKS_AT_ONCE = 50
_WHOLE_BYTES = 4 * 1024 * 1024
"""A chunk's results up to so many bytes are read at once, more of them line by line."""
_PIECE_BYTES = 64 * 1024
_AT_A_STRETCH = 64
"""Lines after which the event loop turns."""


class Wanted(Struct, frozen=True, kw_only=True):
    """Which results: those of lines behind ``after`` (from 1, so that 0 is all), at most ``limit`` of them.

    ``ok``: only answered or only failed ones, None: both. ``prefix``: of the custom_id, as ``core.written.prefix_of``
    spells it. ``own``: with keys of our own, and with the input when ``input``.
    """

    after: int = 0
    limit: int | None = None
    ok: bool | None = None
    prefix: bytes = b""
    own: bool = True
    input: bool = True


class _Result(Struct, frozen=True, gc=False):
    """The result of a line (from 0): its bytes without LF, and the request's body where that is wanted and there."""

    number: int
    ok: bool
    line: bytes
    body: bytes | None = None


class Joining:
    """Reads only. Memory holds a chunk's results at a time, however many lines there are."""

    def __init__(self, db: Database, blobs: Blobs, batches: Batches, *, most: int = MOST) -> None:
        self._db = db
        self._blobs = blobs
        self._batches = batches
        words = "results being read, which is the limit; read one to its end."
        self._places = Places(most, words, come_back_s=_COME_BACK_S)

    @asynccontextmanager
    async def open(
        self, principal: Principal, batch_id: str, wanted: Wanted
    ) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        """The results that there are by now, in pieces of whole lines.

        Raises Refusal BATCH_NOT_FOUND, RATE_LIMIT_EXCEEDED when the organization has too many readers, FILE_NOT_FOUND
        when a result file is gone that would be read; the generator raises Unavailable or Broken.
        """
        batch = await self._batches.get(principal, batch_id)
        with self._places.one(principal.org):
            if batch.status not in LIVE:
                await self._files(batch, wanted)
            async with aclosing(self._pieces(batch, wanted)) as pieces:
                yield pieces

    async def _pieces(self, batch: Batch, wanted: Wanted) -> AsyncGenerator[bytes, None]:
        gathered, size, left, looked = [], 0, wanted.limit, 0
        async with aclosing(self._results(batch, wanted)) as results:
            async for found in results:
                looked += 1
                if looked % _AT_A_STRETCH == 0:
                    await asyncio.sleep(0)
                if found is None:
                    continue
                gathered.append(_spelled(found, wanted))
                size += len(gathered[-1])
                if left is not None:
                    left -= 1
                    if not left:
                        break
                if size >= _PIECE_BYTES:
                    yield b"".join(gathered)
                    gathered, size = [], 0
        if gathered:
            yield b"".join(gathered)

    async def _results(self, batch: Batch, wanted: Wanted) -> AsyncGenerator[_Result | None, None]:
        """Results behind ``wanted.after``, None for each that was passed over.

        Where the batch ends meanwhile, the rest comes from its files.
        """
        at = wanted.after
        while batch.status in LIVE:
            async with self._db.read() as tx:
                now = await batches.get(tx, batch.org, batch.id)
                group = await chunks.from_line(tx, batch.id, at, _CHUNKS_AT_ONCE)
                found = await segment.of_chunks(tx, batch.id, group[0].idx, group[-1].idx) if group else []
            if now is None or (now.status in LIVE and not group):
                return
            batch = now
            by_chunk: dict[int, list[Segment]] = {}
            for each in found:
                by_chunk.setdefault(each.idx, []).append(each)
            try:
                for chunk in group if batch.status in LIVE else ():
                    own = by_chunk.get(chunk.idx, [])
                    async with aclosing(self._chunk(batch, chunk, own, at, wanted)) as results:
                        async for number, result in results:
                            at = number + 1
                            yield result
                    at = chunk.span.first + chunk.span.n
            except Broken:  # segments of a batch that has ended are removed
                if await self._lives(batch):
                    raise
        async with aclosing(self._from_files(batch, at, wanted)) as results:
            async for result in results:
                yield result

    async def _lives(self, batch: Batch) -> bool:
        async with self._db.read() as tx:
            now = await batches.get(tx, batch.org, batch.id)
        return now is not None and now.status in LIVE

    async def _chunk(
        self, batch: Batch, chunk: Chunk, found: list[Segment], at: int, wanted: Wanted
    ) -> AsyncGenerator[tuple[int, _Result | None], None]:
        """Results of a running batch's chunk by line, from line ``at`` on."""
        first = chunk.span.first
        entries = [
            (entry, each)
            for each in found
            for entry in unpack(each.index)
            if first + entry.line >= at and wanted.ok in {None, entry.ok}
        ]
        if not entries:
            return
        entries.sort(key=lambda pair: pair[0].line)
        requests: list[Request] | None = None
        whole: dict[int, bytes] = {}
        if sum(each.length for each in found) <= _WHOLE_BYTES:
            read = await asyncio.gather(*(self._blobs.read(each.object, each.offset, each.length) for each in found))
            whole = dict(zip(map(id, found), read, strict=True))
        for entry, each in entries:
            line, number = await self._line(entry, each, whole.get(id(each))), first + entry.line
            if not begins(line, wanted.prefix):
                yield number, None
                continue
            if requests is None:
                requests = await self._requests(batch, chunk) if wanted.input else []
            yield number, _Result(number, entry.ok, line, requests[entry.line].body if requests else None)

    async def _line(self, entry: Entry, found: Segment, data: bytes | None) -> bytes:
        """A line without its LF."""
        if data is not None:
            return data[entry.offset : entry.offset + entry.length - 1]
        return await self._blobs.read(found.object, found.offset + entry.offset, entry.length - 1)

    async def _requests(self, batch: Batch, chunk: Chunk) -> list[Request]:
        source = await self._source(batch)
        if source is None:
            return []
        data = await self._blobs.read(source.object, chunk.span.offset, chunk.span.length)
        return parse_requests(data, at_start=chunk.span.offset == 0)

    async def _source(self, batch: Batch) -> File | None:
        async with self._db.read() as tx:
            return await files.get(tx, batch.org, batch.input_file)

    async def _asked(self, batch: Batch, requests: Requests | None, number: int) -> Request | None:
        """What was asked on a line; None when that is not wanted or not there any more."""
        try:
            return await requests.get(number) if requests else None
        except Broken:
            if not _lost_bytes(batch) and await self._source(batch) is not None:
                raise
            return None  # it was deleted while it was read, or the batch ended without it

    async def _files(self, batch: Batch, wanted: Wanted) -> tuple[list[tuple[bool, File]], File | None]:
        """The result files of an ended batch that are to be read, and its input if that is wanted and there."""
        results: list[tuple[bool, File]] = []
        async with self._db.read() as tx:
            for ok, file_id in ((True, batch.output_file), (False, batch.error_file)):
                if file_id is None or wanted.ok not in {None, ok}:
                    continue
                file = await files.get(tx, batch.org, file_id)
                if file is None:
                    raise _gone(ok=ok, wanted=wanted)
                results.append((ok, file))
            source = await files.get(tx, batch.org, batch.input_file) if wanted.own and wanted.input else None
        return results, source

    async def _from_files(self, batch: Batch, at: int, wanted: Wanted) -> AsyncGenerator[_Result | None, None]:
        """Results of an ended batch from line ``at`` on: both files go by number, so the next one heads one of them."""
        found, source = await self._files(batch, wanted) if batch.status is not Status.FAILED else ([], None)
        async with AsyncExitStack() as stack:
            heads = [Results(self._blobs, file, batch.id, ok=ok) for ok, file in found]
            for head in heads:
                stack.push_async_callback(head.close)
                await head.seek(at)
            requests = Requests(self._blobs, source) if source else None
            if requests is not None:
                stack.push_async_callback(requests.close)
            while left := [(head.number, head) for head in heads if head.number is not None]:
                number, head = min(left, key=lambda pair: pair[0])
                line = await head.take()
                if not begins(line, wanted.prefix):
                    yield None
                    continue
                asked = await self._asked(batch, requests, number)
                yield _Result(number, head.ok, line, asked.body if asked else None)


def _lost_bytes(batch: Batch) -> bool:
    """Whether the batch ended in spite of bytes that were lost, its input's maybe."""
    return any(found.code is Code.INTERNAL_ERROR for found in batch.errors)


def _spelled(found: _Result, wanted: Wanted) -> bytes:
    if not wanted.own:
        return found.line + b"\n"
    if not wanted.input:
        return numbered(found.line, found.number, ok=found.ok) + b"\n"
    return joined(found.line, found.number, ok=found.ok, body=found.body) + b"\n"


def _gone(*, ok: bool, wanted: Wanted) -> Refusal:
    which, other = ("output", "failed") if ok else ("error", "succeeded")
    more = "" if wanted.ok is not None else f" The other lines are still there: status={other}."
    message = f"The batch's {which} file was deleted or has expired, and its lines with it.{more}"
    return Refusal(Code.FILE_NOT_FOUND, message, "id")
