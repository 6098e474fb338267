"""Claims chunks, has their lines sent, and makes their results durable: one transaction a tick however many lines."""

import asyncio
import logging
from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from hornada.blobs.protocol import Blobs
from hornada.core.account import Plan
from hornada.core.batch import Status, StopReason
from hornada.core.catalog import Catalog, Model
from hornada.core.chunk import CHUNK_BYTES, CHUNK_LINES
from hornada.core.clock import Clock
from hornada.core.errors import HornadaError, Unavailable
from hornada.core.line import Spelling
from hornada.engine import crashpoint
from hornada.engine.brake import Brake
from hornada.engine.budget import Budget
from hornada.engine.capacity import Gates
from hornada.engine.fairness import choose
from hornada.engine.flushing import FLUSH_S, FOLDER, Rhythm
from hornada.engine.held import Backlog, Held, Take
from hornada.engine.holdings import HELD_BYTES, Holdings
from hornada.engine.lanes import Attempt, Lanes
from hornada.engine.losses import Losses
from hornada.engine.plans import DEFAULT_PLAN
from hornada.engine.reading import adjoining, breathe, read_chunks
from hornada.engine.recorder import Recorder
from hornada.engine.strays import Strays
from hornada.engine.tally import Tally
from hornada.engine.turns import Turns
from hornada.store import batch as batches
from hornada.store import chunk as chunks
from hornada.store.chunk import Source, Work
from hornada.store.database import Database

log = logging.getLogger("hornada")

UNSAVED_BYTES = 64 * 1024 * 1024
"""Results that may wait to become durable; at the bound no line is started."""
EXPIRY_GRACE_S = 60.0
"""Lines in flight when their batch expires get this long."""


class Dispatcher:
    """The worker. ``once`` is its tick; ``stop`` and ``ring`` make it act sooner; ``rhythm``: how often it commits."""

    def __init__(
        self,
        db: Database,
        blobs: Blobs,
        clock: Clock,
        *,
        owner: Callable[[], str],
        catalog: Callable[[], Catalog],
        gates: Gates,
        attempt: Attempt,
        plans: Mapping[str, Plan],
        spelling: Callable[[str], Spelling],
        budget: Budget,
        on_settled: Callable[[], None],
        tally: Tally | None = None,
        rhythm: Rhythm = FOLDER,
        losses: Losses | None = None,
    ) -> None:
        self._tally = tally or Tally(clock)
        self.brake = Brake()
        self._hurried = self._closing = self._asked = False
        self._db = db
        self._blobs = blobs
        self._clock = clock
        self._owner = owner
        self._catalog = catalog
        self._gates = gates
        self._attempt = attempt
        self._plans = plans
        self._spelling = spelling
        self._budget = budget
        self._held = Holdings()
        budget.source(self._held.unbooked)
        self._on_settled = on_settled
        self._rhythm = rhythm
        known = losses or Losses(db, blobs, clock)
        self._strays = Strays(db, clock, known, owner=owner, on_settled=on_settled)
        self._lanes: dict[str, Lanes] = {}
        self._recorder = Recorder(db, blobs, clock, budget)
        self._backlog = Backlog()
        self._turns = Turns(db, owner)
        self._flushed_at = 0.0
        self._bell: Callable[[], None] = lambda: None

    def bell(self, ring: Callable[[], None]) -> None:
        """How the dispatcher calls for its own next tick."""
        self._bell = self.brake.on_released = ring

    @property
    def held(self) -> int:
        """Chunks held now."""
        return len(self._held)

    @property
    def resting(self) -> bool:
        """Whether no line starts here for now, or any more."""
        return self.brake.on or self._closing

    @property
    def unsaved_bytes(self) -> int:
        """Bytes of results that are not yet durable."""
        return self._backlog.bytes

    def state(self, model: str) -> tuple[int, bool]:
        """Lines of a model that are held and wait, and whether the model is away."""
        lanes = self._lanes.get(model)
        return (lanes.waiting, lanes.health.away) if lanes is not None else (0, False)

    def away_s(self, model: str) -> float | None:
        """For how many seconds a model has been away; None when it is not, for all that is known here."""
        lanes = self._lanes.get(model)
        return lanes.health.away_s if lanes is not None else None

    def runs(self, batch: str) -> bool:
        """Whether model servers are answering lines of a batch now."""
        return any(held.in_flight for held in self._held.of(batch))

    @property
    def in_flight(self) -> int:
        """Lines that model servers are answering."""
        return self._held.in_flight

    @property
    def away(self) -> dict[str, str]:
        """The models that are away, and why."""
        return {name: lanes.health.reason for name, lanes in self._lanes.items() if lanes.health.away}

    def stop_batch(self, batch: str, reason: StopReason) -> None:
        """Starts no line of a batch any more (it was cancelled, say); lines in flight go on."""
        for held in self._held.of(batch):
            self._lanes[held.work.chunk.model].stop(held, reason)

    async def once(self) -> bool:
        """One tick: commit results, look at the batches held, claim. True if there is more to do at once."""
        with self.brake.unless_soon("tick"):
            return await self._tick()

    async def _tick(self) -> bool:
        self._abort_late()
        if self._flush_due():
            await self._flush_or_brake()
        if self._budget.gone:
            await self._budget.once()
        await self._look()
        if self.brake.looked():
            self._pump()
        return not self._closing and await self._claim() > 0

    async def close(self, grace_s: float) -> None:
        """Ends gracefully: nothing starts, lines in flight get ``grace_s`` seconds, then all is committed or let go."""
        self._closing = True
        for lanes in self._lanes.values():
            lanes.close()
        deadline = self._clock.monotonic() + grace_s
        while self.in_flight and not self._hurried and self._clock.monotonic() < deadline:  # noqa: ASYNC110 - once
            await asyncio.sleep(0.02)
        tasks = [task for held in self._held.values() for task in held.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._save_all(deadline)
        async with self._db.write() as tx:
            for _, held in sorted(self._held.items()):  # in the same order in every process
                await chunks.hand_back(tx, held.work.chunk)
        self._held.clear()

    async def _save_all(self, deadline: float) -> None:
        """Commits what there is, again and again until ``deadline`` if storage does not take it; says what is lost."""
        while True:
            try:
                await self._flush()
            except Unavailable as error:
                if self._hurried or self._clock.monotonic() >= deadline:
                    lost = self._backlog.bytes
                    log.error("results of %d bytes could not be kept, their lines run again: %s", lost, error)  # noqa: TRY400
                    raise
                await asyncio.sleep(0.1)
            else:
                return

    def forfeit(self) -> None:
        """Ends the calls of all that is held here: it is somebody else's by now, and results would not count."""
        for key, held in list(self._held.items()):
            self._drop(key, held)

    def hurry(self) -> None:
        """Ends the time of grace."""
        self._hurried = True

    # ---------------------------------------------------------------- results

    def _flush_due(self) -> bool:
        """It is time, nothing else of a batch is under way, much is waiting, or a balance is used up."""
        if not self._held:
            return self.brake.on
        elapsed = self._clock.monotonic() - self._flushed_at
        due = elapsed >= self._rhythm.every_s or self._backlog.bytes > self._rhythm.bytes
        return due or self._budget.gone or self._held.idle or (elapsed >= FLUSH_S and self._held.rests)

    async def _flush_or_brake(self) -> None:
        """Starts no line while results find no room: they would run again after a crash."""
        with self.brake.unless_stored("results"):
            await self._flush()

    async def _flush(self) -> None:
        """Makes all new results durable and commits them."""
        takes: list[tuple[Held, Take]] = []
        for held in list(self._held.values()):
            if held.unsaved and (take := held.take()):
                takes.append((held, take))
                await breathe(len(takes))
        self._flushed_at = self._clock.monotonic()
        self._asked = False
        if not takes:
            return
        fenced = await self._recorder.record([(held.work.source, take) for held, take in takes])
        settled = False
        for held, take in takes:
            key = (take.chunk.batch, take.chunk.idx)
            if key in fenced:
                log.warning("chunk %d of batch_%s is held by another process now; its calls are ended", key[1], key[0])
                self._drop(key, held)
                continue
            held.saved()
            if take.settled:
                settled = True
                del self._held[key]
        if settled:
            self._on_settled()
        self._pump()

    def _pump(self) -> None:
        for lanes in self._lanes.values():
            lanes.pump()

    # ---------------------------------------------------------------- batches held

    async def _look(self) -> None:
        """Stops what its batch no longer wants run: the fallback for a call of ``stop_batch`` that never came."""
        ids = {batch for batch, _ in self._held}
        if not ids:
            return
        async with self._db.read() as tx:
            standing = await batches.standing(tx, ids)
        for batch in ids:
            stands = standing.get(batch)
            if stands is None or stands.status is not Status.IN_PROGRESS or stands.stop is not None:
                self.stop_batch(batch, (stands and stands.stop) or StopReason.INTERNAL)
            elif stands.paused or stands.model in self._catalog().paused:
                self.give_up(batch)
            else:
                self.give_up(batch, stands.model)

    def give_up(self, batch: str, keep: str | None = None) -> None:
        """Starts no line of a batch's chunks here, but for those of the model ``keep``; they are handed back.

        Another model runs the batch from now on, or it is paused: whoever claims the chunks next goes on with them.
        """
        for held in self._held.of(batch):
            if held.work.chunk.model != keep:
                self._lanes[held.work.chunk.model].stop(held, StopReason.MODEL_GONE)

    def let_go(self, model: str) -> None:
        """Starts no line of a model's chunks here: they are handed back, for processes that have slots of it."""
        for held in [held for held in self._held.values() if held.work.chunk.model == model]:
            self._lanes[model].stop(held, StopReason.MODEL_GONE)

    def _abort_late(self) -> None:
        """Ends calls of expired batches whose time of grace has passed."""
        now = self._clock.monotonic()
        for held in list(self._held.values()):
            if held.stop is StopReason.EXPIRED and held.in_flight:
                held.abort_at = held.abort_at or now + EXPIRY_GRACE_S
                if now >= held.abort_at:
                    self._lanes[held.work.chunk.model].abort(held)

    def _drop(self, key: tuple[str, int], held: Held) -> None:
        self._held.pop(key, None)
        held.forget()
        self._lanes[held.work.chunk.model].drop(held)

    # ---------------------------------------------------------------- claims

    async def _claim(self) -> int:
        """Claims for every model that has slots for lines; the number of chunks."""
        if self._strays.any:
            await self._strays.recall(self._held)
        catalog = self._catalog()
        running = (model for name, model in catalog.models.items() if name not in catalog.paused)
        open_models = [model for model in running if not self._gates.of(model).closed]
        if self.brake.on or not open_models or self._held.room <= 0:
            return 0
        async with self._db.read() as tx:
            ready = await chunks.ready_models(tx)
        claimed = 0
        for model in open_models:
            if model.name in ready and self._gates.of(model).want():
                claimed += await self._claim_for(model)
        self._asked = self._asked and not claimed
        return claimed

    async def _claim_for(self, model: Model) -> int:
        lanes = self._lanes_of(model)
        wanted, in_hand = lanes.wanted(), self._held.waiting(model.name)
        waiting = sum(sum(hand.values()) for hand in in_hand.values())
        sources = [self._weighed(source) for source in await self._turns.sources(model.name, enough=waiting >= wanted)]
        lanes.meet(sources)
        chosen = choose(sources, in_hand, wanted, lanes.time) if wanted else []
        if not chosen:
            return 0
        self._strays.any = True
        claimed = await self._lease(model.name, chosen)
        crashpoint.reach("claim_committed")
        readable = [await self._try_to_hold(group) for group in adjoining(claimed)]
        self._strays.any = not all(readable)
        if self._strays.any:
            await self._strays.recall(self._held)
        return len(claimed)

    def _weighed(self, source: Source) -> Source:
        """The configuration's plans stand for their names before the database's."""
        plan = self._plans.get(source.plan or DEFAULT_PLAN)
        return replace(source, weight=plan.weight) if plan is not None else source

    async def _lease(self, model: str, chosen: list[tuple[Source, int]]) -> list[Work]:
        """Leases what was chosen, the most urgent first, within the memory bound."""
        claimed: list[Work] = []
        room = self._held.room
        async with self._db.write() as tx:
            for source, lines in chosen:
                if room <= 0:
                    break
                most = min(lines, CHUNK_LINES * max(1, room // CHUNK_BYTES)) if room < HELD_BYTES // 2 else lines
                taken = await chunks.claim(tx, source, model, self._owner(), most)
                room -= sum(work.chunk.span.length for work in taken)
                claimed += taken
        return claimed

    async def _try_to_hold(self, group: list[Work]) -> bool:
        """False if the input of one of these chunks could not be read, so that they are to be recalled."""
        try:
            await self._hold(group)
        except (HornadaError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            if len(group) > 1 and not isinstance(error, Unavailable):  # one of them may have spoiled it for all
                left = [work for work in group if (work.chunk.batch, work.chunk.idx) not in self._held]
                return all([await self._try_to_hold([work]) for work in left])
            await self._strays.add(group[0], error)
            return False
        self._strays.read(group[0])
        return True

    async def _hold(self, group: list[Work]) -> None:
        """Reads the lines of chunks that lie side by side and gives them to the lanes."""
        lanes = self._lanes[group[0].chunk.model]
        purse = await self._budget.purse(group[0].chunk.org)
        spelling = self._spelling(group[0].source.dialect)
        async for work, requests in read_chunks(self._blobs, group):
            held = Held(work, requests, spelling, self._backlog, purse)
            self._held[work.chunk.batch, work.chunk.idx] = held
            lanes.add(held)
            lanes.pump()

    def _lanes_of(self, model: Model) -> Lanes:
        lanes = self._lanes.get(model.name)
        if lanes is None:
            lanes = self._lanes[model.name] = Lanes(
                self._gates.of(model),
                self._attempt,
                self._clock,
                on_low=self._ask,
                on_settled=self._nudge,
                may_start=lambda: self._backlog.bytes < UNSAVED_BYTES and not self.brake.on,
                tally=self._tally,
            )
        return lanes

    def _ask(self) -> None:
        """Lines run low: tick, but ask only once between two flushes if the ledger has no more."""
        if not self._asked:
            self._asked = True
            self._bell()

    def _nudge(self) -> None:
        """A chunk ended: tick at once if nothing else is under way, else with the next flush."""
        if self._held.idle:
            self._bell()
