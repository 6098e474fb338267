"""When keys were last used: noted in memory, written once a minute for each key, many keys at a time."""

from hornada.core.clock import Clock
from hornada.store import key as rows
from hornada.store.database import Database

_EVERY_S = 60.0
_KEPT = 100_000


class KeyUse:
    """``note`` is on the way of every call and costs a look-up; ``once`` writes what has gathered."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._noted: dict[str, float] = {}
        self._unwritten: dict[str, int] = {}

    def note(self, key: str) -> None:
        """A key is being used."""
        now = self._clock.monotonic()
        if now - self._noted.get(key, -_EVERY_S) < _EVERY_S:
            return
        if len(self._noted) >= _KEPT:
            self._noted.clear()
        self._noted[key] = now
        self._unwritten[key] = self._clock.now()

    async def once(self) -> bool:
        """Writes what was noted since the last time; never more to do at once. Raises Unavailable, losing nothing."""
        moments = self._unwritten
        if moments:
            self._unwritten = {}
            try:
                async with self._db.write() as tx:
                    await rows.used(tx, moments)
            except BaseException:
                self._unwritten = moments | self._unwritten
                raise
        return False
