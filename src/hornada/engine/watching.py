"""Watches batches for any number of onlookers: one look at the ledger an interval, however many there are."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hornada.core.account import Principal
from hornada.core.batch import Batch
from hornada.core.errors import HornadaError
from hornada.core.progress import Progress
from hornada.engine.batches import Batches
from hornada.engine.pace import Pace
from hornada.engine.places import Places
from hornada.store import batch as rows
from hornada.store.database import Database

log = logging.getLogger("hornada")

EVERY_S = 1.0
"""Seconds between two looks."""
MOST = 1000
"""Onlookers of an organization at once."""
_AT_A_TIME = 500
_COME_BACK_S = 10


class Watched:
    """A batch that is being watched: how it stood when it was last looked at. ``batch`` None: it is gone.

    ``seen`` counts the looks; ``spelled`` is for onlookers who say the same in the same words.
    """

    def __init__(self, batch: Batch, progress: Progress) -> None:
        self.batch: Batch | None = batch
        self.progress = progress
        self.onlookers = 0
        self.seen = 1
        self.spelled: dict[str, bytes] = {}
        self._news = asyncio.Event()

    async def later(self, seen: int, seconds: float) -> bool:
        """Waits for a look behind the ``seen``-th; False when there is none for so long."""
        if self.seen == seen:
            try:
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            except TimeoutError:
                return False
        return True

    def look(self, batch: Batch | None, progress: Progress | None) -> None:
        """How it stands now."""
        self.batch = batch
        self.progress = progress or self.progress
        self.seen += 1
        self.spelled = {}
        self.tell()

    def tell(self) -> None:
        """Wakes every onlooker."""
        news, self._news = self._news, asyncio.Event()
        news.set()


class Watching:
    """Reads only. While somebody watches, a task looks at all watched batches in one view every ``every_s`` seconds."""

    def __init__(
        self, db: Database, batches: Batches, pace: Pace, *, every_s: float = EVERY_S, most: int = MOST
    ) -> None:
        self._db = db
        self._batches = batches
        self._pace = pace
        self._every_s = every_s
        self._watched: dict[str, Watched] = {}
        words = "streams of events open, which is the limit; close some."
        self._places = Places(most, words, come_back_s=_COME_BACK_S)
        self._task: asyncio.Task[None] | None = None

    @property
    def onlookers(self) -> int:
        """How many there are."""
        return self._places.taken

    @asynccontextmanager
    async def watch(self, principal: Principal, batch_id: str) -> AsyncIterator[Watched]:
        """A batch for as long as somebody looks.

        Raises Refusal BATCH_NOT_FOUND, RATE_LIMIT_EXCEEDED when the organization has too many onlookers.
        """
        batch = await self._batches.get(principal, batch_id)
        with self._places.one(principal.org):
            progress = (await self._pace.of([batch]))[batch.id]
            watched = self._watched.setdefault(batch.id, Watched(batch, progress))
            watched.onlookers += 1
            try:
                if self._task is None:
                    self._task = asyncio.create_task(self._run(), name="watching")
                yield watched
            finally:
                watched.onlookers -= 1
                if not watched.onlookers and self._watched.get(batch.id) is watched:
                    del self._watched[batch.id]

    async def once(self) -> None:
        """Looks at every watched batch; raises Unavailable, or Broken."""
        names = list(self._watched)
        for start in range(0, len(names), _AT_A_TIME):
            await self._look(names[start : start + _AT_A_TIME])

    async def close(self) -> None:
        """Ends the looking; onlookers see nothing new any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _look(self, names: list[str]) -> None:
        async with self._db.read(single=True) as tx:
            found = {batch.id: batch for batch in await rows.these(tx, names)}
        progress = await self._pace.of(list(found.values()))
        for name in names:
            if (watched := self._watched.get(name)) is not None:
                watched.look(found.get(name), progress.get(name))

    async def _run(self) -> None:
        away = False
        while self._watched:
            await asyncio.sleep(self._every_s)
            try:
                await self.once()
                away = False
            except HornadaError as error:
                if not away:
                    log.warning("watched batches are not looked at: %s", error)
                away = True
            except Exception:
                log.exception("watched batches are not looked at")
            for watched in self._watched.values():
                watched.tell()
        self._task = None
