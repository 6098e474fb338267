"""A new batch of just the lines of another that failed, expired or were cancelled, as they stand in its input."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, aclosing

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from hornada.blobs.protocol import Blobs
from hornada.core.account import Principal
from hornada.core.batch import TERMINAL, Batch, Status
from hornada.core.errors import Code, Refusal
from hornada.core.file import File
from hornada.core.limits import DialectRules
from hornada.core.progress import code_of
from hornada.engine.batches import Batches, NewBatch
from hornada.engine.drafts import Draft
from hornada.engine.files import Files
from hornada.engine.linewise import Requests, Results
from hornada.engine.places import Places
from hornada.store import file as rows
from hornada.store.database import Database, Tx

MOST = 8
"""Retries of an organization at once: each writes a file before it is known whether there is room for a batch."""
_COME_BACK_S = 5
_BLOCK = 1024 * 1024
_AT_A_STRETCH = 64
"""Lines after which the event loop turns."""
_PAIRS = 16
_NAME_LENGTH = 255
_KEY = "retry_of"


class Retrying:
    """``rules``: those of a dialect by its name: the new batch keeps the one in which its lines were written."""

    def __init__(
        self,
        db: Database,
        blobs: Blobs,
        files: Files,
        batches: Batches,
        rules: Callable[[str], DialectRules],
        *,
        most: int = MOST,
    ) -> None:
        self._db = db
        self._blobs = blobs
        self._files = files
        self._batches = batches
        self._rules = rules
        words = "retries under way, which is the limit; wait for one."
        self._places = Places(most, words, come_back_s=_COME_BACK_S)

    async def retry(
        self, principal: Principal, batch_id: str, only: Collection[str], *, retry: bool, idempotency_key: str | None
    ) -> tuple[Batch, bool]:
        """Creates the batch, or answers the earlier one that this call repeats (True), as ``Batches.create`` does.

        ``only``: the codes by which the lines to take are counted (``core.progress.code_of``), none for all. Raises
        Refusal BATCH_NOT_FOUND, BATCH_NOT_RETRYABLE, RATE_LIMIT_EXCEEDED when the organization has too many under way,
        STORAGE_QUOTA_EXCEEDED, STORAGE_LOW and those of ``create``, and Unavailable or Broken. The file and the batch
        are made in one transaction, so a refused call leaves neither behind.
        """
        batch = await self._batches.get(principal, batch_id)
        rules, made = self._rules(batch.dialect), list[tuple[Batch, bool]]()

        async def create(tx: Tx, file: File) -> None:
            new = _again(batch, file)
            made.append(await self._batches.create_in(tx, principal, rules, new, retry=retry, key=idempotency_key))

        with self._places.one(principal.org):
            draft, name = await self._copy(batch, frozenset(only))
            once = replace(rules, deduplicate=True)
            await self._files.finish(draft, principal, once, purpose="batch", name=name, also=create)
        found, earlier = made[-1]
        self._batches.created(earlier=earlier)
        return found, earlier

    async def _sources(self, batch: Batch) -> tuple[File, File]:
        """The input and the error file of a batch that can be retried."""
        if batch.status not in TERMINAL:
            raise _refusal(f"Cannot retry a batch with status '{batch.status}'; wait until it has ended.")
        if batch.status is Status.FAILED:
            raise _refusal("No line of the batch was run, for its file has faults; correct them and create it anew.")
        if batch.error_file is None:
            raise _refusal("There is nothing to retry: no line of the batch failed.")
        async with self._db.read() as tx:
            source = await rows.get(tx, batch.org, batch.input_file)
            errors = await rows.get(tx, batch.org, batch.error_file)
        for file, which in ((source, "input"), (errors, "error")):
            if file is None:
                raise _refusal(f"The batch's {which} file was deleted or has expired; without it there is no retry.")
        assert source is not None
        assert errors is not None
        return source, errors

    async def _copy(self, batch: Batch, only: frozenset[str]) -> tuple[Draft, str]:
        """The input of the new batch, and its name."""
        source, errors = await self._sources(batch)
        draft = await self._files.begin()
        try:
            async with aclosing(self._lines(batch, source, errors, only)) as lines:
                await _fill(draft, lines)
            _check_some(draft, batch, only)
        except BaseException:
            await draft.abort()
            raise
        return draft, f"retry-{source.name}"[:_NAME_LENGTH]

    async def _lines(
        self, batch: Batch, source: File, errors: File, only: frozenset[str]
    ) -> AsyncGenerator[bytes, None]:
        """The input's lines that have a line in the error file which counts, byte for byte."""
        async with AsyncExitStack() as stack:
            failed = Results(self._blobs, errors, batch.id, ok=False)
            stack.push_async_callback(failed.close)
            requests = Requests(self._blobs, source)
            stack.push_async_callback(requests.close)
            await failed.seek(0)
            looked = 0
            while (number := failed.number) is not None:
                looked += 1
                if looked % _AT_A_STRETCH == 0:
                    await asyncio.sleep(0)
                line = await failed.take()
                if not only or not only.isdisjoint(_codes(line)):
                    yield await requests.raw(number) + b"\n"


async def _fill(draft: Draft, lines: AsyncIterator[bytes]) -> None:
    block = bytearray()
    async for line in lines:
        block += line
        if len(block) >= _BLOCK:
            await draft.write(bytes(block))
            block.clear()
    if block:
        await draft.write(bytes(block))


def _check_some(draft: Draft, batch: Batch, only: Collection[str]) -> None:
    """Raises Refusal when no line was taken."""
    if not draft.size:
        there = ", ".join(f"{code} ({n})" for code, n in batch.failures.items()) or "unknown"
        wanted = ", ".join(sorted(only))
        raise _refusal(f"There is nothing to retry: no line failed with {wanted}. Codes of its lines: {there}.")


class _Response(Struct, gc=False):
    status_code: int
    body: Raw


class _Error(Struct, gc=False):
    code: str


class _Failed(Struct, gc=False):
    response: _Response | None
    error: _Error | None


_decode = msgspec.json.Decoder(_Failed).decode


def _codes(line: bytes) -> tuple[str, ...]:
    """By which words a line of an error file may be asked for: its code, and ``http_503`` for its status."""
    failed = _decode(line)
    if failed.response is not None:
        status = failed.response.status_code
        return code_of(status, bytes(failed.response.body)), f"http_{status}"
    return (failed.error.code,) if failed.error is not None else ()


def _again(batch: Batch, file: File) -> NewBatch:
    return NewBatch(
        input_file=file.id,
        endpoint=batch.endpoint,
        completion_window=batch.completion_window,
        metadata=_metadata(batch),
        output_lifetime_s=batch.output_lifetime_s,
        retry_of=batch.id,
    )


def _metadata(batch: Batch) -> dict[str, str] | None:
    """The batch's own, with ``retry_of`` where there is room for it."""
    found = dict(batch.metadata or {})
    if _KEY in found or len(found) < _PAIRS:
        found[_KEY] = f"batch_{batch.id}"
    return found


def _refusal(message: str) -> Refusal:
    return Refusal(Code.BATCH_NOT_RETRYABLE, message, should_retry=False)
