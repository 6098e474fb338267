"""A file on its way in: bytes go to the blob store while its lines are counted."""

import asyncio
import re

from hornada.blobs.protocol import BlobWriter
from hornada.core.errors import Code, Refusal

_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r"
_MAYBE_BLANK = re.compile(rb"\n[ \t\r\n]")
_MARKED = bytes(byte if byte == ord("\n") else ord("x") for byte in range(256))


class LineCount:
    """Counts lines that hold more than blanks; linear in whatever it is fed, and blocks may be cut anywhere.

    A line ends at LF or at the end of the file; blanks are space, tab and CR; a leading byte order mark is no content.
    """

    def __init__(self) -> None:
        self._whole = 0
        self._open = False
        self._mark: bytes | None = b""

    def feed(self, block: bytes) -> None:
        """Counts the lines of the next bytes of the file."""
        if self._mark is not None:
            block = self._mark + block
            self._mark = block if len(block) < len(_BOM) and _BOM.startswith(block) else None
            if self._mark is not None:
                return
            block = block.removeprefix(_BOM)
        if _MAYBE_BLANK.search(block):
            self._feed_slowly(block)
        else:
            self._feed_quickly(block)

    @property
    def total(self) -> int:
        """Lines so far, the unfinished one included."""
        return self._whole + bool(self._open or self._mark)

    def _feed_quickly(self, block: bytes) -> None:
        """Counts a block in which no line but the first and the last can be blank."""
        first = block.find(b"\n")
        if first < 0:
            self._open = self._open or bool(block.strip(_BLANKS))
            return
        self._whole += block.count(b"\n") - 1 + bool(self._open or block[:first].strip(_BLANKS))
        self._open = bool(block[block.rfind(b"\n") + 1 :].strip(_BLANKS))

    def _feed_slowly(self, block: bytes) -> None:
        """Drops blanks, turns the rest into ``x``: a line that counts is an ``x`` before a LF."""
        marked = b"x" * self._open + block.translate(_MARKED, _BLANKS)
        self._whole += marked.count(b"x\n")
        self._open = marked.endswith(b"x")


class Draft:
    """A file that has no row yet; ``id`` will be the file's. ``limit`` in bytes."""

    def __init__(self, file_id: str, key: str, writer: BlobWriter, limit: int) -> None:
        self.id = file_id
        self.object = key
        self._writer = writer
        self._limit = limit
        self._lines = LineCount()

    async def write(self, data: bytes) -> None:
        """Adds bytes; raises Refusal FILE_TOO_LARGE as soon as they are too many, Unavailable when there is no room."""
        check_size(self.size + len(data), self._limit, whole=False)
        await self._writer.write(data)
        await asyncio.to_thread(self._lines.feed, data)

    async def commit(self) -> None:
        """Makes the bytes durable."""
        await self._writer.commit()

    async def abort(self) -> None:
        """Forgets the bytes, unless they were committed; idempotent."""
        await self._writer.abort()

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._writer.size

    @property
    def sha256(self) -> str:
        """Lower-case hex digest so far."""
        return self._writer.sha256

    @property
    def requests(self) -> int:
        """Lines so far that are not blank."""
        return self._lines.total


def check_size(size: int, limit: int, *, whole: bool) -> None:
    """Raises Refusal FILE_TOO_LARGE when ``size`` bytes are more than ``limit``; ``whole``: no more will follow."""
    if size > limit:
        got = f"{size:,} bytes" if whole else f"more than {limit:,} bytes"
        message = f"The file is too large: {got} were sent, the limit is {limit:,} bytes ({limit / 2**20:,.4g} MiB)."
        raise Refusal(Code.FILE_TOO_LARGE, message, "file")
