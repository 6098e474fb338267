"""Opens the engine over a ledger and a blob store, and starts and stops its loops."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hornada.core.batch import Status
from hornada.core.clock import Clock, SharedClock, SystemClock
from hornada.core.errors import HornadaError
from hornada.engine.looper import Looper
from hornada.engine.membership import Membership, agree
from hornada.engine.news import Topic
from hornada.service.installation import Installation, spelling
from hornada.service.loops import Loops
from hornada.service.parts import Parts
from hornada.store import census, connect, exclusive_lock, migration
from hornada.store.catalog import shelf
from hornada.store.database import Database

if TYPE_CHECKING:
    from hornada.engine.guard import Guard
    from hornada.service.company import Company

__all__ = ["Engine", "Installation", "spelling"]


class Engine(Parts):
    """The parts at work. ``await Engine.open(…)``, then ``start``; ``stop`` ends it gracefully."""

    taken: str | None = None
    """Why this process must end: another one works on the ledger."""
    on_taken: Callable[[], None] | None = None
    _guard: "Guard | None" = None
    _lasting: Sequence[Looper] = ()
    """Loops that go on while the process drains."""
    _tasks: Sequence[asyncio.Task[None]] = ()
    _lasting_tasks: Sequence[asyncio.Task[None]] = ()

    def __init__(self, installation: Installation, db: Database, clock: Clock) -> None:
        super().__init__(installation, db, clock)
        self._loops = Loops(self, installation)
        self._company = self._joined(installation.database)

    @classmethod
    async def open(cls, installation: Installation, clock: Clock | None = None) -> "Engine":
        """Opens the ledger, brings it up to date, and ends what an earlier process left leased.

        Raises Unavailable when the ledger cannot be opened, Broken when its schema is too new (or too old, where it is
        not to be migrated), ValueError for a URL that is none.
        """
        clock = clock or (SharedClock() if installation.shared else SystemClock())
        db = await connect(installation.database, clock, installation.connections)
        engine: Engine | None = None
        try:
            engine = cls(installation, db, clock)
            if not installation.shared:
                await engine._alone(installation.database)
            await _brought_up_to_date(db, migrate=installation.migrate)
            if not installation.shared:
                await engine.reaper.void(engine.owner)
            async with db.read() as tx:
                await agree(tx, clock)
                engine.models.overlay(await shelf(tx))
        except BaseException:
            if engine is not None and engine._guard is not None:
                await engine._guard.close()
            await db.close()
            raise
        return engine

    def _joined(self, database: str) -> "Company | None":
        """What this process does with the others that share the ledger; None when it is alone."""
        if not isinstance(self.membership, Membership) or self.sharing is None:
            return None
        from hornada.service.company import Company

        return Company(database, self.membership, self.sharing, self.news)

    async def _alone(self, database: str) -> None:
        """Takes the lock of a ledger that several processes can reach; raises Taken and Unavailable."""
        lock = exclusive_lock(database)
        if lock is None:
            return
        from hornada.engine.guard import EVERY_S, Guard

        await lock.check()
        self._guard = Guard(lock, self.dispatcher.brake, on_taken=self._end)
        self._lasting = [Looper("lock", self._guard.once, EVERY_S)]

    def _end(self, why: str) -> None:
        self.taken = why
        if self.on_taken is not None:
            self.on_taken()

    def start(self) -> None:
        """Starts every loop."""
        if self._company is not None:
            self._lasting = self._company.loops
        self._lasting_tasks = [asyncio.create_task(loop.run(), name=loop.name) for loop in self._lasting]
        self._tasks = [asyncio.create_task(loop.run(), name=loop.name) for loop in self._loops.running]

    async def stop(self, grace_s: float) -> None:
        """Drains what was not drained before, writes what is left, closes."""
        await self.drain(grace_s)
        with contextlib.suppress(HornadaError):
            while await self.usage.once():
                pass
        with contextlib.suppress(HornadaError):
            await self.admission.uses.once()
        for loop in self._lasting:
            loop.stop()
        await asyncio.gather(*self._lasting_tasks, return_exceptions=True)
        if self._company is not None:
            await (self._company.leave() if self._lasting else self._company.speak())
        await self.examiners.close()
        await self.courier.close(grace_s)
        await self.postman.close()
        await self.watching.close()
        await self.servers.close()
        if self._guard is not None:
            await self._guard.close()
        await self.db.close()

    async def drain(self, grace_s: float) -> None:
        """Ends every loop after the piece it is at, gives lines in flight a time of grace, commits.

        Control and regular calls are answered as before.
        """
        for loop in self._loops.running:
            loop.stop()
        _, late = await asyncio.wait(self._tasks, timeout=grace_s) if self._tasks else (set(), set())
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        with contextlib.suppress(HornadaError):
            await self.dispatcher.close(grace_s)

    def hurry(self) -> None:
        """Ends the time of grace: loops and lines are cut off, what is done is committed all the same."""
        for task in self._tasks:
            task.cancel()
        self.dispatcher.hurry()

    async def live(self) -> dict[Status, int]:
        """How many batches have not ended, by status."""
        async with self.db.read() as tx:
            return await census.live(tx)

    async def adopt(self, installation: Installation) -> None:
        """Takes over what can change while it runs: models, aliases, plans, limits, servers to ask for models.

        Running batches follow through the warden.
        """
        self.plans.clear()
        self.plans.update(installation.plans)
        for part in (self.room, self.gateway, self.caller, self.files, self.batches, self.validator, self.finalizer):
            part.adopt(installation.limits)
        self.checkups.adopt(installation.limits)
        self.models.configure(installation.models, installation.aliases, installation.upstream, self.clock.now())
        for topic in (Topic.RIGHTS, Topic.CATALOG):
            self.news.tell(topic)
        self._loops.configured()
        await self.servers.retain(self.models.servers)

    @property
    def loops(self) -> list[Looper]:
        """Every loop of this process."""
        return [*self._loops.running, *self._lasting]

    @property
    def troubles(self) -> list[str]:
        """What keeps the loops from their work, in words for people."""
        return [loop.trouble for loop in self.loops if loop.trouble is not None] + [
            *self.dispatcher.brake.reasons,
            *self.room.reasons,
        ]


async def _brought_up_to_date(db: Database, *, migrate: bool) -> None:
    if migrate:
        await db.migrate()
        return
    async with db.read() as tx:
        await migration.require(tx)
