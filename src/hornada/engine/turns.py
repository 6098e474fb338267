"""Which organizations a process looks at next: all, or where many wait, so many at a time and the next after them."""

from collections.abc import Callable, Sequence

from hornada.engine.fairness import BATCHES_AT_ONCE
from hornada.store import chunk as chunks
from hornada.store.chunk import Source
from hornada.store.database import Database

ORGANIZATIONS = 32
"""Among so many a process shares a model at a time, so that a look costs the same however many wait."""
_LOOKS = 8
"""So many turns are looked through at once for something that nobody has taken yet."""


class Turns:
    """``begin``: where the round of this process begins, so that processes do not follow in each other's steps."""

    def __init__(self, db: Database, begin: Callable[[], str]) -> None:
        self._db = db
        self._begin = begin
        self._after: dict[str, str] = {}

    async def sources(self, model: str, *, enough: bool) -> Sequence[Source]:
        """Batches to claim from. ``enough``: lines are in hand, so that those whose turn comes next can wait for it."""
        found: list[Source] = []
        async with self._db.read() as tx:
            for _ in range(_LOOKS):
                orgs = await chunks.turns(tx, model, self._after.get(model, self._begin()), ORGANIZATIONS)
                many = len(orgs) == ORGANIZATIONS
                if many and enough:
                    break
                found = await chunks.sources(tx, model, orgs, 1 if many else BATCHES_AT_ONCE)
                if not many:
                    break
                self._after[model] = orgs[-1]
                if found:
                    break
        return found
