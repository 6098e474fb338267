"""A database and a folder that really are there, and do not answer when a test says so."""

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from hornada.blobs.protocol import Blobs, Placed
from hornada.core.errors import Unavailable
from hornada.store.database import Database, Tx


class Flaky:
    """A database. ``before`` fails writes before they begin, ``after`` once they are committed: their answer is lost.

    Each counts down to 0 as it fails.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self.before = 0
        self.after = 0

    def read(self, **how: bool) -> Any:
        return self._db.read(**how)

    @asynccontextmanager
    async def write(self, *, durable: bool = True) -> AsyncIterator[Tx]:
        if self.before:
            self.before -= 1
            raise Unavailable("the database is away")
        async with self._db.write(durable=durable) as tx:
            yield tx
        if self.after:
            self.after -= 1
            raise Unavailable("the answer was lost")

    async def transact(self, work: Callable[[Tx], Coroutine[Any, Any, Any]]) -> Any:
        async with self.write() as tx:
            return await work(tx)

    async def migrate(self) -> None:
        await self._db.migrate()

    async def close(self) -> None:
        await self._db.close()


class FullDisk:
    """A blob store whose methods fail while ``full`` names them; ``meanwhile`` is called before each that does not."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self.full = set[str]()
        self.appended = 0
        self.meanwhile: Callable[[], Any] | None = None

    async def append(self, batch: str, parts: Sequence[bytes]) -> Placed:
        await self._pass("append")
        self.appended += 1
        return await self._blobs.append(batch, parts)

    async def read(self, key: str, offset: int, length: int) -> bytes:
        await self._pass("read")
        return await self._blobs.read(key, offset, length)

    async def writer(self, key: str) -> Any:
        await self._pass("writer")
        return await self._blobs.writer(key)

    async def delete_batch(self, batch: str) -> None:
        await self._pass("delete_batch")
        await self._blobs.delete_batch(batch)

    async def _pass(self, name: str) -> None:
        if name in self.full:
            raise Unavailable("the disk is full")
        if self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            await act()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blobs, name)
