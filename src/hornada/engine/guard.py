"""Makes sure that this process alone works on a ledger that several can reach; starts no line while it is not sure."""

import logging
from collections.abc import Callable

from hornada.core.errors import Taken, Unavailable
from hornada.engine.brake import Brake
from hornada.store.exclusive import Exclusive

log = logging.getLogger("hornada")

EVERY_S = 1.0
_NAME = "lock"


class Guard:
    """``on_taken``: another process works on the ledger now, so this one must end. What it holds is fenced."""

    def __init__(self, lock: Exclusive, brake: Brake, *, on_taken: Callable[[str], None]) -> None:
        self._lock = lock
        self._brake = brake
        self._on_taken = on_taken
        lock.on_lost = self._lost

    async def once(self) -> bool:
        """Looks whether the lock is still held, or takes it again; raises Unavailable when that cannot be known."""
        try:
            await self._lock.check()
        except Taken as error:
            self._brake.hold(_NAME, str(error))
            log.error("this process ends: %s", error)  # noqa: TRY400 - it says it all
            self._on_taken(str(error))
            return False
        except Unavailable as error:
            self._brake.hold(_NAME, str(error))
            raise
        self._brake.release(_NAME)
        return False

    async def close(self) -> None:
        """Lets the lock go."""
        await self._lock.close()

    def _lost(self) -> None:
        self._brake.hold(_NAME, "the lock on the database was lost")
