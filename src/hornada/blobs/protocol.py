"""The one protocol behind which bytes lie, whatever keeps them."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct


class Placed(Struct, frozen=True):
    """Where appended parts came to lie: part i at ``offsets[i]`` of ``object``."""

    object: str
    offsets: tuple[int, ...]


class BlobWriter(Protocol):
    """A blob in the making; invisible until ``commit``, gone without a trace after ``abort``."""

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Adds bytes at the end. The buffer may be reused when this returns."""
        ...

    async def commit(self) -> None:
        """Makes the blob durable and visible, or raises Unavailable."""
        ...

    async def abort(self) -> None:
        """Forgets all that was written; may follow a failed commit; idempotent."""
        ...

    @property
    def size(self) -> int:
        """Bytes written so far."""
        ...

    @property
    def sha256(self) -> str:
        """Lower-case hex digest of the bytes written so far."""
        ...


class Blobs(Protocol):
    """Bytes under keys such as ``input/<id>``; a key is written once and never again.

    Every method raises Unavailable when the store does not answer or is full, Broken when a key is missing or short.
    """

    async def writer(self, key: str) -> BlobWriter:
        """Starts a blob."""
        ...

    async def read(self, key: str, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``."""
        ...

    async def size(self, key: str) -> int:
        """How many bytes a blob has."""
        ...

    def stream(self, key: str, offset: int, length: int) -> AsyncIterator[bytes]:
        """The same in pieces of at most 256 KiB, with flat memory."""
        ...

    async def append(self, batch: str, parts: Sequence[bytes]) -> Placed:
        """Makes segments of a batch durable and says where they lie; nothing is ever overwritten."""
        ...

    async def delete(self, key: str) -> None:
        """Removes a blob; a missing one is no error."""
        ...

    async def delete_batch(self, batch: str) -> None:
        """Removes every segment of a batch."""
        ...

    def keys(self) -> AsyncIterator[tuple[str, int]]:
        """Every stored key with the time of its last change, in microseconds since 1970."""
        ...

    async def probe(self) -> None:
        """Raises Unavailable when nothing could be stored now; cheap."""
        ...

    async def vouch(self, key: str) -> None:
        """Raises Unavailable when more is amiss than that this one blob is missing."""
        ...

    def path(self, key: str) -> Path | None:
        """The blob as a local file, where it is one."""
        ...
