"""Sees to it that what runs may still run: rights, models and names are looked at while batches are under way."""

import logging
from collections.abc import Callable

from hornada.core.batch import StopReason
from hornada.core.clock import Clock
from hornada.engine.models import Models
from hornada.store import batch as batches
from hornada.store import catalog
from hornada.store.batch import Asking
from hornada.store.database import Database

log = logging.getLogger("hornada")


class Warden:
    """A loop of half a second: so soon a withdrawn right, a retired model or a moved alias takes effect (contract 5)."""

    def __init__(
        self, db: Database, clock: Clock, models: Models, *, on_stopped: Callable[[str, StopReason], None]
    ) -> None:
        self._db = db
        self._clock = clock
        self._models = models
        self._on_stopped = on_stopped

    async def once(self) -> bool:
        """Takes over what operators changed, then stops or moves the batches that it concerns; never more at once."""
        async with self._db.read() as tx:
            shelf = await catalog.shelf(tx)
            revoked = await batches.unauthorized(tx, self._clock.now())
            asking = await batches.asking(tx)
        self._models.overlay(shelf)
        for batch in revoked:
            await self._stop(batch, StopReason.REVOKED)
        for asks in asking:
            if asks.id not in revoked:
                await self._see_to_model(asks)
        return False

    async def _see_to_model(self, batch: Asking) -> None:
        """Moves a batch whose name stands for another model now; ends one whose names stand for none."""
        found = [model for name in batch.names if (model := self._models.catalog().resolve(name)) is not None]
        if not found:
            if self._models.complete:
                await self._stop(batch.id, StopReason.MODEL_GONE)
        elif batch.model not in {model.name for model in found}:
            async with self._db.write() as tx:
                await batches.rekey(tx, batch.id, found[0].name)
            log.info("batch %s: goes on with model %s", batch.id, found[0].name)
            self._on_stopped(batch.id, StopReason.MODEL_GONE)

    async def _stop(self, batch: str, reason: StopReason) -> None:
        async with self._db.write() as tx:
            halted = await batches.halt(tx, batch, reason, self._clock.now())
        if halted:
            log.info("batch %s: %s, its remaining lines end", batch, reason)
            self._on_stopped(batch, reason)
