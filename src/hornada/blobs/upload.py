"""A blob on its way into an S3-compatible store: one request when it is small, else parts of 5 MiB."""

import asyncio
import hashlib
from contextlib import suppress
from typing import Any

from obstore.store import S3Store

from hornada.blobs.faults import storing
from hornada.core.errors import Unavailable

PART = 5 * 1024 * 1024
"""Bytes of a part: the fewest that S3 takes."""
_PARTS_IN_FLIGHT = 2


class _Aborted(Exception):
    """Has the store forget the parts that it got."""


class _Parts:
    """What the store pulls from: parts, then None at the end or an error that ends the upload."""

    def __init__(self) -> None:
        self.next: asyncio.Queue[bytes | _Aborted | None] = asyncio.Queue(1)

    def __aiter__(self) -> "_Parts":
        return self

    async def __anext__(self) -> bytes:
        part = await self.next.get()
        if part is None:
            raise StopAsyncIteration
        if isinstance(part, _Aborted):
            raise part
        return part


class S3Writer:
    """A blob in the making; a few parts are in memory, however large it gets."""

    def __init__(self, store: S3Store, key: str) -> None:
        self._store = store
        self._key = key
        self._hash = hashlib.sha256()
        self._rest = bytearray()
        self._size = 0
        self._parts = _Parts()
        self._upload: asyncio.Task[Any] | None = None
        self._closed = False
        self._committed = False

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Adds bytes at the end; raises Unavailable when the store does not take them."""
        self._check_open()
        self._size += memoryview(data).nbytes
        self._rest += data
        if len(self._rest) >= PART:
            part, self._rest = self._rest, bytearray()
            await self._send(await asyncio.to_thread(self._hashed, part))

    async def commit(self) -> None:
        """Makes the blob durable and visible, or raises Unavailable."""
        self._check_open()
        last = await asyncio.to_thread(self._hashed, self._rest)
        self._rest = bytearray()
        if self._upload is None:
            self._closed = True
            self._upload = asyncio.ensure_future(self._store.put_async(self._key, last, use_multipart=False))
        else:
            if last:
                await self._send(last)
            await self._push(None)
            self._closed = True
        with storing(self._key):
            await asyncio.shield(self._upload)
        self._committed = True

    async def abort(self) -> None:
        """Forgets all that was written, if it was not committed; the store drops parts that it has."""
        if self._committed or self._upload is None:
            self._closed = True
            return
        if not self._closed:
            self._closed = True
            with suppress(Unavailable):
                await self._push(_Aborted())
        await asyncio.wait([self._upload])
        if self._upload.exception() is None or not isinstance(self._upload.exception(), _Aborted):
            with storing(self._key):
                await self._store.delete_async(self._key)
        self._upload = None

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

    def _hashed(self, part: bytearray) -> bytes:
        self._hash.update(part)
        return bytes(part)

    async def _send(self, part: bytes) -> None:
        if self._upload is None:
            self._upload = asyncio.ensure_future(
                self._store.put_async(
                    self._key, self._parts, use_multipart=True, chunk_size=PART, max_concurrency=_PARTS_IN_FLIGHT
                )
            )
        await self._push(part)

    async def _push(self, part: bytes | _Aborted | None) -> None:
        """Hands the store its next part when it is ready for it; raises Unavailable when it has given up."""
        assert self._upload is not None
        pushing = asyncio.ensure_future(self._parts.next.put(part))
        await asyncio.wait([pushing, self._upload], return_when=asyncio.FIRST_COMPLETED)
        if self._upload.done():
            pushing.cancel()
            with storing(self._key):
                self._upload.result()

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable(f"cannot store {self._key}: the blob was ended")
