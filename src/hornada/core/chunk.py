"""A chunk: about a hundred consecutive lines of a batch, the unit that is leased, run and committed."""

from enum import StrEnum

from msgspec import Struct

CHUNK_LINES = 100
CHUNK_BYTES = 4 * 1024 * 1024


class ChunkState(StrEnum):
    """Ready to be claimed, held under a lease, or settled for good."""

    READY = "ready"
    LEASED = "leased"
    DONE = "done"


class Span(Struct, frozen=True, array_like=True):
    """Where a chunk's lines lie in the input file.

    Requests ``first .. first + n - 1`` (from 0, blank lines not counted) are in the bytes
    ``offset .. offset + length - 1``.
    """

    first: int
    n: int
    offset: int
    length: int


class Chunk(Struct, frozen=True, kw_only=True):
    """One row of ``chunk``. ``done`` is a bitmap: bit i of byte i // 8 is set when line ``first + i`` has a result."""

    batch: str
    idx: int
    org: str
    model: str
    span: Span
    epoch: int
    done: bytes
    n_ok: int = 0
    n_failed: int = 0
