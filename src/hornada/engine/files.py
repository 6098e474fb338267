"""What can be done to files: take them in, show them, give their bytes out, let them go."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Literal

from msgspec.structs import replace

from hornada.blobs.protocol import Blobs
from hornada.core.account import Principal
from hornada.core.batch import LIVE
from hornada.core.clock import SECOND, Clock
from hornada.core.errors import Code, Refusal
from hornada.core.file import File, Purpose
from hornada.core.ids import bare, new_id
from hornada.core.limits import DialectRules, Limits
from hornada.core.page import Page, Period
from hornada.engine import crashpoint
from hornada.engine.audit import note
from hornada.engine.drafts import Draft
from hornada.engine.rights import check_owner, check_standing
from hornada.store import batch, idempotency, upload
from hornada.store import file as rows
from hornada.store.database import Database, Tx

ROUTE = "files"
RETRY_WINDOW_S = 600
GARBAGE_AGE_S = 86_400
AT_ONCE = 500
"""Files or blobs that one step of ``sweep`` or ``collect`` looks at."""


class Files:
    """Every write to a file's row or bytes by its owner; what batches leave behind is written by their finalizer."""

    def __init__(
        self, db: Database, blobs: Blobs, clock: Clock, limits: Limits, check_room: Callable[[], None] = lambda: None
    ) -> None:
        self._db = db
        self._blobs = blobs
        self._clock = clock
        self._limits = limits
        self.check_room = check_room
        self._keys: AsyncIterator[tuple[str, int]] | None = None

    def adopt(self, limits: Limits) -> None:
        """Takes over changed limits; what has begun keeps those that it began with."""
        self._limits = limits

    @property
    def max_bytes(self) -> int:
        """The most bytes that a file may have."""
        return self._limits.file_bytes

    async def begin(self) -> Draft:
        """Starts a file. End it with ``finish`` or ``Draft.abort``. Raises Refusal STORAGE_LOW and Unavailable."""
        self.check_room()
        file_id = new_id()
        key = f"input/{file_id}"
        return Draft(file_id, key, await self._blobs.writer(key), self.max_bytes)

    async def finish(
        self,
        draft: Draft,
        principal: Principal,
        rules: DialectRules,
        *,
        purpose: str,
        name: str,
        lifetime_s: int | None = None,
        retry: bool = False,
        idempotency_key: str | None = None,
        also: Callable[[Tx, File], Awaitable[None]] | None = None,
    ) -> tuple[File, bool]:
        """Makes a file of a draft, or answers the earlier one that it repeats (True) with its expiry pushed out.

        ``name`` is for display. ``retry``: an SDK says that it sends the same again. Contract 5 says when a file
        repeats another. ``also`` is done in the same transaction, or refuses all of it. A refused or repeated draft
        leaves nothing behind. Raises Refusal INVALID_PURPOSE, EMPTY_FILE, STORAGE_QUOTA_EXCEEDED or
        IDEMPOTENCY_KEY_REUSED, and Unavailable, after which the file may exist all the same.
        """
        try:
            check_purpose(purpose)
            _check_content(draft)
            await draft.commit()
        except BaseException:
            await draft.abort()
            raise
        crashpoint.reach("upload_object_written")
        file = self._file(draft, principal, rules, name, lifetime_s)
        admitting = _Admitting(self._clock, file, principal, rules, retry=retry, idempotency_key=idempotency_key)

        async def work(tx: Tx) -> File:
            stored = await admitting.run(tx)
            if also is not None:
                await also(tx, stored)
            return stored

        try:
            stored = await self._db.transact(work)
        except Refusal:  # the row surely was not written; after any other error it may have been
            await self._blobs.delete(file.object)
            raise
        crashpoint.reach("file_committed")
        if stored.id != file.id:
            await self._blobs.delete(file.object)
        return stored, stored.id != file.id

    async def get(self, principal: Principal, file_id: str) -> File:
        """A file of the caller's organization, its id in any spelling; raises Refusal FILE_NOT_FOUND."""
        async with self._db.read(single=True) as tx:
            return await _visible(tx, principal, file_id)

    async def page(
        self,
        principal: Principal,
        *,
        after: str | None = None,
        limit: int = 10_000,
        order: Literal["asc", "desc"] = "desc",
        purpose: Purpose | None = None,
        created: Period = rows.ALWAYS,
    ) -> Page[File]:
        """Files of the caller's organization by time of creation, behind ``after``; those made in ``created``.

        Raises Refusal FILE_NOT_FOUND when that is no file of the organization and never was.
        """
        async with self._db.read(single=after is None) as tx:
            position = None
            if after is not None:
                known = bare(after)
                position = await rows.position(tx, principal.org, known) if known else None
                if position is None:
                    raise _not_found(after, "after")
            found = await rows.page(
                tx, principal.org, position, limit + 1, order=order, purpose=purpose, created=created
            )
        return Page(found[:limit], more=len(found) > limit)

    async def delete(self, principal: Principal, file_id: str) -> File:
        """Hides a file for good; its bytes go with the next ``collect``.

        Raises Refusal FILE_NOT_FOUND, PERMISSION_DENIED when the caller neither made it nor administers its
        organization, FILE_IN_USE while a batch reads it.
        """

        async def work(tx: Tx) -> File:
            file = await _visible(tx, principal, file_id, lock=True)
            check_owner(principal, file.member, "created a file", "delete it")
            now = self._clock.now()
            if not await rows.mark_deleted(tx, file.id, now):
                reader = await rows.reader(tx, file.id)
                message = (
                    f"File {file_id} is the input of batch_{reader}, which has not ended; cancel it or wait for it."
                )
                raise Refusal(Code.FILE_IN_USE, message, "id")
            if principal.member != file.member:
                await note(tx, principal, "file.delete", now=now, org=file.org, target=file.id)
            return file

        return await self._db.transact(work)

    def stream(self, file: File, offset: int, length: int) -> AsyncIterator[bytes]:
        """Bytes of a file in pieces of at most 256 KiB; raises Unavailable or Broken."""
        return self._blobs.stream(file.object, offset, length)

    async def sweep(self, limit: int = AT_ONCE) -> int:
        """Hides up to ``limit`` files that have run out; how many. The input of a live batch does not run out."""
        now = self._clock.now()
        async with self._db.write() as tx:
            expired = await rows.expired(tx, now, limit)
            return sum([await rows.mark_deleted(tx, file_id, now) for file_id in expired])

    async def collect(self, limit: int = AT_ONCE) -> int:
        """Removes bytes that nobody can ask for any more; how many blobs.

        One step: up to ``limit`` deleted files, then up to ``limit`` blobs of a walk that the next step goes on with.
        A blob that no row mentions is garbage after a day: until then its row may be on the way.
        """
        return await self._collect_deleted(limit) + await self._collect_garbage(limit)

    async def _collect_deleted(self, limit: int) -> int:
        async with self._db.read() as tx:
            gone = await rows.gone(tx, limit)
        for _, key in gone:
            await self._blobs.delete(key)
        if gone:
            crashpoint.reach("bytes_removed")
            async with self._db.write() as tx:
                for file_id, _ in gone:
                    await rows.forget(tx, file_id)
        return len(gone)

    async def _collect_garbage(self, limit: int) -> int:
        oldest = self._clock.now() - GARBAGE_AGE_S * SECOND
        keys = [key for key, changed_at in await self._walk(limit) if changed_at < oldest]
        async with self._db.read() as tx:
            garbage = await _unmentioned(tx, keys)
        for key in garbage:
            await self._blobs.delete(key)
        return len(garbage)

    async def _walk(self, limit: int) -> list[tuple[str, int]]:
        """The next keys of a walk over all blobs, fewer than ``limit`` at its end."""
        if self._keys is None:
            self._keys = self._blobs.keys()
        found: list[tuple[str, int]] = []
        with suppress(StopAsyncIteration):
            while len(found) < limit:
                found.append(await anext(self._keys))
            return found
        self._keys = None
        return found

    def _file(self, draft: Draft, principal: Principal, rules: DialectRules, name: str, lifetime_s: int | None) -> File:
        now = self._clock.now()
        lifetime = lifetime_s or rules.input_lifetime_s or self._limits.file_lifetime_s
        return File(
            id=draft.id,
            org=principal.org,
            member=principal.member,
            key=principal.key,
            purpose=Purpose.BATCH,
            name=name,
            bytes=draft.size,
            sha256=draft.sha256,
            object=draft.object,
            requests=draft.requests,
            created_at=now,
            expires_at=now + lifetime * SECOND,
        )


class _Admitting:
    """Decides in one transaction whether a new file comes in or an earlier one stands for it."""

    def __init__(
        self,
        clock: Clock,
        file: File,
        principal: Principal,
        rules: DialectRules,
        *,
        retry: bool,
        idempotency_key: str | None,
    ) -> None:
        self._clock = clock
        self._file = file
        self._principal = principal
        self._rules = rules
        self._retry = retry
        self._idempotency_key = idempotency_key

    async def run(self, tx: Tx) -> File:
        """The file that now stands; raises Refusal. One organization's uploads run one after another."""
        await check_standing(tx, self._principal)
        earlier = await self._remembered(tx) or await self._twin(tx)
        if earlier is not None:
            earlier = await self._renewed(tx, earlier)
        if earlier is None:
            await self._check_quota(tx)
            await rows.insert(tx, self._file)
        stored = earlier or self._file
        if self._idempotency_key is not None:
            note = idempotency.Remembered(self._digest(), stored.id)
            await idempotency.remember(tx, stored.org, ROUTE, self._idempotency_key, note)
        return stored

    async def _remembered(self, tx: Tx) -> File | None:
        if self._idempotency_key is None:
            return None
        found = await idempotency.recall(tx, self._file.org, ROUTE, self._idempotency_key)
        if found is None:
            return None
        if found.digest != self._digest():
            message = "This Idempotency-Key was used for another upload within the last 24 hours."
            raise Refusal(Code.IDEMPOTENCY_KEY_REUSED, message, "Idempotency-Key")
        return await rows.get(tx, self._file.org, found.answer)

    async def _twin(self, tx: Tx) -> File | None:
        if not self._rules.deduplicate and not self._retry:
            return None
        twin = await rows.twin(tx, self._file.org, self._file.sha256, self._file.purpose)
        if twin is None or self._rules.deduplicate:
            return twin
        recent = twin.created_at >= self._clock.now() - RETRY_WINDOW_S * SECOND
        return twin if recent and twin.key == self._file.key else None

    async def _renewed(self, tx: Tx, earlier: File) -> File | None:
        if not await rows.renew(tx, earlier.id, self._file.expires_at):
            return None
        if earlier.expires_at is None or self._file.expires_at is None:
            return replace(earlier, expires_at=None)
        return replace(earlier, expires_at=max(earlier.expires_at, self._file.expires_at))

    async def _check_quota(self, tx: Tx) -> None:
        limit = self._principal.plan.storage_bytes
        used = await rows.stored_bytes(tx, self._file.org)
        if used + self._file.bytes > limit:
            message = (
                f"The organization's storage is full: {used:,} bytes are stored and this file has "
                f"{self._file.bytes:,} bytes, the limit is {limit:,} bytes. Delete files that you no longer use."
            )
            raise Refusal(Code.STORAGE_QUOTA_EXCEEDED, message, "file")

    def _digest(self) -> str:
        """Tells a repeated upload from another one under the same key."""
        lifetime = (self._file.expires_at or 0) - self._file.created_at
        text = f"{self._file.sha256}\n{self._file.purpose}\n{lifetime}\n{self._file.name}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def check_purpose(purpose: str) -> None:
    """Raises Refusal INVALID_PURPOSE for anything but ``batch``."""
    if purpose != Purpose.BATCH:
        message = f"Invalid value for 'purpose': {purpose[:64]!r}. Supported values are: 'batch'."
        raise Refusal(Code.INVALID_PURPOSE, message, "purpose")


def _check_content(draft: Draft) -> None:
    if not draft.size:
        raise Refusal(Code.EMPTY_FILE, "The file is empty: 0 bytes were sent.", "file")


async def _visible(tx: Tx, principal: Principal, file_id: str, *, lock: bool = False) -> File:
    known = bare(file_id)
    file = await rows.get(tx, principal.reach, known, lock=lock) if known else None
    if file is None:
        raise _not_found(file_id, "id")
    return file


async def _unmentioned(tx: Tx, keys: list[str]) -> list[str]:
    """Which blobs no row needs: files and parts without a row, segments whose batch has ended or never was."""
    files = [key for key in keys if not key.startswith("seg/")]
    segments = {key: key.split("/")[1] for key in keys if key.startswith("seg/")}
    mentioned = await rows.known(tx, files) | await upload.known(tx, files)
    standing = await batch.standing(tx, set(segments.values()))
    live = {of for of, stands in standing.items() if stands.status in LIVE}
    return [key for key in files if key not in mentioned] + [key for key, of in segments.items() if of not in live]


def _not_found(file_id: str, param: str) -> Refusal:
    return Refusal(Code.FILE_NOT_FOUND, f"No such File object: {file_id[:100]}", param)
