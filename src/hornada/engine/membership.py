"""This process among those that share the ledger: it stays alive by saying so, and starts nothing once it is late."""

import asyncio
import logging
import math
from collections.abc import Callable

from hornada.core.clock import SECOND, Clock, SharedClock
from hornada.core.errors import Unavailable
from hornada.core.ids import new_id
from hornada.engine.brake import Brake
from hornada.store import grant as grants
from hornada.store import worker as workers
from hornada.store.database import Database, Tx
from hornada.store.grant import Ailing
from hornada.store.worker import Crew

log = logging.getLogger("hornada")

_NAME = "lease"
_SAFE = 0.9
"""Of the lease's time, from when it was asked for: then this process stops by itself, before others can know."""
_BEATS = 6
"""How often it is renewed in its time."""
_STEADY = 0.5
"""Of the lease's time: so long a process is sure of its own lease before it ends others that are late."""


class Membership:
    """The row of this process, and what it knows of the others.

    ``owner`` is the name under which it holds chunks and stages; a process that others ended takes a new one, and
    ``on_lost`` is called: what it held is theirs. Time is CLOCK_BOOTTIME: a process that was stopped, or whose machine
    slept, finds its lease over before it starts anything.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        *,
        role: str,
        host: str,
        ttl_s: float,
        brake: Brake,
        on_lost: Callable[[], None],
    ) -> None:
        self.owner = new_id()
        self.role = role
        self.every_s = ttl_s / _BEATS
        self.crew = Crew({role: 1}, self.owner)
        self.ailing: dict[str, Ailing] = {}
        """Models with which something is amiss, for all that workers know."""
        self._db = db
        self._clock = clock
        self._host = host
        self._ttl_s = ttl_s
        self._brake = brake
        brake.lapsed = lambda: not self.fresh
        self._on_lost = on_lost
        self._tried = self._joined = False
        self._good_until = -math.inf
        self._sure_since = math.inf
        self._idle = False

    @property
    def fresh(self) -> bool:
        """Whether lines may start: nobody else can hold this process for dead."""
        return self._clock.monotonic() < self._good_until

    @property
    def steady(self) -> bool:
        """Whether this process has been sure of its lease for a while."""
        return self.fresh and self._clock.monotonic() - self._sure_since >= _STEADY * self._ttl_s

    @property
    def first(self) -> bool:
        """Whether what one process does for all is this one's to do."""
        return self.crew.first == self.owner

    @property
    def workers(self) -> int:
        """How many processes that run batches are alive."""
        return sum(n for role, n in self.crew.roles.items() if role != "api")

    async def once(self) -> bool:
        """Renews the lease, or joins; never more to do at once. Raises Unavailable when it cannot.

        A database that is only slow is no trouble as long as the lease holds: the next beat asks again.
        """
        if self._joined and not self.fresh:
            self._sure_since = math.inf
            self._brake.hold(_NAME, "this process could not renew its lease in time")
        asked = self._clock.monotonic()
        try:
            async with asyncio.timeout(self._ttl_s / 3):
                await self._renew()
        except TimeoutError:
            if self.fresh:
                return False
            raise Unavailable("the database did not answer in time") from None
        self._good_until = asked + _SAFE * self._ttl_s
        self._sure_since = min(self._sure_since, asked)
        self._brake.release(_NAME)
        self._tell()
        return False

    async def leave(self) -> None:
        """Ends this process's row, so that nobody waits for its lease; raises Unavailable."""
        self._good_until = -math.inf
        if self._joined:
            self._joined = False
            async with self._db.write() as tx:
                await workers.leave(tx, self.owner)

    async def _renew(self) -> None:
        ttl, owner = round(self._ttl_s * SECOND), self.owner
        tried, self._tried = self._tried, True
        async with self._db.write(durable=False) as tx:
            await agree(tx, self._clock)
            if not (tried and await workers.renew(tx, owner, ttl)):
                owner = new_id() if tried else owner  # the answer to its first try may have been lost
                await workers.join(tx, owner, self.role, self._host, ttl)
            crew, self.ailing = await workers.crew(tx), await grants.ailing(tx)
        lost, self.owner = self._joined and owner != self.owner, owner
        self._joined, self.crew = True, crew
        if lost:
            log.warning("others ended this process's lease; what it held is theirs, and it goes on as %s", owner)
            self._sure_since = math.inf
            self._on_lost()

    def _tell(self) -> None:
        idle = self.workers == 0
        if idle != self._idle:
            log.log(logging.WARNING if idle else logging.INFO, "no worker is alive" if idle else "a worker is alive")
        self._idle = idle


async def agree(tx: Tx, clock: Clock) -> None:
    """Has this process's clock say what the ledger's does, where several share it."""
    if isinstance(clock, SharedClock):
        asked = clock.now()
        if clock.agree(await workers.now(tx), asked):
            log.warning("the database's clock is %+.1f s ahead of this machine's and counts", clock.ahead / SECOND)


class Alone:
    """The same for the only process of a ledger: its lease never runs out, and nothing is written."""

    fresh = steady = first = True
    workers = 1

    def __init__(self, role: str) -> None:
        self.owner = new_id()
        self.role = role
        self.crew = Crew({role: 1}, self.owner)
        self.ailing: dict[str, Ailing] = {}
