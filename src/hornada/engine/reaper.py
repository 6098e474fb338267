"""Tidies: expires batches and files, ends abandoned leases, removes bytes that nobody can ask for any more."""

import logging
from collections.abc import Awaitable, Callable

from hornada.blobs.protocol import Blobs
from hornada.core.batch import Event, StopReason, after
from hornada.core.clock import DAY, Clock
from hornada.engine.files import Files
from hornada.store import balance, idempotency
from hornada.store import batch as batches
from hornada.store import chunk as chunks
from hornada.store import stage as stages
from hornada.store import worker as workers
from hornada.store.condense import condense
from hornada.store.database import Database, Tx

log = logging.getLogger("hornada")

_AT_ONCE = 100
_FOLDED_AT_ONCE = 2000
_CONDENSED_AT_ONCE = 200
_STRANGERS_S = 60.0


class Reaper:
    """Loops: ``once`` for deadlines, ``end_lost`` for workers that died, ``tidy`` for what can wait (bytes, old rows).

    ``steady``: whether this process has been sure of its own lease for a while. ``on_freed``: chunks or stages that
    somebody held may be taken. ``entry_days``: for so long each entry of the ledger is kept, 0 for ever.
    """

    def __init__(
        self,
        db: Database,
        blobs: Blobs,
        clock: Clock,
        files: Files,
        *,
        on_stopped: Callable[[str, StopReason], None],
        on_freed: Callable[[], None] = lambda: None,
        steady: Callable[[], bool] = lambda: True,
        entry_days: int = 0,
    ) -> None:
        self._entry_days = entry_days
        self._db = db
        self._blobs = blobs
        self._clock = clock
        self._files = files
        self._on_stopped = on_stopped
        self._on_freed = on_freed
        self._strangers_at = clock.monotonic() + _STRANGERS_S
        self._steady = steady

    async def void(self, owner: str) -> None:
        """Ends every lease that another process took: only where no other process can be alive."""
        async with self._db.write() as tx:
            await stages.void(tx)
            await workers.clear(tx)
        while await self._free(lambda tx: chunks.void(tx, owner, _AT_ONCE * 10)):
            pass

    async def end_lost(self) -> bool:
        """Ends workers whose lease ran out and frees what they held; True if there may be more.

        One that is not sure of its own lease leaves others alone: after an outage of the database all are late.
        """
        if not self._steady():
            return False
        async with self._db.write() as tx:
            late = await workers.end_late(tx, _AT_ONCE)
            await workers.forget(tx)
            gone = [*await workers.ended(tx), *(await workers.strangers(tx) if self._due() else ())]
            staged = await stages.free(tx, gone)
        for worker in late:
            log.warning("%s %s on %s is gone; what it held goes to others", worker.role, worker.id, worker.host)
        freed = await self._free(lambda tx: chunks.free(tx, gone, _AT_ONCE * 10)) if gone else []
        if freed or staged:
            self._on_freed()
        return bool(freed)

    def _due(self) -> bool:
        """Whether to look for what no row would lead to: that is rare, and to look is not cheap."""
        now = self._clock.monotonic()
        due = now >= self._strangers_at
        if due:
            self._strangers_at = now + _STRANGERS_S
        return due

    async def _free(self, free: Callable[[Tx], Awaitable[list[str]]]) -> list[str]:
        """Ends leases, and batches on with which nobody has anything left to do; those to which the leases belonged."""
        async with self._db.write() as tx:
            freed = await free(tx)
            for batch in freed:
                if await batches.drain(tx, batch, self._clock.now()):
                    log.info("batch_%s: nothing is left to run", batch)
        return freed

    async def once(self) -> bool:
        """Expires overdue batches; True if there may be more."""
        now = self._clock.now()
        async with self._db.read() as tx:
            late = await batches.overdue(tx, now, _AT_ONCE)
        for batch in late:
            to = after(batch.status, Event.EXPIRE)
            if to is None:
                continue
            async with self._db.write() as tx:
                moved = await batches.stop(tx, batch, to, StopReason.EXPIRED, batch.errors, now)
            if moved:
                log.info("batch_%s: expired", batch.id)
                self._on_stopped(batch.id, StopReason.EXPIRED)
        return len(late) == _AT_ONCE

    async def tidy(self) -> bool:
        """Removes expired files, segments of ended batches and garbage, folds the ledger; True if there may be more."""
        swept = await self._files.sweep()
        collected = await self._files.collect()
        purged = await self._purge()
        async with self._db.write() as tx:
            forgotten = await idempotency.sweep(tx, _AT_ONCE)
        async with self._db.write() as tx:
            folded = await balance.fold(tx, _FOLDED_AT_ONCE)
        condensed = await self._condense()
        return (
            max(swept, collected, purged, forgotten) >= _AT_ONCE
            or folded == _FOLDED_AT_ONCE
            or condensed == _CONDENSED_AT_ONCE
        )

    async def _condense(self) -> int:
        """Folds entries of the ledger that are older than so many whole days."""
        if not self._entry_days:
            return 0
        async with self._db.write() as tx:
            return await condense(tx, (self._clock.now() // DAY - self._entry_days) * DAY, _CONDENSED_AT_ONCE)

    async def _purge(self) -> int:
        """Segments and chunks of ended batches: their results stand in the result files."""
        async with self._db.read() as tx:
            ended = await batches.assembled(tx, _AT_ONCE)
        for batch in ended:
            await self._blobs.delete_batch(batch)
            async with self._db.write() as tx:
                await chunks.purge(tx, batch)
        return len(ended)
