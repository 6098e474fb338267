"""Blobs in a local folder: written aside, made durable, then renamed into place."""

import asyncio
import fcntl
import hashlib
import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from io import FileIO
from itertools import islice
from pathlib import Path

from hornada.blobs.durable import (
    changing,
    make_folder,
    private,
    read_exactly,
    reading,
    sync_folder,
    write_all,
)
from hornada.blobs.key import checked
from hornada.blobs.protocol import Placed
from hornada.blobs.tail import Tail
from hornada.core.errors import Unavailable
from hornada.core.ids import new_id

PIECE = 1024 * 1024
"""What a writer collects before it bothers a thread, and what a stream reads at once."""
STREAM_PIECE = 256 * 1024
OPEN_SEGMENTS = 64
_KEYS_AT_ONCE = 1000


class LocalWriter:
    """A blob in the making. The lock keeps a thread that still writes apart from one that ends the blob."""

    def __init__(self, key: str, target: Path, aside: Path) -> None:
        self._key = key
        self._target = target
        self._aside = aside
        with changing(key):
            self._file = FileIO(aside, "x", opener=private)
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._lock = threading.Lock()
        self._hash = hashlib.sha256()
        self._rest = bytearray()
        self._size = 0
        self._committed = False

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Adds bytes at the end; raises Unavailable when they find no room."""
        self._size += memoryview(data).nbytes
        if self._rest or memoryview(data).nbytes < PIECE:
            self._rest += data
            if len(self._rest) < PIECE:
                return
            data, self._rest = self._rest, bytearray()
        await asyncio.to_thread(self._put, data)

    async def commit(self) -> None:
        """Makes the blob durable and visible, or raises Unavailable."""
        await asyncio.to_thread(self._commit)

    async def abort(self) -> None:
        """Forgets all that was written, if it was not committed."""
        await asyncio.to_thread(self._abort)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._size

    @property
    def sha256(self) -> str:
        """Lower-case hex digest of the bytes written so far."""
        digest = self._hash.copy()
        digest.update(self._rest)
        return digest.hexdigest()

    def _put(self, data: bytes | bytearray | memoryview) -> None:
        with self._lock, changing(self._key):
            self._check_open()
            try:
                self._hash.update(data)
                write_all(self._file.fileno(), data)
            except BaseException:
                self._file.close()
                raise

    def _commit(self) -> None:
        if self._rest:
            self._put(self._rest)
            self._rest = bytearray()
        with self._lock, changing(self._key):
            self._check_open()
            os.fsync(self._file.fileno())
            make_folder(self._target.parent)
            self._aside.rename(self._target)
            sync_folder(self._target.parent)
            self._file.close()
            self._committed = True

    def _abort(self) -> None:
        with self._lock, changing(self._key):
            self._file.close()
            if not self._committed:
                self._aside.unlink(missing_ok=True)
                self._target.unlink(missing_ok=True)

    def _check_open(self) -> None:
        if self._file.closed:
            raise Unavailable(f"cannot store {self._key}: an earlier write failed or the blob was ended")


class LocalBlobs:
    """Keys are paths below ``root``. Several processes may share it: what one of them still writes is not swept."""

    def __init__(self, root: Path, *, open_segments: int = OPEN_SEGMENTS) -> None:
        self._root = root
        self._aside = root / ".tmp"
        self._start = new_id()
        self._open_segments = open_segments
        self._tails: dict[str, Tail] = {}
        self._open: OrderedDict[str, Tail] = OrderedDict()
        with changing(f"blobs in {root}"):
            make_folder(self._aside)
            self._sweep()
            self._made = _identity(root)

    async def writer(self, key: str) -> LocalWriter:
        """Starts a blob; invisible until it is committed."""
        return await asyncio.to_thread(LocalWriter, key, self.path(key), self._aside / new_id())

    async def read(self, key: str, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``; raises Broken when the blob is missing or short."""
        return await asyncio.to_thread(self._read, key, offset, length)

    async def size(self, key: str) -> int:
        """How many bytes a blob has; raises Broken when it is missing."""
        return await asyncio.to_thread(self._size, key)

    async def stream(self, key: str, offset: int, length: int) -> AsyncIterator[bytes]:
        """The same in pieces of at most 256 KiB, with flat memory."""
        file = await asyncio.to_thread(self._opened, key)
        try:
            for at in range(offset, offset + length, PIECE):
                end = min(at + PIECE, offset + length)
                for piece in await asyncio.to_thread(_pieces, file, key, at, end):
                    yield piece
        finally:
            file.close()

    async def append(self, batch: str, parts: Sequence[bytes]) -> Placed:
        """Makes segments durable in the batch's file of this process, ``seg/<batch>/<start>``."""
        tail = self._tails.get(batch)
        if tail is None:
            self.path(batch)
            tail = self._tails[batch] = Tail(self._root, batch, self._start)
        self._open[batch] = tail
        self._open.move_to_end(batch)
        while len(self._open) > self._open_segments:
            _, idle = self._open.popitem(last=False)
            await asyncio.to_thread(idle.close)
        return await asyncio.to_thread(tail.append, parts)

    async def delete(self, key: str) -> None:
        """Removes a blob; a missing one is no error."""
        await asyncio.to_thread(self._delete, key)

    async def delete_batch(self, batch: str) -> None:
        """Removes every segment of a batch."""
        folder = self.path(f"seg/{batch}")
        self._open.pop(batch, None)
        await asyncio.to_thread(self._delete_folder, folder, self._tails.pop(batch, None))

    async def keys(self) -> AsyncIterator[tuple[str, int]]:
        """Every stored key with the time of its last change, in microseconds since 1970."""
        walk = self._walk(self._root)
        while found := await asyncio.to_thread(lambda: list(islice(walk, _KEYS_AT_ONCE))):
            for each in found:
                yield each

    async def probe(self) -> None:
        """Raises Unavailable when the folder is no longer the one that was opened, or takes no bytes."""
        await asyncio.to_thread(self._probe)

    async def vouch(self, key: str) -> None:
        """Raises Unavailable as ``probe`` does, or when the whole folder is away to which the blob's kind belongs."""
        await asyncio.to_thread(self._vouch, key)

    def path(self, key: str) -> Path:
        """The file of a key; raises ValueError for a key that could lie outside the folder."""
        return self._root / checked(key)

    def _probe(self) -> None:
        with changing(f"blobs in {self._root}"):
            if _identity(self._root) != self._made:
                raise Unavailable(f"the blobs' folder {self._root} was replaced by another one")
            path = self._aside / new_id()
            with FileIO(path, "x", opener=private) as file:
                file.write(b"?")
                path.unlink()

    def _vouch(self, key: str) -> None:
        self._probe()
        kind = self._root / checked(key).partition("/")[0]
        if not kind.is_dir():  # nothing here ever removes it
            raise Unavailable(f"cannot read {key}: there is no folder {kind}")

    def _sweep(self) -> None:
        """Removes what writers left that were killed; living ones hold a lock."""
        for path in self._aside.iterdir():
            with suppress(BlockingIOError, FileNotFoundError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)

    def _opened(self, key: str) -> FileIO:
        with reading(key):
            return FileIO(self.path(key))

    def _read(self, key: str, offset: int, length: int) -> bytes:
        with reading(key), self._opened(key) as file:
            return read_exactly(file.fileno(), key, offset, length)

    def _size(self, key: str) -> int:
        with reading(key):
            return self.path(key).stat().st_size

    def _delete(self, key: str) -> None:
        path = self.path(key)
        with changing(key):
            path.unlink(missing_ok=True)
            for folder in path.relative_to(self._root).parents[:-2]:
                with suppress(OSError):  # not empty, or gone
                    (self._root / folder).rmdir()

    def _delete_folder(self, folder: Path, tail: Tail | None) -> None:
        if tail:
            tail.close()
        with changing(folder.name), suppress(FileNotFoundError):
            shutil.rmtree(folder)

    def _walk(self, folder: Path) -> Iterator[tuple[str, int]]:
        for path in _listed(folder):
            if path == self._aside:
                continue
            if path.is_dir():
                yield from self._walk(path)
                continue
            with suppress(FileNotFoundError):
                yield (
                    path.relative_to(self._root).as_posix(),
                    path.stat().st_mtime_ns // 1000,
                )


def _identity(folder: Path) -> tuple[int, int]:
    found = folder.stat()
    return found.st_dev, found.st_ino


def _listed(folder: Path) -> list[Path]:
    with reading(folder.name), suppress(FileNotFoundError):
        return list(folder.iterdir())
    return []


def _pieces(file: FileIO, key: str, start: int, end: int) -> list[bytes]:
    with reading(key):
        return [
            read_exactly(file.fileno(), key, at, min(STREAM_PIECE, end - at)) for at in range(start, end, STREAM_PIECE)
        ]
