"""What can be done to batches: create, look at, list, pause, resume, cancel."""

import hashlib
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from hornada.core.account import Principal, Role
from hornada.core.batch import Batch, BatchFilter, Event, Finding, Status, StopReason, after
from hornada.core.clock import SECOND, Clock
from hornada.core.errors import Code, Refusal
from hornada.core.file import File, Purpose
from hornada.core.ids import bare, new_id
from hornada.core.limits import DialectRules, Limits
from hornada.core.page import Page
from hornada.engine import crashpoint
from hornada.engine.audit import note
from hornada.engine.rights import check_owner, check_standing
from hornada.store import account, idempotency, running
from hornada.store import batch as rows
from hornada.store import file as files
from hornada.store.database import Database, Tx

ROUTE = "batches"
RETRY_ROUTE = "batches:same"
RETRY_WINDOW_S = 600
_COME_BACK_S = 60
_PAUSABLE = frozenset({Status.VALIDATING, Status.IN_PROGRESS})


class NewBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What a create asks for, checked for its form by whoever read it.

    ``retry_of``: the batch whose failed lines it runs again.
    """

    input_file: str
    endpoint: str
    completion_window: str
    metadata: dict[str, str] | None
    output_lifetime_s: int | None
    retry_of: str | None = None


class Batches:
    """Every write to a batch by its owner. The callbacks wake the loops; ``on_paused`` is told of a resume as well."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        limits: Limits,
        *,
        on_created: Callable[[], None],
        on_cancelled: Callable[[str, StopReason], None],
        on_paused: Callable[[Batch], None] = lambda _: None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._limits = limits
        self._on_created = on_created
        self._on_cancelled = on_cancelled
        self._on_paused = on_paused

    def adopt(self, limits: Limits) -> None:
        """Takes over changed limits; what has begun keeps those that it began with."""
        self._limits = limits

    async def create(
        self,
        principal: Principal,
        rules: DialectRules,
        *,
        input_file: str,
        endpoint: str,
        completion_window: str,
        metadata: dict[str, str] | None,
        output_lifetime_s: int | None,
        retry: bool,
        idempotency_key: str | None,
    ) -> tuple[Batch, bool]:
        """Creates a batch, or answers the earlier one that this create repeats (True).

        Contract 5 says when a create repeats another; that is asked before the plan's limit. Raises Refusal
        FILE_NOT_FOUND, INVALID_PURPOSE, IDEMPOTENCY_KEY_REUSED or TOO_MANY_ACTIVE_BATCHES, and Unavailable.
        """
        new = NewBatch(
            input_file=input_file,
            endpoint=endpoint,
            completion_window=completion_window,
            metadata=metadata,
            output_lifetime_s=output_lifetime_s,
        )

        def work(tx: Tx) -> Coroutine[Any, Any, tuple[Batch, bool]]:
            return self.create_in(tx, principal, rules, new, retry=retry, key=idempotency_key)

        batch, earlier = await self._db.transact(work)
        self.created(earlier=earlier)
        return batch, earlier

    async def create_in(
        self, tx: Tx, principal: Principal, rules: DialectRules, new: NewBatch, *, retry: bool, key: str | None
    ) -> tuple[Batch, bool]:
        """``create`` within a transaction; call ``created`` when it has been committed."""
        await check_standing(tx, principal)
        file = await _input(tx, principal, new.input_file)
        digest = _digest(principal, rules, file, new)
        earlier = await self._earlier(tx, principal, rules, digest, retry=retry, key=key)
        batch = earlier or await self._insert(tx, principal, rules, file, new, digest)
        if key is not None:
            note = idempotency.Remembered(digest, batch.id)
            await idempotency.remember(tx, principal.org, ROUTE, key, note)
        return batch, earlier is not None

    def created(self, *, earlier: bool) -> None:
        """A create was committed; ``earlier``: it made nothing."""
        crashpoint.reach("batch_committed")
        if not earlier:
            self._on_created()

    async def get(self, principal: Principal, batch_id: str) -> Batch:
        """A batch of the caller's organization, its id in any spelling; raises Refusal BATCH_NOT_FOUND."""
        async with self._db.read(single=True) as tx:
            return await _visible(tx, principal, batch_id)

    async def page(
        self, principal: Principal, *, after: str | None = None, limit: int = 20, only: BatchFilter = rows.EVERY
    ) -> Page[Batch]:
        """Batches of the caller's organization that pass ``only``, newest first.

        ``after`` may be any of its batches, also one that does not pass. Raises Refusal BATCH_NOT_FOUND if it is none.
        """
        async with self._db.read(single=after is None and not only.metadata) as tx:
            position = None
            if after is not None:
                last = await _visible(tx, principal, after, param="after")
                position = (last.created_at, last.id)
            found = await rows.page(tx, principal.org, position, limit + 1, only)
        return Page(found[:limit], more=len(found) > limit)

    async def cancel(self, principal: Principal, batch_id: str) -> Batch:
        """Asks a batch to stop; one that is already stopping is answered as it is.

        Raises Refusal BATCH_NOT_FOUND, PERMISSION_DENIED when the caller neither created it nor administers its
        organization, BATCH_NOT_CANCELLABLE while it is finalizing or once it has ended.
        """
        batch = await self._db.transact(lambda tx: self._stop(tx, principal, batch_id))
        crashpoint.reach("cancel_committed")
        self._on_cancelled(batch.id, StopReason.CANCELLED)
        return batch

    async def pause(self, principal: Principal, batch_id: str) -> Batch:
        """Has no line of a batch started until it is resumed; lines in flight go on, and it still expires.

        Our own: neither InferNode nor Novita has it. A paused batch stays as it is. Raises Refusal BATCH_NOT_FOUND,
        PERMISSION_DENIED as ``cancel`` does, BATCH_NOT_PAUSABLE once no line of it will start any more.
        """
        return await self._set_paused(principal, batch_id, paused=True)

    async def resume(self, principal: Principal, batch_id: str) -> Batch:
        """Lets lines of a paused batch start again; raises the Refusals of ``pause``."""
        return await self._set_paused(principal, batch_id, paused=False)

    async def _set_paused(self, principal: Principal, batch_id: str, *, paused: bool) -> Batch:
        deed, write = ("pause", running.pause) if paused else ("resume", running.resume)

        async def work(tx: Tx) -> Batch:
            batch = await self._pausable(tx, principal, batch_id, deed)
            if batch.paused is not paused:
                await write(tx, batch.id, self._clock.now())
                await self._note_pause(tx, principal, batch, f"batch.{deed}")
            return await _visible(tx, principal, batch_id)

        batch = await self._db.transact(work)
        self._on_paused(batch)
        return batch

    async def _stop(self, tx: Tx, principal: Principal, batch_id: str) -> Batch:
        batch = await _visible(tx, principal, batch_id, lock=True)
        check_owner(principal, batch.member, "created a batch", "cancel it")
        to = after(batch.status, Event.CANCEL)
        if to is None:
            message = f"Cannot cancel a batch with status '{batch.status}'."
            raise Refusal(Code.BATCH_NOT_CANCELLABLE, message, should_retry=False)
        if batch.status is Status.CANCELLING:
            return batch
        errors = await self._by_whom(tx, principal, batch)
        now = self._clock.now()
        await rows.stop(tx, batch, to, StopReason.CANCELLED, errors, now)
        if principal.member != batch.member:
            await note(tx, principal, "batch.cancel", now=now, org=batch.org, target=batch.id)
        return await _visible(tx, principal, batch_id)

    async def _pausable(self, tx: Tx, principal: Principal, batch_id: str, deed: str) -> Batch:
        batch = await _visible(tx, principal, batch_id, lock=True)
        check_owner(principal, batch.member, "created a batch", f"{deed} it")
        if batch.status not in _PAUSABLE:
            message = f"Cannot {deed} a batch with status '{batch.status}'."
            raise Refusal(Code.BATCH_NOT_PAUSABLE, message, should_retry=False)
        return batch

    async def _note_pause(self, tx: Tx, principal: Principal, batch: Batch, action: str) -> None:
        if principal.member != batch.member:
            await note(tx, principal, action, now=self._clock.now(), org=batch.org, target=batch.id)

    async def _by_whom(self, tx: Tx, principal: Principal, batch: Batch) -> tuple[Finding, ...]:
        """The entry that says who cancelled somebody else's batch (InferNode)."""
        if principal.role is Role.OPERATOR:
            message = "The batch was cancelled by the operator of the platform."
            return (*batch.errors, Finding(code=Code.CANCELLED_BY_PLATFORM_ADMIN, message=message))
        if principal.member == batch.member:
            return batch.errors
        name = await account.member_name(tx, principal.member) or "an administrator"
        message = f"The batch was cancelled by {name}, an administrator of the organization."
        return (*batch.errors, Finding(code=Code.CANCELLED_BY_ORG_ADMIN, message=message))

    async def _earlier(
        self, tx: Tx, principal: Principal, rules: DialectRules, digest: str, *, retry: bool, key: str | None
    ) -> Batch | None:
        """The batch that this create repeats."""
        found: str | None = None
        if key is not None and (noted := await idempotency.recall(tx, principal.org, ROUTE, key)):
            if noted.digest != digest:
                message = "This Idempotency-Key was used for another batch within the last 24 hours."
                raise Refusal(Code.IDEMPOTENCY_KEY_REUSED, message, "Idempotency-Key")
            found = noted.answer
        if found is None and rules.deduplicate:
            found = await rows.live_twin(tx, principal.org, digest)
        if found is None and retry:
            found = await self._just_created(tx, principal, digest)
        return await rows.get(tx, principal.org, found) if found else None

    async def _just_created(self, tx: Tx, principal: Principal, digest: str) -> str | None:
        """The batch that the same key created from the same request moments ago: an SDK sends it again."""
        noted = await idempotency.recall(tx, principal.org, RETRY_ROUTE, digest)
        if noted is None or noted.digest != principal.key:
            return None
        batch = await rows.get(tx, principal.org, noted.answer)
        recent = batch is not None and batch.created_at >= self._clock.now() - RETRY_WINDOW_S * SECOND
        return noted.answer if recent else None

    async def _insert(
        self, tx: Tx, principal: Principal, rules: DialectRules, file: File, new: NewBatch, digest: str
    ) -> Batch:
        await _check_active(tx, principal)
        now = self._clock.now()
        batch = Batch(
            id=new_id(),
            org=principal.org,
            member=principal.member,
            key=principal.key,
            dialect=rules.name,
            endpoint=new.endpoint,
            completion_window=new.completion_window,
            model=None,
            input_file=file.id,
            status=Status.VALIDATING,
            stop=None,
            checked=False,
            created_at=now,
            expires_at=now + self._limits.batch_lifetime_s * SECOND,
            updated_at=now,
            output_lifetime_s=new.output_lifetime_s,
            metadata=new.metadata,
            retry_of=new.retry_of,
        )
        await rows.insert(tx, batch, digest if rules.deduplicate else None)
        if not rules.deduplicate:
            note = idempotency.Remembered(principal.key, batch.id)
            await idempotency.replace(tx, principal.org, RETRY_ROUTE, digest, note)
        return batch


async def _input(tx: Tx, principal: Principal, file_id: str) -> File:
    known = bare(file_id)
    file = await files.get(tx, principal.org, known, lock=True) if known else None
    if file is None:
        raise Refusal(Code.FILE_NOT_FOUND, f"No such File object: {file_id[:100]}", "input_file_id")
    if file.purpose is not Purpose.BATCH:
        message = f"The input file must have the purpose 'batch', but {file_id[:100]} has '{file.purpose}'."
        raise Refusal(Code.INVALID_PURPOSE, message, "input_file_id")
    return file


async def _check_active(tx: Tx, principal: Principal) -> None:
    active, limit = await rows.active(tx, principal.org), principal.plan.active_batches
    if active >= limit:
        message = f"The organization has {active} active batches and its plan allows {limit}. Wait for one to end."
        raise Refusal(Code.TOO_MANY_ACTIVE_BATCHES, message, retry_after=_COME_BACK_S, should_retry=False)


async def _visible(tx: Tx, principal: Principal, batch_id: str, param: str = "id", *, lock: bool = False) -> Batch:
    known = bare(batch_id)
    batch = await rows.get(tx, principal.reach, known, lock=lock) if known else None
    if batch is None:
        raise Refusal(Code.BATCH_NOT_FOUND, f"No batch found with id '{batch_id[:100]}'.", param)
    return batch


def _digest(principal: Principal, rules: DialectRules, file: File, new: NewBatch) -> str:
    """Tells a repeated create from another one."""
    what = (
        principal.member,
        file.sha256,
        rules.name,
        new.endpoint,
        new.completion_window,
        sorted((new.metadata or {}).items()),
        new.output_lifetime_s,
    )
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()
