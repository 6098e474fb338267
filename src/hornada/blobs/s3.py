"""Blobs in a bucket of any S3-compatible store; retries are obstore's."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from itertools import accumulate, count
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from obstore.exceptions import BaseError
from obstore.store import S3Store

from hornada.blobs.faults import code, reading, storing
from hornada.blobs.key import checked
from hornada.blobs.protocol import Placed
from hornada.blobs.upload import S3Writer
from hornada.core.clock import SECOND
from hornada.core.errors import Broken
from hornada.core.ids import new_id

if TYPE_CHECKING:
    from obstore.store import S3Config

RANGE = 2 * 1024 * 1024
"""Bytes that a stream asks for at once; it holds two such ranges."""
STREAM_PIECE = 256 * 1024


class S3Blobs:
    """Keys below a prefix of a bucket; any number of processes may share it.

    An object is written under a key that nobody else makes (ids, this process's start and a counter), so nothing is
    ever overwritten.
    """

    def __init__(self, store: S3Store) -> None:
        self._store = store
        self._start = new_id()
        self._counter = count(1)

    async def writer(self, key: str) -> S3Writer:
        """Starts a blob; invisible until it is committed."""
        return S3Writer(self._store, checked(key))

    async def read(self, key: str, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``; raises Broken when the blob is missing or short."""
        return bytes(await self._read(checked(key), offset, length))

    async def size(self, key: str) -> int:
        """How many bytes a blob has; raises Broken when it is missing."""
        return await self._size(checked(key))

    async def stream(self, key: str, offset: int, length: int) -> AsyncIterator[bytes]:
        """The same in pieces of at most 256 KiB; the next range is on its way while one is handed out."""
        checked(key)
        end = offset + length
        coming = self._ahead(key, offset, end)
        try:
            for at in range(offset, end, RANGE):
                assert coming is not None
                data = await coming
                coming = self._ahead(key, at + RANGE, end)
                for start in range(0, len(data), STREAM_PIECE):
                    yield bytes(data[start : start + STREAM_PIECE])
        finally:
            if coming is not None:
                coming.cancel()
                await asyncio.wait([coming])

    async def append(self, batch: str, parts: Sequence[bytes]) -> Placed:
        """Makes segments durable as one object, ``seg/<batch>/<start>-<number>``."""
        key = f"seg/{checked(batch)}/{self._start}-{next(self._counter)}"
        with storing(key):
            await self._store.put_async(key, b"".join(parts), use_multipart=False)
        return Placed(key, tuple(accumulate(map(len, parts[:-1]), initial=0)))

    async def delete(self, key: str) -> None:
        """Removes a blob; a missing one is no error."""
        with storing(checked(key)):
            await self._store.delete_async(key)

    async def delete_batch(self, batch: str) -> None:
        """Removes every segment of a batch."""
        folder = f"seg/{checked(batch)}"
        with storing(folder):
            async for found in self._store.list(folder):
                await self._store.delete_async([each["path"] for each in found])

    async def keys(self) -> AsyncIterator[tuple[str, int]]:
        """Every stored key with the time of its last change, in microseconds since 1970."""
        with reading("the list of keys"):
            async for found in self._store.list():
                for each in found:
                    yield each["path"], round(each["last_modified"].timestamp() * SECOND)

    async def probe(self) -> None:
        """Raises Unavailable when the store does not answer, has no such bucket or refuses our key."""
        with storing("anything"):
            await self._store.list("probe").collect_async()

    async def vouch(self, key: str) -> None:
        """Raises Unavailable as ``probe`` does."""
        checked(key)
        await self.probe()

    def path(self, key: str) -> Path | None:
        """None: no blob is a local file."""
        checked(key)
        return None

    def _ahead(self, key: str, at: int, end: int) -> asyncio.Task[memoryview] | None:
        return asyncio.create_task(self._read(key, at, min(RANGE, end - at))) if at < end else None

    async def _read(self, key: str, offset: int, length: int) -> memoryview:
        if not length:
            await self._size(key)
            return memoryview(b"")
        with reading(key):
            try:
                data = memoryview(await self._store.get_range_async(key, start=offset, length=length))
            except BaseError as error:
                if code(error) != "InvalidRange":
                    raise
                data = memoryview(b"")
        if len(data) < length:
            size = await self._size(key)
            raise Broken(f"{key} ends at byte {size}, {offset + length - size} bytes short")
        return data

    async def _size(self, key: str) -> int:
        with reading(key):
            return (await self._store.head_async(key))["size"]


def open_s3(url: str) -> S3Blobs:
    """Opens ``s3://bucket/prefix?endpoint=URL&region=NAME``, all but the bucket optional; sends nothing yet.

    Credentials, region and endpoint are taken from the environment as AWS's own programs do (``AWS_ACCESS_KEY_ID``,
    ``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``, ``AWS_REGION``, ``AWS_ENDPOINT_URL``; web identity, container and
    instance roles). Buckets are named in the path, not in the host. Raises ValueError for a URL that is none.
    """
    parts = urlsplit(url)
    asked = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(asked.keys() - {"endpoint", "region"})
    if unknown:
        raise ValueError(f"blobs: s3:// takes endpoint and region, not {', '.join(unknown)}")
    if not parts.netloc or "@" in parts.netloc:
        raise ValueError("blobs: expected s3://BUCKET/PREFIX; credentials are taken from the environment")
    config: S3Config = {}
    if asked.get("endpoint"):
        config["endpoint"] = asked["endpoint"].rstrip("/")
    if asked.get("region"):
        config["region"] = asked["region"]
    store = S3Store(
        parts.netloc,
        prefix=parts.path.strip("/") or None,
        config=config,
        client_options={
            "allow_http": True,  # an endpoint is https unless the operator writes http
            "connect_timeout": timedelta(seconds=5),
            "timeout": timedelta(seconds=60),
        },
        retry_config={
            "max_retries": 5,
            "retry_timeout": timedelta(seconds=10),
            "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=2)},
        },
    )
    return S3Blobs(store)
