"""The loops: which there are, which of them a role runs, and what wakes each."""

from hornada.core.batch import StopReason
from hornada.engine.budget import REFRESH_S
from hornada.engine.flushing import FLUSH_S
from hornada.engine.looper import Looper
from hornada.engine.membership import Membership
from hornada.engine.news import Reaction, Topic
from hornada.engine.room import EVERY_S as MEASURE_S
from hornada.engine.tuner import EVERY_S as TUNE_S
from hornada.service.installation import Installation
from hornada.service.keeping import removing
from hornada.service.parts import Parts
from hornada.store.catalog import shelf

_DISCOVER_S = 30.0
_DISCOVER_SOON_S = 1.0
_QUIET_S = 5.0
"""How often a part looks that would be told of whatever it looks for."""


class Loops:
    """Those of this process's role in ``running``, which ``start`` of the engine runs.

    Safe to run in any number of processes, because each finds its work by asking the ledger: leases, ``SKIP LOCKED``
    and compare-and-set see to it that one does it. Only where doing it twice costs something is it left to the first of
    the workers alive (``_first``).
    """

    def __init__(self, parts: Parts, installation: Installation) -> None:
        self._parts = parts
        self._delivers = installation.webhooks.enabled
        self._keep = installation.keep
        self._leases_s = installation.lease_ttl_s / 6
        self._asked_at = -_DISCOVER_S
        self._dispatch = Looper("dispatcher", self._dispatched, FLUSH_S)
        self._validate = Looper("validator", parts.validator.once, 2.0)
        self._finalize = Looper("finalizer", parts.finalizer.once, 1.0)
        self._watch = Looper("warden", parts.warden.once, 0.5)
        self._tidy = Looper("tidier", self._tidied, 30.0)
        self._erase = Looper("eraser", self._erased, 1.0)
        self._deliver = Looper("courier", parts.courier.once, 1.0)
        self._ask_models = Looper("discovery", self._discover, _DISCOVER_SOON_S)
        self._follow = Looper("catalog", self._shelve, 1.0)
        self._spend = Looper("budget", parts.budget.once, REFRESH_S)
        self._reap = Looper("reaper", parts.reaper.once, 1.0)
        self.running = [
            *(self._api() if installation.role != "worker" else ()),
            *(self._worker() if installation.role != "api" else (self._follow,)),
            self._spend,
            Looper("tuner", parts.tuner.once, TUNE_S),
            self._ask_models,
            Looper("room", parts.room.once, MEASURE_S),
            Looper("lookout", parts.lookout.once, 1.0),
        ]
        self._listen()
        if isinstance(parts.membership, Membership):
            self._rest()

    def _rest(self) -> None:
        """A process that holds nothing asks less often: of what it is waiting for it is told.

        A thousand of them would otherwise keep the database busy with nothing. While any batch runs, and nobody tells
        when rights or credit end, those are looked at each second all the same.
        """
        for loop, busy_s, idle_s in (
            (self._dispatch, FLUSH_S, 3.0),
            (self._validate, 2.0, _QUIET_S),
            (self._finalize, 1.0, _QUIET_S),
            (self._reap, 1.0, _QUIET_S),
            (self._erase, _QUIET_S, _QUIET_S),
            (self._deliver, 1.0, _QUIET_S),
        ):
            loop.pause = lambda busy_s=busy_s, idle_s=idle_s: busy_s if self._parts.dispatcher.held else idle_s
        self._watch.pause = lambda: self._pace(quiet=self._parts.warden.quiet)
        self._spend.pause = lambda: self._pace(quiet=self._parts.budget.quiet, used=self._parts.budget.used)

    def _pace(self, *, quiet: bool, used: bool = False) -> float:
        if self._parts.dispatcher.held or used:
            return FLUSH_S
        return _QUIET_S if quiet else 1.0

    async def _dispatched(self) -> bool:
        """A tick; with the first chunks, what looks after them wakes."""
        held = self._parts.dispatcher.held
        more = await self._parts.dispatcher.once()
        if not held and self._parts.dispatcher.held:
            for loop in (self._watch, self._spend, self._reap):
                loop.ring()
        return more

    def _api(self) -> list[Looper]:
        """What answers calls."""
        parts = self._parts
        return [Looper("usage", parts.usage.once, 0.5), Looper("key uses", parts.admission.uses.once, 5.0)]

    def _worker(self) -> list[Looper]:
        """What runs batches, and cleans up behind everybody."""
        leases = Looper("leases", self._parts.reaper.end_lost, self._leases_s)
        return [
            self._dispatch,
            self._validate,
            self._finalize,
            self._reap,
            *([leases] if isinstance(self._parts.membership, Membership) else []),
            self._watch,
            self._tidy,
            self._erase,
            *([self._deliver] if self._delivers else []),
        ]

    def configured(self) -> None:
        """The configuration was changed: servers are asked for their models now, and what waits for one is tried."""
        self._asked_at = -_DISCOVER_S
        self._ask_models.ring()
        self._validate.ring()

    def _listen(self) -> None:
        """Who reacts to what."""
        parts, on = self._parts, self._parts.news.on
        on(Topic.CREATED, self._validate.ring)
        on(Topic.READY, self._dispatch.ring, self._attend)
        on(Topic.STOPPED, self._stop, _deaf(self._dispatch), _deaf(self._finalize))
        on(Topic.PAUSED, parts.dispatcher.give_up, _deaf(self._dispatch))
        on(Topic.DRAINED, self._finalize.ring)
        on(Topic.ENDED, self._tidy.ring)
        on(Topic.RIGHTS, parts.admission.forget, self._watch.ring)
        on(Topic.CATALOG, self._watch.ring, self._follow.ring)
        on(Topic.ERASING, self._erase.ring)
        on(Topic.EVENTS, self._deliver.ring)
        parts.models.on_overlay = self._set
        parts.courier.bell(self._deliver.ring)
        parts.dispatcher.bell(self._dispatch.ring)
        if parts.sharing is not None:
            parts.sharing.on_room = self._dispatch.ring
        parts.budget.bell(self._dispatch.ring)
        parts.budget.on_used = self._spend.ring

    def _attend(self) -> None:
        """Lines are to run: whoever looks after those of all processes begins now, and others when they hold some."""
        if self._first:
            self._watch.ring()
            self._spend.ring()

    def _set(self) -> None:
        """What operators have set of models is known here from now on, and holds from now on."""
        for model in self._parts.models.catalog().paused:
            self._parts.dispatcher.let_go(model)
        self._dispatch.ring()

    def _stop(self, batch: str, reason: str) -> None:
        self._parts.dispatcher.stop_batch(batch, StopReason(reason))

    async def _erased(self) -> bool:
        return self._first and await self._parts.eraser.once()

    async def _shelve(self) -> bool:
        """Takes over what operators have set, where no warden does."""
        async with self._parts.db.read() as tx:
            self._parts.models.overlay(await shelf(tx))
        return False

    @property
    def _first(self) -> bool:
        return self._parts.membership.first

    async def _tidied(self) -> bool:
        if not self._first:
            return False
        with removing(self._keep) as may:
            if not may:
                return False
            more = await self._parts.uploads.tidy()
            return await self._parts.reaper.tidy() or more

    async def _discover(self) -> bool:
        """Asks model servers every 30 s, every second until each has answered once."""
        now = self._parts.clock.monotonic()
        if self._parts.models.complete and now - self._asked_at < _DISCOVER_S:
            return False
        self._asked_at = now
        await self._parts.models.once()
        return False


def _deaf(looper: Looper) -> Reaction:
    """Rings, whatever the words are."""
    return lambda *_: looper.ring()
