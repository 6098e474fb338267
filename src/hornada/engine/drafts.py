"""A file on its way in: bytes go to the blob store while its lines are counted."""

import asyncio
import re
from contextlib import suppress

from hornada.blobs.protocol import BlobWriter
from hornada.core.errors import Code, HornadaError, Refusal

_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r"
_MAYBE_BLANK = re.compile(rb"\n[ \t\r\n]")
_MAGIC = {
    b"\x1f\x8b": "gzip data",
    b"PK\x03\x04": "a ZIP archive",
    b"\x28\xb5\x2f\xfd": "Zstandard data",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"{\x00": "UTF-16 text",
    b"\x00{": "UTF-16 text",
}
"""How files begin that cannot be JSONL in UTF-8, in words for whoever sent one."""
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
    """A file that has no row yet; ``id`` will be the file's. ``limit`` in bytes.

    One block is written while the next one arrives, so what goes wrong with it shows a step later.
    """

    def __init__(self, file_id: str, key: str, writer: BlobWriter, limit: int) -> None:
        self.id = file_id
        self.object = key
        self._writer = writer
        self._limit = limit
        self._lines = LineCount()
        self._writing: asyncio.Task[None] | None = None
        self.size = 0

    async def write(self, data: bytes) -> None:
        """Adds bytes; raises Unavailable when there is no room.

        Raises Refusal FILE_TOO_LARGE as soon as they are too many, INVALID_FILE_FORMAT when the first ones show that
        the file holds no lines of JSON.
        """
        if not self.size:
            check_format(data)
        self.size += len(data)
        check_size(self.size, self._limit, whole=False)
        self._lines.feed(data)
        await self._settle()
        self._writing = asyncio.create_task(self._writer.write(data))

    async def commit(self) -> None:
        """Makes the bytes durable; raises Unavailable."""
        await self._settle()
        await self._writer.commit()

    async def abort(self) -> None:
        """Forgets the bytes, unless they were committed; idempotent."""
        try:
            with suppress(HornadaError):
                await self._settle()
        finally:
            await self._writer.abort()

    async def _settle(self) -> None:
        if self._writing:
            writing, self._writing = self._writing, None
            await writing

    @property
    def sha256(self) -> str:
        """Lower-case hex digest, once committed."""
        return self._writer.sha256

    @property
    def requests(self) -> int:
        """Lines so far that are not blank."""
        return self._lines.total


def check_format(start: bytes) -> None:
    """Raises Refusal INVALID_FILE_FORMAT when a file begins as compressed files and UTF-16 text do."""
    found = next((magic for magic in _MAGIC if start.startswith(magic)), None)
    if found is not None:
        message = (
            f"The file is not JSONL in UTF-8: it begins with the bytes {found.hex(' ')}, which is {_MAGIC[found]}. "
            "Send the lines themselves, neither compressed nor in another encoding."
        )
        raise Refusal(Code.INVALID_FILE_FORMAT, message, "file")


def check_size(size: int, limit: int, *, whole: bool) -> None:
    """Raises Refusal FILE_TOO_LARGE when ``size`` bytes are more than ``limit``; ``whole``: no more will follow."""
    if size > limit:
        got = f"{size:,} bytes" if whole else f"more than {limit:,} bytes"
        message = f"The file is too large: {got} were sent, the limit is {limit:,} bytes ({limit / 2**20:,.4g} MiB)."
        raise Refusal(Code.FILE_TOO_LARGE, message, "file")
