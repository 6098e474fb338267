"""A new batch of the lines of another that failed, expired or were cancelled, or of some, byte for byte."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable
from contextlib import aclosing, asynccontextmanager

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
from hornada.core.strict import some
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
_IS_GONE = "file was deleted or has expired; without it there is no retry."


class Choice(Struct, frozen=True, kw_only=True):
    """Which lines run again: all that have no answer, those of them with a code in ``codes``, or those of ``ids``.

    ``codes``: as ``core.progress.code_of`` tells them. ``ids``: custom_ids, with ``answered`` also of answered lines.
    """

    codes: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    answered: bool = False


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
        self, principal: Principal, batch_id: str, choice: Choice, *, retry: bool, idempotency_key: str | None
    ) -> tuple[Batch, bool]:
        """Creates the batch, or answers the earlier one that this call repeats (True), as ``Batches.create`` does.

        Raises Refusal BATCH_NOT_FOUND, BATCH_NOT_RETRYABLE, RATE_LIMIT_EXCEEDED when the organization has too many
        under way, STORAGE_QUOTA_EXCEEDED, STORAGE_LOW and those of ``create``, and Unavailable or Broken. The file and
        the batch are made in one transaction, so a refused call leaves neither behind.
        """
        batch = await self._batches.get(principal, batch_id)
        rules, made = self._rules(batch.dialect), list[tuple[Batch, bool]]()

        async def create(tx: Tx, file: File) -> None:
            new = _again(batch, file)
            made.append(await self._batches.create_in(tx, principal, rules, new, retry=retry, key=idempotency_key))

        with self._places.one(principal.org):
            draft, name = await self._copy(batch, choice)
            once = replace(rules, deduplicate=True)
            await self._files.finish(draft, principal, once, purpose="batch", name=name, also=create)
        found, earlier = made[-1]
        self._batches.created(earlier=earlier)
        return found, earlier

    async def _sources(self, batch: Batch, choice: Choice) -> tuple[File, File | None]:
        """The input and the error file of a batch that can be retried; without the latter only if it is not needed."""
        if batch.status not in TERMINAL:
            raise _refusal(f"Cannot retry a batch with status '{batch.status}'; wait until it has ended.")
        if batch.status is Status.FAILED:
            raise _refusal("No line of the batch was run, for its file has faults; correct them and create it anew.")
        if batch.error_file is None and not choice.answered:
            raise _refusal("There is nothing to retry: no line of the batch failed.")
        async with self._db.read() as tx:
            source = await rows.get(tx, batch.org, batch.input_file)
            errors = await rows.get(tx, batch.org, batch.error_file) if batch.error_file is not None else None
        if source is None:
            raise _refusal(f"The batch's input {_IS_GONE}")
        if errors is None and not choice.answered:
            raise _refusal(f"The batch's error {_IS_GONE}")
        return source, errors

    async def _copy(self, batch: Batch, choice: Choice) -> tuple[Draft, str]:
        """The input of the new batch, and its name."""
        source, errors = await self._sources(batch, choice)
        if choice.ids:
            numbers = await self._named(batch, source, errors, choice)
        else:
            assert errors is not None
            numbers = [number async for number in self._failed(batch, errors, choice.codes)]
            _check_some(numbers, batch, choice.codes)
        draft = await self._files.begin()
        try:
            async with aclosing(self._lines(source, numbers)) as lines:
                await _fill(draft, lines)
        except BaseException:
            await draft.abort()
            raise
        return draft, f"retry-{source.name}"[:_NAME_LENGTH]

    async def _named(self, batch: Batch, source: File, errors: File | None, choice: Choice) -> list[int]:
        """The numbers of the lines with the ids, in order. Raises Refusal for ids that are not there or answered."""
        missing, numbers = set(choice.ids), dict[int, str]()
        async with self._requests(source) as requests:
            number = 0
            while missing and (line := await requests.raw(number)):
                custom_id = _decode_id(line).custom_id
                if custom_id in missing:
                    missing.discard(custom_id)
                    numbers[number] = custom_id
                number += 1
                await _breathe(number)
        if missing:
            raise _refusal(f"The batch has no line with the custom_id {some(missing)}.")
        if not choice.answered:
            assert errors is not None
            failed = {number async for number in self._failed(batch, errors, frozenset())}
            answered = [custom_id for number, custom_id in numbers.items() if number not in failed]
            if answered:
                raise _refusal(
                    f"There is an answer to the line with the custom_id {some(answered)}; "
                    f"with 'answered' true it is run all the same."
                )
        return list(numbers)

    async def _failed(self, batch: Batch, errors: File, codes: frozenset[str]) -> AsyncGenerator[int, None]:
        """The numbers of the lines in the error file that have one of the codes, or of all."""
        failed, looked = Results(self._blobs, errors, batch.id, ok=False), 0
        try:
            await failed.seek(0)
            while (number := failed.number) is not None:
                looked += 1
                await _breathe(looked)
                line = await failed.take()
                if not codes or not codes.isdisjoint(_codes(line)):
                    yield number
        finally:
            await failed.close()

    async def _lines(self, source: File, numbers: Iterable[int]) -> AsyncGenerator[bytes, None]:
        """Lines of the input by their numbers, which grow, byte for byte."""
        async with self._requests(source) as requests:
            for looked, number in enumerate(numbers, 1):
                await _breathe(looked)
                yield await requests.raw(number) + b"\n"

    @asynccontextmanager
    async def _requests(self, source: File) -> AsyncIterator[Requests]:
        requests = Requests(self._blobs, source)
        try:
            yield requests
        finally:
            await requests.close()


async def _breathe(looked: int) -> None:
    """Has the event loop turn now and then."""
    if looked % _AT_A_STRETCH == 0:
        await asyncio.sleep(0)


async def _fill(draft: Draft, lines: AsyncIterator[bytes]) -> None:
    block = bytearray()
    async for line in lines:
        block += line
        if len(block) >= _BLOCK:
            await draft.write(bytes(block))
            block.clear()
    if block:
        await draft.write(bytes(block))


def _check_some(numbers: Collection[int], batch: Batch, codes: Collection[str]) -> None:
    """Raises Refusal when no line was taken."""
    if not numbers:
        there = ", ".join(f"{code} ({n})" for code, n in batch.failures.items()) or "unknown"
        wanted = ", ".join(sorted(codes))
        raise _refusal(f"There is nothing to retry: no line failed with {wanted}. Codes of its lines: {there}.")


class _Named(Struct, gc=False):
    custom_id: str


class _Response(Struct, gc=False):
    status_code: int
    body: Raw


class _Error(Struct, gc=False):
    code: str


class _Failed(Struct, gc=False):
    response: _Response | None
    error: _Error | None


_decode = msgspec.json.Decoder(_Failed).decode
_decode_id = msgspec.json.Decoder(_Named).decode


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
