"""How batches get on, asked of the ledger, so that every process tells the same."""

from collections.abc import Callable, Sequence

from hornada.core.batch import TERMINAL, Batch
from hornada.core.clock import Clock
from hornada.core.progress import Progress, Run, ended, progress
from hornada.store import progress as rows
from hornada.store.database import Database, Tx

_NOTHING = Run()


class Pace:
    """Reads only. ``waiting_for``: what a live batch waits for, in words; None while its lines run."""

    def __init__(self, db: Database, clock: Clock, waiting_for: Callable[[Batch], str | None]) -> None:
        self._db = db
        self._clock = clock
        self._waiting_for = waiting_for

    async def of(self, batches: Sequence[Batch], tx: Tx | None = None) -> dict[str, Progress]:
        """How each of these gets on, or came out; one view for all. Raises Unavailable."""
        live = [batch.id for batch in batches if batch.status not in TERMINAL and batch.checked]
        now = self._clock.now()
        runs: dict[str, Run] = {}
        if live and tx is not None:
            runs = await rows.of(tx, live, now)
        elif live:
            async with self._db.read() as own:
                runs = await rows.of(own, live, now)
        return {
            batch.id: ended(batch)
            if batch.status in TERMINAL
            else progress(batch, runs.get(batch.id, _NOTHING), now, self._waiting_for(batch))
            for batch in batches
        }
