"""Erases organizations: a loop of small steps, each found by asking the ledger, so that a crash only delays it."""

import logging
from collections.abc import Callable
from contextlib import suppress

from hornada.core.account import Principal
from hornada.core.batch import Status
from hornada.core.clock import Clock
from hornada.core.errors import Refusal
from hornada.engine import crashpoint
from hornada.engine.audit import note
from hornada.engine.batches import Batches
from hornada.store import batch as batches
from hornada.store import file as files
from hornada.store import organization as organizations
from hornada.store import upload as uploads
from hornada.store import webhook as webhooks
from hornada.store.database import Database

log = logging.getLogger("hornada")

_AT_ONCE = 500
_CANCELLABLE = (Status.VALIDATING, Status.IN_PROGRESS)


class Eraser:
    """Ends an organization's webhooks and batches, hides its files, and when all bytes and rows are gone, its names.

    ``by``: the operator, in whose name all this is done. ``on_hidden``: there are bytes to remove. Kept are the entries
    of the ledger, the audit, and of batches, members and keys the ids, dates and counts to which those entries refer.
    """

    def __init__(
        self, db: Database, clock: Clock, batches: Batches, by: Principal, *, on_hidden: Callable[[], None]
    ) -> None:
        self._db = db
        self._clock = clock
        self._batches = batches
        self._by = by
        self._on_hidden = on_hidden

    async def once(self) -> bool:
        """One step for each organization that is being erased; never more at once, for others do the next part."""
        async with self._db.read() as tx:
            orgs = await organizations.condemned(tx, _AT_ONCE)
        for org in orgs:
            await self._step(org)
        return False

    async def _step(self, org: str) -> None:
        async with self._db.write() as tx:
            await webhooks.delete_all(tx, org)
        async with self._db.read() as tx:
            live = await batches.live_of(tx, org)
        for batch, status in live:
            if status in _CANCELLABLE:
                with suppress(Refusal):  # it ended by itself meanwhile
                    await self._batches.cancel(self._by, batch)
        if live:
            return
        async with self._db.write() as tx:
            hidden = await files.mark_all_deleted(tx, org, self._clock.now(), _AT_ONCE)
            hidden += await uploads.cancel_all(tx, org, self._clock.now())
        if hidden:
            crashpoint.reach("organization_hidden")
            self._on_hidden()
            return
        await self._finish(org)

    async def _finish(self, org: str) -> None:
        async with self._db.write() as tx:
            await organizations.get(tx, org, lock=True)
            if await organizations.remains(tx, org):
                return
            await webhooks.delete_all(tx, org)
            await organizations.blank(tx, org, self._clock.now())
            await note(tx, self._by, "organization.erased", now=self._clock.now(), org=org, target=org)
        crashpoint.reach("organization_erased")
        log.info("organization %s: erased", org)
