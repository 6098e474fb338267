"""When bytes that cannot be read are taken for lost: only long after an outage would have been something else."""

import logging
from collections.abc import Collection
from typing import NamedTuple

from hornada.blobs.protocol import Blobs
from hornada.core.clock import Clock
from hornada.core.errors import Broken, Unavailable
from hornada.store import file as files
from hornada.store.database import Database

log = logging.getLogger("hornada")

PATIENCE_S = 600.0
"""For so long the same bytes must be missing, or not what was written, whenever they are looked for."""
LEAST = 5
"""So many times in a row."""
_WITNESSES = 20


class Place(NamedTuple):
    """A segment, by where it begins in a blob, or a whole blob: what is wrong with an input is wrong for good."""

    object: str
    offset: int = 0


class Losses:
    """What this process could not read. A store that does not answer, or an outage of any kind, has all begin anew.

    The store must be well, and have one of the files at least that it was given first: else it is another one, or a
    part of it is away, and nothing is given up.
    """

    def __init__(self, db: Database, blobs: Blobs, clock: Clock) -> None:
        self._db = db
        self._blobs = blobs
        self._clock = clock
        self._seen: dict[Place, tuple[float, float, int]] = {}

    def doubt(self) -> None:
        """The store was away: what was missing may be there again."""
        self._seen.clear()

    def found(self, place: Place) -> None:
        """It could be read just now."""
        self._seen.pop(place, None)

    async def certain(self, missed: Collection[Place]) -> bool:
        """Notes what could not be read just now, and whether all of it is lost by all that can be told."""
        now = self._clock.monotonic()
        self._seen = {place: seen for place, seen in self._seen.items() if now - seen[1] < PATIENCE_S}
        for place in missed:
            first, _, n = self._seen.get(place, (now, now, 0))
            self._seen[place] = (first, now, n + 1)
        for place in missed:
            first, _, n = self._seen[place]
            if now - first < PATIENCE_S or n < LEAST:
                return False
        try:
            return await self._store_is_well({place.object for place in missed})
        except Unavailable as error:
            log.warning("what cannot be read is not given up: %s", error)
            self.doubt()
            return False

    async def _store_is_well(self, lost: Collection[str]) -> bool:
        for key in {key.partition("/")[0]: key for key in lost}.values():
            await self._blobs.vouch(key)
        async with self._db.read() as tx:
            others = [each for each in await files.oldest(tx, _WITNESSES) if each[0] not in lost]
        for key, size in others:
            try:
                if await self._blobs.size(key) == size:
                    return True
            except Broken:
                continue
        if others:
            log.error("what cannot be read is not given up: the store has none of the oldest files either")
        return not others
