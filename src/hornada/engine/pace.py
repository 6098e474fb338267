"""How batches get on, asked of the ledger, so that every process tells the same."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from hornada.core.batch import TERMINAL, Batch, Status
from hornada.core.clock import Clock
from hornada.core.progress import Counted, Progress, ended, progress
from hornada.store import progress as rows
from hornada.store.database import Database, Tx

_NOTHING = Counted()


class WaitingFor(Protocol):
    """Says what a batch waits for; ``held``: whether some process holds chunks of it."""

    def __call__(self, batch: Batch, *, held: bool) -> str | None:
        """In words; None for one that does not wait."""
        ...


class Pace:
    """Reads only. ``waiting_for``: what a live batch waits for, in words; None while its lines run.

    ``ask``: hears what others do with running batches; those of which one holds chunks. None where there are no others.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        waiting_for: WaitingFor,
        ask: Callable[[Sequence[Batch]], Awaitable[Collection[str]]] | None = None,
    ) -> None:
        self._db = db
        self._ask = ask
        self._clock = clock
        self._waiting_for = waiting_for

    async def of(self, batches: Sequence[Batch], tx: Tx | None = None) -> dict[str, Progress]:
        """How each of these gets on, or came out; one view for all. Raises Unavailable."""
        live = [batch.id for batch in batches if batch.status not in TERMINAL and batch.checked]
        now = self._clock.now()
        held: Collection[str] = ()
        if self._ask is not None:
            held = await self._ask([batch for batch in batches if batch.status is Status.IN_PROGRESS])
        runs: dict[str, Counted] = {}
        if live and tx is not None:
            runs = await rows.of(tx, live, now)
        elif live:
            async with self._db.read() as own:
                runs = await rows.of(own, live, now)
        return {
            batch.id: ended(batch)
            if batch.status in TERMINAL
            else progress(batch, runs.get(batch.id, _NOTHING), now, self._waiting_for(batch, held=batch.id in held))
            for batch in batches
        }
