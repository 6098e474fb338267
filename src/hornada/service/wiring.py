"""Builds the engine over a ledger and a blob store, and starts and stops its loops."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hornada.blobs import open_blobs
from hornada.core.account import Plan
from hornada.core.batch import Batch, Status, StopReason
from hornada.core.catalog import Model, Server
from hornada.core.clock import Clock, SystemClock
from hornada.core.errors import HornadaError
from hornada.core.ids import new_id
from hornada.core.limits import Limits
from hornada.core.line import Spelling
from hornada.core.money import BillingRules
from hornada.dialects import DIALECTS
from hornada.engine.administration import Administration
from hornada.engine.admission import OPERATOR, Admission
from hornada.engine.batches import Batches
from hornada.engine.billing import Billing
from hornada.engine.budget import REFRESH_S, Budget
from hornada.engine.caller import Caller
from hornada.engine.capacity import Gates
from hornada.engine.curator import Curator
from hornada.engine.dispatcher import FLUSH_S, Dispatcher
from hornada.engine.eraser import Eraser
from hornada.engine.files import Files
from hornada.engine.finalizer import Finalizer
from hornada.engine.gateway import Gateway
from hornada.engine.gauge import Gauges
from hornada.engine.lookout import Lookout
from hornada.engine.looper import Looper
from hornada.engine.meter import Meter
from hornada.engine.models import Models
from hornada.engine.outlook import Outlook
from hornada.engine.reaper import Reaper
from hornada.engine.room import EVERY_S as MEASURE_S
from hornada.engine.room import Room
from hornada.engine.servers import Servers
from hornada.engine.survey import Survey
from hornada.engine.tally import Tally
from hornada.engine.tuner import EVERY_S as TUNE_S
from hornada.engine.tuner import Tuner
from hornada.engine.uploads import Uploads
from hornada.engine.usage import UsageLog
from hornada.engine.validator import Validator
from hornada.engine.warden import Warden
from hornada.service.keeping import removing
from hornada.store import census, connect, exclusive_lock
from hornada.store.catalog import shelf
from hornada.store.database import Database
from hornada.upstream import connect as connect_upstream

if TYPE_CHECKING:
    from hornada.engine.guard import Guard

_DISCOVER_S = 30.0
_DISCOVER_SOON_S = 1.0
_BILLING = BillingRules()


@dataclass(frozen=True, kw_only=True)
class Installation:
    """What an engine runs on: two URLs and the rules of the house."""

    database: str
    blobs: str
    folders: Sequence[Path] = ()
    """On whose disks room is to be kept."""
    keep: Path | None = None
    """Where a backup says that nothing is to be removed."""
    limits: Limits
    models: Sequence[Model]
    aliases: Mapping[str, str]
    plans: Mapping[str, Plan]
    billing: BillingRules = _BILLING
    upstream: Sequence[Server] = ()
    operator_key: str | None = None
    discovered: Callable[[str, Server], Model] = lambda name, server: Model(name=name, servers=(server,))


class Engine:
    """Every part of the engine, wired. ``await Engine.open(…)``, then ``start``; ``stop`` ends it gracefully."""

    taken: str | None = None
    """Why this process must end: another one works on the ledger."""
    on_taken: Callable[[], None] | None = None
    _guard: "Guard | None" = None
    _keep: Path | None = None
    _tasks: Sequence[asyncio.Task[None]] = ()

    def __init__(self, installation: Installation, db: Database, clock: Clock) -> None:
        limits = installation.limits
        self.plans = dict(installation.plans)
        self.db = db
        self.clock = clock
        self.owner = new_id()
        self.blobs = open_blobs(installation.blobs)
        self.servers = Servers(connect_upstream)
        self.gates = Gates(clock)
        self.tally = Tally(clock)
        self.models = Models(
            installation.models,
            installation.aliases,
            installation.upstream,
            connect=self.servers.upstream,
            gates=self.gates,
            now=clock.now(),
            found=installation.discovered,
        )
        self.admission = Admission(db, clock, self.plans, installation.operator_key)
        self.meter = Meter(clock)
        self.budget = Budget(db, clock, on_stopped=self._stopped)
        self.usage = UsageLog(db, clock, self.budget)
        self.billing = Billing(db, clock, self.usage.once)
        self.room = Room(installation.folders, limits, lambda: self.dispatcher.brake)
        self.files = Files(db, self.blobs, clock, limits, self.room.check)
        self.uploads = Uploads(db, self.blobs, clock, self.files)
        catalog = self.models.catalog
        self.gateway = Gateway(
            catalog,
            self.servers,
            self.gates,
            limits=limits,
            record=self.usage.record,
            admit=self.budget.admit,
            billing=installation.billing,
            tally=self.tally,
        )
        self.caller = Caller(catalog, self.servers, limits, installation.billing, self.tally)
        self.dispatcher = Dispatcher(
            db,
            self.blobs,
            clock,
            owner=self.owner,
            catalog=catalog,
            gates=self.gates,
            caller=self.caller,
            plans=self.plans,
            spelling=spelling,
            budget=self.budget,
            on_settled=lambda: self._finalize.ring(),
            tally=self.tally,
        )
        self.validator = Validator(
            db,
            self.blobs,
            clock,
            owner=self.owner,
            catalog=catalog,
            models_known=lambda: self.models.complete,
            plans=self.plans,
            limits=limits,
            on_accepted=self._accepted,
            unversioned=lambda dialect: DIALECTS[dialect].rules.unversioned,
            tally=self.tally,
        )
        self.finalizer = Finalizer(
            db,
            self.blobs,
            clock,
            owner=self.owner,
            spelling=spelling,
            limits=limits,
            on_ended=lambda: self._tidy.ring(),
            tally=self.tally,
        )
        self.warden = Warden(db, clock, self.models, on_stopped=self._stopped, on_moved=lambda: self._dispatch.ring())
        self.curator = Curator(db, clock, self.models, on_changed=self._catalog_changed)
        self.reaper = Reaper(db, self.blobs, clock, self.files, on_stopped=self._stopped)
        self.batches = Batches(
            db,
            clock,
            limits,
            on_created=lambda: self._validate.ring(),
            on_cancelled=self._stopped,
            on_paused=self._paused,
        )
        self.administration = Administration(
            db,
            clock,
            self.plans,
            on_changed=self._rights_changed,
            on_erasing=lambda: self._erase.ring(),
        )
        self.survey = Survey(db)
        self.lookout = Lookout(clock, catalog, self.gates, self.tally)
        self.eraser = Eraser(db, clock, self.batches, OPERATOR, on_hidden=lambda: self._tidy.ring())
        self._dispatch = Looper("dispatcher", self.dispatcher.once, FLUSH_S)
        self._validate = Looper("validator", self.validator.once, 2.0)
        self._finalize = Looper("finalizer", self.finalizer.once, 1.0)
        self._reap = Looper("reaper", self.reaper.once, 1.0)
        self._tidy = Looper("tidier", self._tidied, 30.0)
        self._write_usage = Looper("usage", self.usage.once, 0.5)
        self._look_at_balances = Looper("budget", self.budget.once, REFRESH_S)
        self._ask_models = Looper("discovery", self._discover, _DISCOVER_SOON_S)
        self._asked_at = -_DISCOVER_S
        self._erase = Looper("eraser", self.eraser.once, 1.0)
        self._note_uses = Looper("key uses", self.admission.uses.once, 5.0)
        self._watch = Looper("warden", self.warden.once, 0.5)
        self.outlook = Outlook(catalog, self.gates, self.dispatcher, clock)
        self.tuner = Tuner(catalog, self.gates, Gauges(self.servers.upstream, clock), clock, self.dispatcher.state)
        self._tune = Looper("tuner", self.tuner.once, TUNE_S)
        self.loops = [
            self._dispatch,
            self._validate,
            self._finalize,
            self._reap,
            self._watch,
            self._tidy,
            self._write_usage,
            self._erase,
            self._note_uses,
            self._look_at_balances,
            self._tune,
            self._ask_models,
            Looper("room", self.room.once, MEASURE_S),
            Looper("lookout", self.lookout.once, 1.0),
        ]
        self.dispatcher.bell(self._dispatch.ring)
        self.budget.bell(self._dispatch.ring)

    @classmethod
    async def open(cls, installation: Installation, clock: Clock | None = None) -> "Engine":
        """Opens the ledger, brings it up to date, and ends what an earlier process left leased.

        Raises Unavailable when the ledger cannot be opened, ValueError for a URL that is none.
        """
        clock = clock or SystemClock()
        db = await connect(installation.database, clock)
        engine: Engine | None = None
        try:
            engine = cls(installation, db, clock)
            engine._keep = installation.keep
            await engine._alone(installation.database)
            await db.migrate()
            await engine.reaper.void(engine.owner)
            async with db.read() as tx:
                engine.models.overlay(await shelf(tx))
        except BaseException:
            if engine is not None and engine._guard is not None:
                await engine._guard.close()
            await db.close()
            raise
        return engine

    async def _alone(self, database: str) -> None:
        """Takes the lock of a ledger that several processes can reach; raises Taken and Unavailable."""
        lock = exclusive_lock(database)
        if lock is None:
            return
        from hornada.engine.guard import EVERY_S, Guard

        await lock.check()
        self._guard = Guard(lock, self.dispatcher.brake, on_taken=self._end)
        self.loops.append(Looper("lock", self._guard.once, EVERY_S))

    def _end(self, why: str) -> None:
        self.taken = why
        if self.on_taken is not None:
            self.on_taken()

    def start(self) -> None:
        """Starts every loop."""
        self._tasks = [asyncio.create_task(loop.run(), name=loop.name) for loop in self.loops]

    async def stop(self, grace_s: float) -> None:
        """Drains what was not drained before, writes what is left, closes."""
        await self.drain(grace_s)
        with contextlib.suppress(HornadaError):
            while await self.usage.once():
                pass
        with contextlib.suppress(HornadaError):
            await self.admission.uses.once()
        await self.servers.close()
        if self._guard is not None:
            await self._guard.close()
        await self.db.close()

    async def drain(self, grace_s: float) -> None:
        """Ends every loop after the piece it is at, gives lines in flight a time of grace, commits.

        Control and regular calls are answered as before.
        """
        for loop in self.loops:
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
        now = self.clock.now()
        self.models.configure(installation.models, installation.aliases, installation.upstream, now)
        self._asked_at = -_DISCOVER_S
        self._rights_changed()
        self._catalog_changed()
        for loop in (self._ask_models, self._validate):
            loop.ring()
        await self.servers.retain(self.models.servers)

    @property
    def troubles(self) -> list[str]:
        """What keeps the loops from their work, in words for people."""
        return [loop.trouble for loop in self.loops if loop.trouble is not None] + [
            *self.dispatcher.brake.reasons,
            *self.room.reasons,
        ]

    async def _tidied(self) -> bool:
        with removing(self._keep) as may:
            if not may:
                return False
            more = await self.uploads.tidy()
            return await self.reaper.tidy() or more

    def _rights_changed(self) -> None:
        self.admission.forget()
        self._watch.ring()

    def _catalog_changed(self) -> None:
        self._watch.ring()
        self._dispatch.ring()

    def _paused(self, batch: Batch) -> None:
        if batch.paused:
            self.dispatcher.give_up(batch.id)
        self._dispatch.ring()

    def _accepted(self) -> None:
        self._dispatch.ring()
        self._finalize.ring()

    def _stopped(self, batch: str, reason: StopReason) -> None:
        self.dispatcher.stop_batch(batch, reason)
        self._dispatch.ring()
        self._finalize.ring()

    async def _discover(self) -> bool:
        """Asks model servers every 30 s, every second until each has answered once."""
        now = self.clock.monotonic()
        if self.models.complete and now - self._asked_at < _DISCOVER_S:
            return False
        self._asked_at = now
        await self.models.once()
        return False


def spelling(dialect: str) -> Spelling:
    """What the engine needs of a dialect."""
    return _SPELLINGS[dialect]


def _spelling(name: str) -> Spelling:
    dialect = DIALECTS[name]
    import msgspec

    from hornada.core.errors import Refusal

    def refused(refusal: Refusal, request_id: str) -> tuple[int, bytes]:
        spelled = dialect.error(refusal, request_id)
        return spelled.status, msgspec.json.encode(spelled.body)

    return Spelling(dialect.lines, refused)


_SPELLINGS = {name: _spelling(name) for name in DIALECTS}
