"""Chunks that the ledger says are held here and are not: handed back for a later try, or given up."""

import logging
from collections.abc import Callable, Container

from hornada.core.clock import SECOND, Clock
from hornada.core.errors import Unavailable
from hornada.engine.losses import Losses, Place
from hornada.store import batch as batches
from hornada.store import chunk as chunks
from hornada.store.chunk import Work
from hornada.store.database import Database

log = logging.getLogger("hornada")

UNREADABLE_WAIT = 10 * SECOND
"""Microseconds until a chunk whose input could not be read is tried again."""

Key = tuple[str, int]
"""The batch and the index of a chunk."""


class Strays:
    """Their input could not be read, or a claim came to nothing half way. ``any``: whether there may be some."""

    def __init__(
        self, db: Database, clock: Clock, losses: Losses, *, owner: Callable[[], str], on_settled: Callable[[], None]
    ) -> None:
        self._db = db
        self._clock = clock
        self._losses = losses
        self._owner = owner
        self._on_settled = on_settled
        self._lost = set[Key]()
        self.any = False

    async def add(self, work: Work, error: Exception) -> None:
        """The input of a claimed chunk could not be read just now."""
        chunk, source = work.chunk, work.source
        log.warning("the input of batch_%s cannot be read: %s", chunk.batch, error)
        if isinstance(error, Unavailable):
            self._losses.doubt()
        elif await self._losses.certain([Place(source.input_object)]):
            log.error("chunk %d of batch_%s ends without its lines: they are lost", chunk.idx, chunk.batch)
            self._lost.add((chunk.batch, chunk.idx))

    def read(self, work: Work) -> None:
        """The lines of a claimed chunk could be read."""
        self._losses.found(Place(work.source.input_object))

    async def recall(self, held: Container[Key]) -> None:
        """Lets go what is not among ``held``; of what is lost nothing will run any more."""
        async with self._db.write() as tx:
            for chunk in sorted(await chunks.leased_by(tx, self._owner()), key=lambda each: each.batch):
                key = (chunk.batch, chunk.idx)
                if key in self._lost:
                    await chunks.give_up(tx, chunk)
                    await batches.drain(tx, chunk.batch, self._clock.now())
                elif key not in held:
                    await chunks.hand_back(tx, chunk, wait=UNREADABLE_WAIT)
        if self._lost:
            self._lost.clear()
            self._on_settled()
        self.any = False
