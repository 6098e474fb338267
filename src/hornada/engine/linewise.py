"""Stored files line by line, with flat memory; a result file from any of its lines on."""

from collections import deque
from collections.abc import AsyncGenerator

from hornada.blobs.protocol import Blobs
from hornada.core.file import File
from hornada.core.jsonl import parse_requests
from hornada.core.line import Request
from hornada.core.written import HEAD_BYTES, number_of

_NEAR_BYTES = 512 * 1024
"""So close to the line that is sought, lines are read one after another."""
_BLOCK = 64 * 1024
_BLANK = b" \t\r"


class Lines:
    """Lines of a file from ``offset`` on, which must be where one begins. ``close`` it."""

    def __init__(self, blobs: Blobs, file: File, offset: int = 0) -> None:
        self._pieces = blobs.stream(file.object, offset, file.bytes - offset)
        self._ready: deque[bytes] = deque()
        self._open: list[bytes] = []

    async def next(self) -> bytes | None:
        """The next line without its LF, None behind the last; raises Unavailable or Broken."""
        while not self._ready:
            piece = await anext(self._pieces, None)
            if piece is None:
                rest = b"".join(self._open)
                self._open = []
                return rest or None
            first, *lines = piece.split(b"\n")
            self._open.append(first)
            if lines:
                self._ready.append(b"".join(self._open))
                self._open = [lines.pop()]
                self._ready.extend(lines)
        return self._ready.popleft()

    async def close(self) -> None:
        """Lets go of the file."""
        if isinstance(self._pieces, AsyncGenerator):
            await self._pieces.aclose()


class Requests:
    """The requests of an input file that passed its check, each asked for by its number (from 0), in order."""

    def __init__(self, blobs: Blobs, file: File) -> None:
        self._lines = Lines(blobs, file)
        self._next = 0
        self._at_start = True

    async def raw(self, number: int) -> bytes:
        """The line of a request without its LF; empty behind the last one. A byte order mark is no part of it."""
        while (line := await self._lines.next()) is not None:
            at_start, self._at_start = self._at_start, False
            if at_start:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line.strip(_BLANK):
                continue
            self._next += 1
            if self._next > number:
                return line
        return b""

    async def get(self, number: int) -> Request | None:
        """A request; None behind the last one."""
        line = await self.raw(number)
        return parse_requests(line, at_start=False)[0] if line else None

    async def close(self) -> None:
        """Lets go of the file."""
        await self._lines.close()


class Results:
    """The lines of one of a batch's two result files, with their numbers; its lines go by number. ``ok``: which file.

    ``number`` is that of the line at the head, None when there is none left.
    """

    def __init__(self, blobs: Blobs, file: File, batch: str, *, ok: bool) -> None:
        self._blobs = blobs
        self._file = file
        self._batch = batch
        self._lines: Lines | None = None
        self._line = b""
        self.ok = ok
        self.number: int | None = None

    async def seek(self, number: int) -> None:
        """Puts the first line at the head whose number is at least that. Raises Unavailable or Broken."""
        self._lines = Lines(self._blobs, self._file, await self._near(number))
        await self._step()
        while self.number is not None and self.number < number:
            await self._step()

    async def take(self) -> bytes:
        """The line at the head without its LF; the one behind it is the head then."""
        line = self._line
        await self._step()
        return line

    async def close(self) -> None:
        """Lets go of the file."""
        if self._lines is not None:
            await self._lines.close()

    async def _step(self) -> None:
        line = await self._lines.next() if self._lines is not None else None
        self._line, self.number = line or b"", number_of(line, self._batch) if line else None

    async def _near(self, number: int) -> int:
        """Where a line begins that is not behind the one sought, and not far before it: found by halving."""
        low, high = 0, self._file.bytes
        # a line that begins at low is before the one sought (or the first), from high on none is
        while number and high - low > _NEAR_BYTES:
            middle = (low + high) // 2
            start = await self._begin(middle, high)
            if start is not None and await self._number_at(start) < number:
                low = start
            else:
                high = middle
        return low

    async def _begin(self, at: int, end: int) -> int | None:
        """Where the first line begins in ``at .. end - 1``."""
        at -= 1
        while at < end:
            block = await self._blobs.read(self._file.object, at, min(_BLOCK, self._file.bytes - at))
            found = block.find(b"\n")
            if found >= 0:
                return at + found + 1 if at + found + 1 < end else None
            at += len(block)
        return None

    async def _number_at(self, start: int) -> int:
        head = await self._blobs.read(self._file.object, start, min(HEAD_BYTES, self._file.bytes - start))
        return number_of(head, self._batch)
