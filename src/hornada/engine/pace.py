"""How batches get on, told of what the ledger said when they were looked at, so that every process tells the same."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from hornada.core.batch import TERMINAL, Batch, Counted, Status
from hornada.core.clock import Clock
from hornada.core.progress import Progress, ended, progress

_NOTHING = Counted()


class WaitingFor(Protocol):
    """Says what a batch waits for; ``held``: whether some process holds chunks of it."""

    def __call__(self, batch: Batch, *, held: bool) -> str | None:
        """In words; None for one that does not wait."""
        ...


class Pace:
    """Asks the ledger nothing: a batch that was looked at for its owner says what was counted of it.

    ``waiting_for``: what a live batch waits for, in words; None while its lines run. ``catch_up``: hears what other
    processes do to the models of running batches; None where there are no others.
    """

    def __init__(
        self,
        clock: Clock,
        waiting_for: WaitingFor,
        catch_up: Callable[[Sequence[Batch]], Awaitable[None]] | None = None,
    ) -> None:
        self._catch_up = catch_up
        self._clock = clock
        self._waiting_for = waiting_for

    async def of(self, batches: Sequence[Batch]) -> dict[str, Progress]:
        """How each of these gets on, or came out."""
        if self._catch_up is not None:
            await self._catch_up([batch for batch in batches if batch.status is Status.IN_PROGRESS])
        now = self._clock.now()
        return {batch.id: ended(batch) if batch.status in TERMINAL else self._live(batch, now) for batch in batches}

    def _live(self, batch: Batch, now: int) -> Progress:
        counted = batch.counted or _NOTHING
        return progress(batch, counted, now, self._waiting_for(batch, held=counted.held))
