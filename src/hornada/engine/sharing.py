"""Keeps what a process knows of the others that use its models: slots are granted, loads published, capacity learned.

Twice a second, and at once when lines find no slot, one transaction writes what this process does and reads what the
others do. It holds the rows of ``capacity`` while it takes slots, so that all grants of a model never sum to more than
there is room for, whoever joins, sleeps or dies. A process in which nothing happens writes nothing.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import partial

from hornada.core.catalog import Catalog, Model
from hornada.core.clock import SECOND, Clock
from hornada.engine.capacity import ALONE, Gate, Gates, Others
from hornada.engine.grants import Grant, Held, Want, grant
from hornada.engine.ground import here, surely_ended
from hornada.store import grant as grants
from hornada.store import load as loads
from hornada.store.database import Database, Tx
from hornada.store.grant import WELL, Ailing, Capacity, Renewal, SlotGrant
from hornada.store.load import Load, Notice

EVERY_S = 0.5
TTL_S = 15.0
"""How long a process counts as alive after it was last heard of."""
_USED = 0.9
"""For this part of it a worker uses its slots, by its own clock."""
_A_WORKER_S = 0.008
"""How much longer the pause between two renewals is for each worker on a model: they go one after another."""
_RECENT_S = 60.0
_STARVED_S = 5.0
"""After so long without a slot that others have, chunks are handed back."""
_SWEEP_S = 60.0


class _Stand:
    """How this process stands to one model."""

    __slots__ = (
        "busy",
        "calls",
        "demand",
        "gate",
        "hungry",
        "late",
        "late_at",
        "model",
        "more",
        "notice",
        "others",
        "refused",
        "refused_at",
        "slots",
    )

    def __init__(self, model: Model, gate: Gate) -> None:
        self.model = model
        self.gate = gate
        self.slots = 0
        self.demand = 0
        self.more = False
        self.busy = False
        self.calls = 0
        self.notice: Notice | None = None
        self.others: Sequence[SlotGrant] = ()
        self.refused = self.late = False
        self.refused_at = self.late_at = 0
        self.hungry: float | None = None

    @property
    def wants(self) -> bool:
        """Whether this process has lines of the model, or could have some."""
        return self.demand > 0 or self.more

    def want(self, worker: str) -> Want:
        """The same, for arithmetic."""
        return Want(worker=worker, demand=self.demand, more=self.more)


class Sharing:
    """``state``: how many lines of a model wait here, and whether it is away. ``calls_s``: how long a call may take.

    ``ailing``: what is known here to be amiss with a model.

    ``lines``: whether this process runs lines. ``resting``: whether no line starts here for now. ``on_starved``:
    there are lines of a model here that get no slot.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        gates: Gates,
        catalog: Callable[[], Catalog],
        state: Callable[[str], tuple[int, bool]],
        *,
        process: str,
        calls_s: Callable[[], float],
        lines: bool = True,
        resting: Callable[[], bool] = lambda: False,
        on_starved: Callable[[str], None] = lambda _: None,
        ailing: Callable[[str], Ailing] = lambda _: WELL,
        ttl_s: float = TTL_S,
        ground: str | None = None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._gates = gates
        self._catalog = catalog
        self._state = state
        self._process = process
        self._calls_s = calls_s
        self._lines = lines
        self._resting = resting
        self.on_room: Callable[[], None] = lambda: None
        """Whom to tell that slots were granted where there were none."""
        self._on_starved = on_starved
        self._ailing = ailing
        self._turn = asyncio.Lock()
        self._ttl_s = ttl_s
        self._ground = here() if ground is None else ground
        self._bell: Callable[[], None] = lambda: None
        self._stands: dict[str, _Stand] = {}
        self._urgent = False
        self._due = self._sweep_at = float("-inf")
        gates.on_made(self._prepare)

    def bell(self, ring: Callable[[], None]) -> None:
        """How to call for the next turn at once."""
        self._bell = ring

    async def once(self) -> bool:
        """One turn; never more to do at once."""
        async with self._turn:
            await self._once()
        return False

    async def catch_up(self, models: Collection[Model]) -> None:
        """Hears of others what they do to these models, unless that is heard of already. Raises Unavailable."""
        fresh = [gate for gate in map(self._gates.of, models) if not gate.watched]
        for gate in map(self._gates.of, models):
            gate.look()
        if fresh:
            self._urgent = True
            await self.once()

    async def _once(self) -> None:
        now = self._clock.monotonic()
        if now < self._due and not self._urgent:
            return
        self._urgent, self._due = False, now + EVERY_S
        stands = self._look()
        if stands:
            await self._exchange(stands, now)

    async def close(self) -> None:
        """Says goodbye: nothing that this process started is under way any more."""
        async with self._db.write() as tx:
            await grants.leave(tx, self._process)
            await loads.leave(tx, self._process)

    def demand(self, model: str) -> int:
        """Lines of a model that this process has in flight or waiting, as last published."""
        stand = self._stands.get(model)
        return stand.demand if stand is not None else 0

    def _prepare(self, gate: Gate) -> None:
        gate.leads = False
        gate.on_want = partial(self._want, gate.name) if self._lines else None
        gate.grant(0, float("inf"))

    def _want(self, model: str) -> None:
        """There are lines and no slot for them; what everybody knows already is not said again before its time."""
        stand = self._stands.get(model)
        if stand is None or not stand.wants:
            self._urgent = True
            self._bell()

    # ---------------------------------------------------------------- what happens here

    def _look(self) -> list[_Stand]:
        """The models that there is something to say of, by name: all processes lock their rows in this order."""
        for model in self._catalog().models.values():
            stand = self._stands.get(model.name)
            if stand is None:
                self._stands[model.name] = _Stand(model, self._gates.of(model))
            else:
                stand.model = model
        for stand in self._stands.values():
            self._see(stand)
        return [stand for _, stand in sorted(self._stands.items()) if stand.busy]

    def _see(self, stand: _Stand) -> None:
        gate = stand.gate
        waiting, away = self._state(stand.model.name) if self._lines else (0, False)
        if self._resting():
            waiting, stand.more = 0, False
        else:
            stand.more = self._lines and gate.wanted and not away
        stand.demand = gate.lines + (min(1, waiting) if away else waiting)
        was_busy = stand.busy
        loud = (stand.notice is not None and not stand.notice.quiet) or gate.harm.reserve or gate.harm.pausing
        stand.busy = bool(stand.wants or stand.slots or gate.regular or gate.recent or loud or gate.watched)
        if was_busy and not stand.busy:
            gate.hear(ALONE, leads=False)

    # ---------------------------------------------------------------- one transaction

    async def _exchange(self, stands: Sequence[_Stand], began: float) -> None:
        for stand in stands:
            gate = stand.gate
            stand.refused, stand.late = stand.refused or gate.refused, stand.late or gate.late
            gate.refused = gate.late = False
        sharing = [stand for stand in stands if stand.wants or stand.slots]
        async with self._db.write(durable=False) as tx:
            notices = await self._publish(tx, stands, sharing)
            calls = await self._calls(tx, stands)
            capacities = await self._capacities(tx, stands, sharing)  # one process at a time from here
            await self._hear(tx, stands, sharing)
            for stand in stands:
                await self._learn(tx, stand, calls.get(stand.model.name, []), capacities.get(stand.model.name))
            done = [(stand, self._share(stand)) for stand in sharing]
            await self._renew(tx, done)
        for stand, notice in notices:
            stand.notice, stand.calls = notice, notice.calls
        for stand in stands:
            stand.refused = stand.late = False
        self._take(done, began)
        await self._sweep()

    async def _capacities(self, tx: Tx, stands: Sequence[_Stand], sharing: Sequence[_Stand]) -> dict[str, Capacity]:
        names, wanted = {stand.model.name for stand in stands}, {stand.model.name for stand in sharing}
        found: dict[str, Capacity] = {}
        if wanted:
            found = await grants.lock(tx, wanted, [(each.model.name, each.gate.capacity) for each in sharing])
        if rest := names - wanted:
            found |= await grants.known(tx, rest)
        return found

    async def _publish(
        self, tx: Tx, stands: Sequence[_Stand], sharing: Sequence[_Stand]
    ) -> list[tuple[_Stand, Notice]]:
        notices = [(stand, notice) for stand in stands if (notice := _notice(stand, told=stand in sharing))]
        if notices:
            await loads.publish(tx, self._process, [notice for _, notice in notices])
        return notices

    async def _calls(self, tx: Tx, stands: Sequence[_Stand]) -> dict[str, list[Load]]:
        """What the other processes say of their regular calls to these models."""
        names = [stand.model.name for stand in stands]
        ttl, recent = round(self._ttl_s * SECOND), round(_RECENT_S * SECOND)
        calls = defaultdict[str, list[Load]](list)
        for said in await loads.of_models(tx, names, ttl=ttl, recent=recent):
            if said.process != self._process:
                calls[said.model].append(said)
        return calls

    async def _hear(self, tx: Tx, stands: Sequence[_Stand], sharing: Sequence[_Stand]) -> None:
        """What the others hold of these models; slots that silent ones surely do not use are freed."""
        granted = defaultdict[str, list[SlotGrant]](list)
        for held in await grants.of_models(tx, [stand.model.name for stand in stands]):
            if surely_ended(held.ground):
                await grants.give_back(tx, held.worker, [held.model])
            elif held.worker != self._process:
                granted[held.model].append(held)
        for stand in stands:
            stand.others = granted[stand.model.name]
            stand.gate.remains.hear(stand.others)
        for stand in sharing:
            await self._trim(tx, stand)

    async def _trim(self, tx: Tx, stand: _Stand) -> None:
        before, stand.others = stand.others, stand.gate.remains.trimmed(stand.others)
        for old, new in zip(before, stand.others, strict=True):
            if new.slots < old.slots:
                await grants.cut(tx, new.model, new.worker, new.slots)

    async def _learn(self, tx: Tx, stand: _Stand, calls: Sequence[Load], known: Capacity | None) -> None:
        """One of the workers that have lines leads, that of the lowest id: it hears all signals, and learns."""
        gate = stand.gate
        rivals = [each for each in stand.others if each.live and (each.demand or each.more)]
        leads = stand.wants and all(self._process < each.worker for each in rivals)
        took_over = leads and not gate.leads
        heard = _others(stand.others, calls)
        if known is not None and (not leads or (took_over and (gate.auto or rivals))):
            gate.hear(heard, leads=leads, capacity=known.slots, reason=known.reason)
        else:
            gate.hear(heard, leads=leads)
        signals: list[SlotGrant | Load] = [*stand.others, *calls]
        refused_at = max((each.refused_at for each in signals), default=0)
        late_at = max((each.late_at for each in signals), default=0)
        if leads and not took_over:
            gate.heed(refused=refused_at > stand.refused_at, late=late_at > stand.late_at)
        stand.refused_at, stand.late_at = refused_at, late_at
        found = Capacity(gate.capacity, gate.reason)
        if leads and found != known:
            await grants.learn(tx, stand.model.name, found)

    def _share(self, stand: _Stand) -> Grant:
        """What this process may use from now on; less than before holds at once, more once that is written."""
        gate = stand.gate
        wants = [Want(worker=each.worker, demand=each.demand, more=each.more) for each in stand.others if each.live]
        held = [Held(each.slots, each.live) for each in stand.others]
        given = grant(gate.room, stand.want(self._process), gate.lines, wants, held)
        if given.use < (gate.granted or 0):
            gate.shrink(given.use)
        return given

    async def _renew(self, tx: Tx, done: Sequence[tuple[_Stand, Grant]]) -> None:
        kept = [(stand, given) for stand, given in done if stand.wants or given.slots]
        if kept:
            renewals = [self._renewal(stand, given) for stand, given in kept]
            ttl, calls = round(self._ttl_s * SECOND), round(self._calls_s() * SECOND)
            await grants.renew(tx, self._process, renewals, ttl=ttl, calls=calls, ground=self._ground)
        done_with = [stand.model.name for stand, given in done if not (stand.wants or given.slots)]
        await grants.give_back(tx, self._process, done_with)
        if any(given.slots > stand.slots for stand, given in kept):
            await grants.outlast(tx)

    def _renewal(self, stand: _Stand, given: Grant) -> Renewal:
        return Renewal(
            model=stand.model.name,
            slots=given.slots,
            in_use=stand.gate.lines,
            demand=stand.demand,
            more=stand.more,
            refused=stand.refused,
            late=stand.late,
            ailing=self._ailing(stand.model.name),
        )

    async def _sweep(self) -> None:
        now = self._clock.monotonic()
        if now >= self._sweep_at:
            self._sweep_at = now + _SWEEP_S
            async with self._db.write(durable=False) as tx:
                await grants.sweep(tx)
                await loads.sweep(tx, round(2 * _RECENT_S * SECOND))

    # ---------------------------------------------------------------- after it

    def _take(self, done: Sequence[tuple[_Stand, Grant]], began: float) -> None:
        """The grants are written: they hold, counted from before the database was asked."""
        until, room, workers = began + _USED * self._ttl_s, False, 1
        for stand, given in done:
            room = room or (given.use > 0 and not stand.gate.granted)
            stand.slots = given.slots
            stand.gate.grant(given.use, until)
            workers = max(workers, 1 + sum(each.live for each in stand.others))
            self._feed(stand, given)
        self._due = began + min(max(EVERY_S, _A_WORKER_S * workers), self._ttl_s / 4)
        if room:
            self.on_room()

    def _feed(self, stand: _Stand, given: Grant) -> None:
        """Lines that wait where there is no slot would wait for ever if others always have more to do."""
        now = self._clock.monotonic()
        if given.slots or not stand.demand or not any(each.live and each.slots for each in stand.others):
            stand.hungry = None
        elif stand.hungry is None:
            stand.hungry = now
        elif now - stand.hungry >= _STARVED_S:
            stand.hungry = None
            self._on_starved(stand.model.name)


def _notice(stand: _Stand, *, told: bool) -> Notice | None:
    """What is to be said of regular calls; None when there were none since. ``told``: the grant says what is seen."""
    gate, before = stand.gate, stand.notice
    notice = Notice(
        model=stand.model.name,
        in_flight=gate.regular,
        reserve=gate.harm.reserve,
        pausing=gate.harm.pausing,
        refused=stand.refused and not told,
        late=stand.late and not told,
        calls=gate.calls,
    )
    ends = before is not None and not before.quiet
    return notice if ends or not notice.quiet or gate.calls != stand.calls else None


def _others(granted: Sequence[SlotGrant], calls: Sequence[Load]) -> Others:
    return Others(
        lines=sum(each.in_use for each in granted),
        regular=sum(each.in_flight for each in calls if each.live),
        waiting=any(each.live and (each.more or each.demand > each.in_use) for each in granted),
        recent=bool(calls),
        reserve=max((each.reserve for each in calls if each.live), default=0),
        pausing=any(each.pausing and each.live for each in calls),
    )
