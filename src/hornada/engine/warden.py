"""Sees to it that what runs may still run: rights, models and names are looked at while batches are under way."""

import logging
from collections.abc import Callable

from hornada.core.batch import StopReason
from hornada.core.clock import Clock
from hornada.engine.models import Models
from hornada.engine.rota import Rota
from hornada.store import batch as batches
from hornada.store import catalog, running
from hornada.store.database import Database
from hornada.store.running import Asking

log = logging.getLogger("hornada")


class Warden:
    """A loop of half a second: so soon a lost right, a retired model or a moved alias takes effect.

    ``rota``: whose turn it is to look through all running batches, where several processes could.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        models: Models,
        *,
        on_stopped: Callable[[str, StopReason], None],
        on_moved: Callable[[], None],
        rota: Rota | None = None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._models = models
        self._on_stopped = on_stopped
        self._on_moved = on_moved
        self._rota = rota or Rota(clock, 0.0)
        self.quiet = False
        """No batch runs, or it is another process's to look at those that do."""

    async def once(self) -> bool:
        """Takes over what operators changed, then stops or moves the batches that it concerns; never more at once."""
        mine = self._rota.due()
        async with self._db.read() as tx:
            shelf = await catalog.shelf(tx)
            revoked = await running.unauthorized(tx, self._clock.now()) if mine else []
            asking = await running.asking(tx) if mine else []
        self.quiet = not asking
        self._models.overlay(shelf)
        for batch in revoked:
            await self._stop(batch, StopReason.REVOKED)
        for asks in asking:
            if asks.id not in revoked:
                await self._see_to_model(asks)
        return False

    async def _see_to_model(self, batch: Asking) -> None:
        """Moves a batch whose name stands for another model now; ends one whose names stand for none."""
        resolved = (self._models.catalog().resolve(name) for name in batch.names)
        found = list(dict.fromkeys(model.name for model in resolved if model is not None))
        if not found:
            if all(self._models.gone(name) for name in batch.names):
                await self._stop(batch.id, StopReason.MODEL_GONE)
            return
        model = _next(batch, found)
        if model is not None:
            async with self._db.write() as tx:
                await running.rekey(tx, batch.id, model)
            log.info("batch_%s: goes on with model %s", batch.id, model)
            self._on_moved()

    async def _stop(self, batch: str, reason: StopReason) -> None:
        async with self._db.write() as tx:
            halted = await batches.halt(tx, batch, reason, self._clock.now())
        if halted:
            log.info("batch_%s: %s, its remaining lines end", batch, reason)
            self._on_stopped(batch, reason)


def _next(batch: Asking, found: list[str]) -> str | None:
    """The model that goes on with a batch whose names stand for ``found`` now; None for the one that runs it.

    Where names came apart (an alias was moved, an exact name was not), one model after another runs what is its own.
    """
    if batch.model not in found:
        return found[0]
    return found[(found.index(batch.model) + 1) % len(found)] if batch.passed_on else None
