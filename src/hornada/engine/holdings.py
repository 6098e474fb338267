"""The chunks that this process holds, by batch and index, and what is asked of all of them together."""

from collections import Counter
from collections.abc import Iterator

from hornada.engine.held import Held

HELD_BYTES = 48 * 1024 * 1024
"""Input that may be held in memory."""


class Holdings(dict[tuple[str, int], Held]):
    """Keys are (batch, chunk)."""

    def of(self, batch: str) -> list[Held]:
        """Those of one batch."""
        return [held for (of, _), held in self.items() if of == batch]

    @property
    def in_flight(self) -> int:
        """Lines that model servers are answering."""
        return sum(held.in_flight for held in self.values())

    @property
    def room(self) -> int:
        """Bytes of input that may still be taken into memory."""
        return HELD_BYTES - sum(held.work.chunk.span.length for held in self.values())

    @property
    def idle(self) -> bool:
        """Whether nothing is left to run."""
        return all(held.settled for held in self.values())

    @property
    def rests(self) -> bool:
        """Whether of some batch nothing is left to run here, so that somebody may wait for its end."""
        running = {batch for (batch, _), held in self.items() if not held.settled}
        return any(batch not in running for batch, _ in self)

    def waiting(self, model: str) -> dict[str, Counter[str]]:
        """Lines of a model that wait, by organization and batch."""
        found: dict[str, Counter[str]] = {}
        for held in self.values():
            chunk, waiting = held.work.chunk, held.left - held.in_flight
            if chunk.model == model and held.stop is None and waiting:
                found.setdefault(chunk.org, Counter())[chunk.batch] += waiting
        return found

    def unbooked(self) -> Iterator[tuple[str, int]]:
        """(organization, micro-units) of results that are not yet in the ledger, where a balance is watched."""
        return ((held.work.chunk.org, held.unbooked) for held in self.values() if held.purse is not None)
