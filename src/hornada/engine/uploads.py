"""Uploads in parts (OpenAI's Uploads API): begin, take parts in, join them into a file, or give up."""

import hashlib
from collections.abc import Sequence

from hornada.blobs.protocol import Blobs, BlobWriter
from hornada.core.account import Principal
from hornada.core.clock import SECOND, Clock
from hornada.core.errors import Broken, Code, Refusal
from hornada.core.file import File
from hornada.core.ids import bare, new_id
from hornada.core.limits import DialectRules
from hornada.core.upload import Part, Upload, UploadStatus
from hornada.engine import crashpoint
from hornada.engine.drafts import Draft
from hornada.engine.files import ROUTE, Files, check_purpose
from hornada.engine.rights import check_owner, check_standing
from hornada.store import account, idempotency
from hornada.store import file as files
from hornada.store import upload as rows
from hornada.store.database import Database, Tx

LIFETIME_S = 3600
PART_BYTES = 64 * 1024 * 1024
MOST_PARTS = 10_000
KEPT_S = 86_400
"""For so long an upload that has ended is remembered."""
AT_ONCE = 500
BLOCK = 1024 * 1024
"""Bytes that are collected before they are written: small parts are seen as the file that they are."""


class PartDraft:
    """A part that has no row yet; ``upload`` is the one that it is for."""

    def __init__(self, part_id: str, key: str, writer: BlobWriter, upload: Upload) -> None:
        self.id = part_id
        self.object = key
        self.upload = upload
        self._writer = writer
        self.size = 0

    async def write(self, data: bytes) -> None:
        """Adds bytes; raises Refusal FILE_TOO_LARGE when they are over 64 MiB, Unavailable when there is no room."""
        self.size += len(data)
        if self.size > PART_BYTES:
            message = f"The part is too large: it may have {PART_BYTES:,} bytes (64 MiB). Cut the file into more parts."
            raise Refusal(Code.FILE_TOO_LARGE, message, "data")
        await self._writer.write(data)

    async def commit(self) -> None:
        """Makes the bytes durable; raises Unavailable."""
        await self._writer.commit()

    async def abort(self) -> None:
        """Forgets the bytes, unless they were committed; idempotent."""
        await self._writer.abort()


class Uploads:
    """Every write to an upload and its parts."""

    def __init__(self, db: Database, blobs: Blobs, clock: Clock, files: Files) -> None:
        self._db = db
        self._blobs = blobs
        self._clock = clock
        self._files = files

    async def create(
        self, principal: Principal, *, size: int, name: str, purpose: str, lifetime_s: int | None
    ) -> Upload:
        """Begins an upload of ``size`` bytes, for an hour; raises Refusal INVALID_PURPOSE or FILE_TOO_LARGE."""
        check_purpose(purpose)
        if size > (most := self._files.max_bytes):
            message = f"The file is too large: it would have {size:,} bytes, the limit is {most:,} bytes."
            raise Refusal(Code.FILE_TOO_LARGE, message, "bytes")
        now = self._clock.now()
        upload = Upload(
            id=new_id(),
            org=principal.org,
            member=principal.member,
            key=principal.key,
            name=name,
            bytes=size,
            lifetime_s=lifetime_s,
            status=UploadStatus.PENDING,
            file=None,
            created_at=now,
            expires_at=now + LIFETIME_S * SECOND,
        )
        async with self._db.write() as tx:
            await check_standing(tx, principal)
            await rows.insert(tx, upload)
        return upload

    async def begin(self, principal: Principal, upload_id: str) -> PartDraft:
        """Starts a part; end it with ``add`` or ``PartDraft.abort``.

        Raises Refusal UPLOAD_NOT_FOUND, UPLOAD_NOT_PENDING, PERMISSION_DENIED when somebody else began the upload;
        STORAGE_LOW.
        """
        self._files.check_room()
        async with self._db.read() as tx:
            upload = await self._pending(tx, principal, upload_id)
        part_id = new_id()
        key = f"part/{part_id}"
        return PartDraft(part_id, key, await self._blobs.writer(key), upload)

    async def add(self, draft: PartDraft, principal: Principal) -> Part:
        """Makes a part of a draft. A refused one leaves nothing behind.

        Raises Refusal UPLOAD_NOT_PENDING when the upload has ended meanwhile, STORAGE_QUOTA_EXCEEDED, INVALID_REQUEST
        for one part too many, EMPTY_FILE for one without bytes.
        """
        try:
            _check_content(draft)
            await draft.commit()
        except BaseException:
            await draft.abort()
            raise
        crashpoint.reach("part_object_written")
        part = Part(
            id=draft.id,
            upload=draft.upload.id,
            org=principal.org,
            bytes=draft.size,
            object=draft.object,
            created_at=self._clock.now(),
        )
        try:
            async with self._db.write() as tx:
                await account.lock(tx, principal.org)
                await self._pending(tx, principal, draft.upload.id, lock=True)
                await self._check_room(tx, principal, part)
                await rows.add(tx, part)
        except Refusal:  # the row surely was not written; after any other error it may have been
            await self._blobs.delete(draft.object)
            raise
        crashpoint.reach("part_committed")
        return part

    async def complete(
        self,
        principal: Principal,
        rules: DialectRules,
        upload_id: str,
        *,
        part_ids: Sequence[str],
        md5: str | None,
        retry: bool,
        idempotency_key: str | None,
    ) -> tuple[Upload, File | None, bool]:
        """Joins parts in this order into a file, with all the rules of a plain upload (``Files.finish``).

        ``md5``: hex, lower case, of all bytes. ``retry``: an SDK says that it sends this again; what is completed is
        answered then as it stands, and so it is with the key that completed it. The third value says whether the file
        is an earlier one. Raises Refusal as ``begin`` does, INVALID_VALUE when parts are not of this upload or bytes do
        not match, and as ``Files.finish``.
        """
        async with self._db.read() as tx:
            upload = await _visible(tx, principal, upload_id)
            if upload.file is not None and (retry or await _is_answer(tx, upload, idempotency_key)):
                return upload, await files.get(tx, principal.org, upload.file), False
            upload = await self._pending(tx, principal, upload_id)
            chosen = _chosen(upload, await rows.parts(tx, upload.id), part_ids)
        draft = await self._files.begin()
        try:
            await self._join(draft, chosen, md5)
        except Broken:
            await draft.abort()
            async with self._db.read() as tx:  # its parts go when it ends
                await self._pending(tx, principal, upload_id)
            raise
        except BaseException:
            await draft.abort()
            raise
        crashpoint.reach("upload_joined")
        now = self._clock.now()

        async def ending(tx: Tx, file: File) -> None:
            if not await rows.end(tx, upload.id, UploadStatus.COMPLETED, now, file.id):
                await self._pending(tx, principal, upload_id)

        file, earlier = await self._files.finish(
            draft,
            principal,
            rules,
            purpose="batch",
            name=upload.name,
            lifetime_s=upload.lifetime_s,
            retry=retry,
            idempotency_key=idempotency_key,
            also=ending,
        )
        async with self._db.read() as tx:
            return await _visible(tx, principal, upload_id), file, earlier

    async def cancel(self, principal: Principal, upload_id: str) -> Upload:
        """Gives an upload up; a cancelled one stays as it is. Raises Refusal as ``begin`` does."""
        async with self._db.write() as tx:
            upload = await _visible(tx, principal, upload_id, lock=True)
            if upload.status is not UploadStatus.CANCELLED:
                await self._pending(tx, principal, upload_id)
                await rows.end(tx, upload.id, UploadStatus.CANCELLED, self._clock.now())
                upload = await _visible(tx, principal, upload_id)
        return upload

    async def tidy(self) -> bool:
        """Ends uploads that have run out, removes parts that no upload needs; True if there may be more."""
        now = self._clock.now()
        async with self._db.write() as tx:
            await rows.expire(tx, now)
            forgotten = await rows.forget(tx, now - KEPT_S * SECOND, AT_ONCE)
        async with self._db.read() as tx:
            gone = await rows.garbage(tx, AT_ONCE)
        for _, key in gone:
            await self._blobs.delete(key)
        if gone:
            async with self._db.write() as tx:
                for part_id, _ in gone:
                    await rows.remove(tx, part_id)
        return max(len(gone), forgotten) == AT_ONCE

    async def _join(self, draft: Draft, parts: Sequence[Part], md5: str | None) -> None:
        digest, block = hashlib.md5(usedforsecurity=False), bytearray()
        for part in parts:
            async for piece in self._blobs.stream(part.object, 0, part.bytes):
                digest.update(piece)
                block += piece
                if len(block) >= BLOCK:
                    await draft.write(bytes(block))
                    block.clear()
        await draft.write(bytes(block))
        if md5 is not None and digest.hexdigest() != md5:
            message = (
                f"The bytes do not match the 'md5' given: {md5} was expected, the parts give {digest.hexdigest()}."
            )
            raise Refusal(Code.INVALID_VALUE, message, "md5")

    async def _pending(self, tx: Tx, principal: Principal, upload_id: str, *, lock: bool = False) -> Upload:
        upload = await _visible(tx, principal, upload_id, lock=lock)
        check_owner(principal, upload.member, "began an upload", "go on with it")
        run_out = upload.expires_at <= self._clock.now()
        status = UploadStatus.EXPIRED if upload.status is UploadStatus.PENDING and run_out else upload.status
        if status is not UploadStatus.PENDING:
            message = f"Upload {upload_id[:100]} is {status} and not pending any more; begin another one."
            raise Refusal(Code.UPLOAD_NOT_PENDING, message, "upload_id", should_retry=False)
        return upload

    async def _check_room(self, tx: Tx, principal: Principal, part: Part) -> None:
        if await rows.count(tx, part.upload) >= MOST_PARTS:
            message = f"The upload has {MOST_PARTS:,} parts, which is the most. Send larger ones."
            raise Refusal(Code.INVALID_REQUEST, message, "data")
        used = await rows.taken_up(tx, part.org)
        limit = principal.plan.storage_bytes
        if used + part.bytes > limit:
            message = (
                f"The organization's storage is full: {used:,} bytes are stored, parts of uploads included, and this "
                f"part has {part.bytes:,} bytes, the limit is {limit:,} bytes."
            )
            raise Refusal(Code.STORAGE_QUOTA_EXCEEDED, message, "data")


def _check_content(draft: PartDraft) -> None:
    if not draft.size:
        raise Refusal(Code.EMPTY_FILE, "The part is empty: 0 bytes were sent.", "data")


def _chosen(upload: Upload, parts: Sequence[Part], part_ids: Sequence[str]) -> list[Part]:
    """The parts that are named, in that order; raises Refusal INVALID_VALUE."""
    known = {part.id: part for part in parts}
    chosen: list[Part] = []
    for part_id in part_ids:
        part = known.pop(bare(part_id) or "", None)
        if part is None:
            message = f"Part {part_id[:100]!r} is not a part of this upload, or is named twice."
            raise Refusal(Code.INVALID_VALUE, message, "part_ids")
        chosen.append(part)
    total = sum(part.bytes for part in chosen)
    if total != upload.bytes:
        message = f"The parts have {total:,} bytes together, but the upload was begun for {upload.bytes:,} bytes."
        raise Refusal(Code.INVALID_VALUE, message, "part_ids")
    return chosen


async def _is_answer(tx: Tx, upload: Upload, key: str | None) -> bool:
    noted = await idempotency.recall(tx, upload.org, ROUTE, key) if key else None
    return noted is not None and noted.answer == upload.file


async def _visible(tx: Tx, principal: Principal, upload_id: str, *, lock: bool = False) -> Upload:
    known = bare(upload_id)
    upload = await rows.get(tx, principal.org, known, lock=lock) if known else None
    if upload is None:
        raise Refusal(Code.UPLOAD_NOT_FOUND, f"No such Upload object: {upload_id[:100]}", "upload_id")
    return upload
