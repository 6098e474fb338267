"""A segment: results of one chunk that became durable together, with the index that finds each line in it."""

import struct

from msgspec import Struct

_ENTRY = struct.Struct("<HBII")


class Entry(Struct, frozen=True, gc=False):
    """Where one result lies in the segment's bytes; ``line`` counts from the chunk's first."""

    line: int
    ok: bool
    offset: int
    length: int


class Segment(Struct, frozen=True, kw_only=True):
    """One row of ``segment``: bytes ``offset .. offset + length - 1`` of blob ``object``."""

    batch: str
    idx: int
    epoch: int
    seq: int
    object: str
    offset: int
    length: int
    sha256: str
    model: str
    n_ok: int
    n_failed: int
    index: bytes

    @property
    def key(self) -> tuple[str, int, int, int]:
        """What names it: its batch, chunk and epoch, and its number under that."""
        return self.batch, self.idx, self.epoch, self.seq


def pack(entries: list[Entry]) -> bytes:
    """The index as stored: 11 bytes an entry."""
    return b"".join(_ENTRY.pack(e.line, e.ok, e.offset, e.length) for e in entries)


def unpack(index: bytes) -> list[Entry]:
    """The entries of a stored index."""
    return [Entry(line, bool(ok), offset, length) for line, ok, offset, length in _ENTRY.iter_unpack(index)]
