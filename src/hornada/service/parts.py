"""Every part of the engine, joined to the others; none of them runs yet."""

import socket
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from hornada.blobs import open_blobs
from hornada.core.batch import Batch, StopReason
from hornada.core.catalog import Model
from hornada.core.clock import Clock
from hornada.core.errors import HornadaError
from hornada.core.ids import new_id
from hornada.dialects import DIALECTS
from hornada.engine.administration import Administration
from hornada.engine.admission import OPERATOR, Admission
from hornada.engine.batches import Batches
from hornada.engine.billing import Billing
from hornada.engine.budget import Budget
from hornada.engine.caller import Caller
from hornada.engine.capacity import Gates
from hornada.engine.checkup import Checkups
from hornada.engine.courier import Courier
from hornada.engine.curator import Curator
from hornada.engine.dispatcher import Dispatcher
from hornada.engine.eraser import Eraser
from hornada.engine.examiners import Examiners
from hornada.engine.files import Files
from hornada.engine.finalizer import Finalizer
from hornada.engine.flushing import BUCKET, FOLDER
from hornada.engine.gateway import Gateway
from hornada.engine.gauge import Gauges
from hornada.engine.joining import Joining
from hornada.engine.lookout import Lookout
from hornada.engine.losses import Losses
from hornada.engine.membership import Alone, Membership
from hornada.engine.meter import Meter
from hornada.engine.models import Models
from hornada.engine.news import News, Topic
from hornada.engine.outbox import Outbox
from hornada.engine.outlook import Outlook
from hornada.engine.pace import Pace
from hornada.engine.reaper import Reaper
from hornada.engine.retrying import Retrying
from hornada.engine.room import Room
from hornada.engine.rota import Rota
from hornada.engine.servers import Servers
from hornada.engine.survey import Survey
from hornada.engine.tally import Tally
from hornada.engine.tuner import Tuner
from hornada.engine.uploads import Uploads
from hornada.engine.usage import UsageLog
from hornada.engine.validator import Validator
from hornada.engine.warden import Warden
from hornada.engine.watching import Watching
from hornada.engine.webhooks import Webhooks
from hornada.service.installation import Installation, spelling
from hornada.store.database import Database
from hornada.upstream import connect as connect_upstream
from hornada.upstream.postman import Postman

if TYPE_CHECKING:
    from hornada.engine.shared_meter import SharedMeter
    from hornada.engine.sharing import Sharing


class Parts:
    """The same in every role: what a process does not need has no loop there and is never called."""

    def __init__(self, installation: Installation, db: Database, clock: Clock) -> None:
        self.db = db
        self.clock = clock
        self.news = News()
        self.plans = dict(installation.plans)
        self._role = installation.role
        self.blobs = open_blobs(installation.blobs)
        self.examiners = Examiners()
        self._shared(installation)
        self._control(installation)
        self._regular(installation)
        self._notices(installation)
        self._batch(installation)
        self.sharing = self._share(installation) if installation.shared else None
        self.membership = self._member(installation) if installation.shared else Alone(installation.role)

    @property
    def owner(self) -> str:
        """The name under which this process holds chunks and stages at the moment."""
        return self.membership.owner

    def _member(self, installation: Installation) -> Membership:
        return Membership(
            self.db,
            self.clock,
            role=installation.role,
            host=socket.gethostname(),
            ttl_s=installation.lease_ttl_s,
            brake=self.dispatcher.brake,
            on_lost=self.dispatcher.forfeit,
        )

    def _rota(self) -> Rota:
        """For what one worker must do for all, twice a second; who runs no batches does it hardly ever."""
        every_s = 0.5 if self._role != "api" else 15.0
        return Rota(self.clock, every_s, lambda: self.membership.first, lambda: self.membership.workers)

    def _shared(self, installation: Installation) -> None:
        """What regular calls and lines have in common: models, servers, capacity, money."""
        db, clock = self.db, self.clock
        self.tracing = tracing = installation.tracing
        self.servers = Servers(tracing.connecting(connect_upstream) if tracing else connect_upstream)
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
        self.budget = Budget(db, clock, on_stopped=self._stopped, rota=self._rota())
        self.usage = UsageLog(db, clock, self.budget)
        self.room = Room(installation.folders, installation.limits, lambda: self.dispatcher.brake)
        self.lookout = Lookout(clock, self.models.catalog, self.gates, self.tally)

    def _share(self, installation: Installation) -> "Sharing":
        """What the processes that share a ledger tell each other of models."""
        from hornada.engine.sharing import Sharing

        return Sharing(
            self.db,
            self.clock,
            self.gates,
            self.models.catalog,
            self.dispatcher.state,
            process=new_id(),
            calls_s=lambda: self.caller.longest_s,
            lines=installation.role != "api",
            resting=lambda: self.dispatcher.resting,
            on_starved=self.dispatcher.let_go,
            ailing=self.outlook.seen,
            ttl_s=installation.lease_ttl_s,
        )

    def _metering(self, *, shared: bool) -> "Meter | SharedMeter":
        if not shared:
            return Meter(self.clock)
        from hornada.engine.shared_meter import SharedMeter

        return SharedMeter(self.db, self.clock)

    def _control(self, installation: Installation) -> None:
        """What control calls and operators ask for."""
        db, clock, limits, news = self.db, self.clock, installation.limits, self.news
        self.admission = Admission(db, clock, self.plans, installation.operator_key)
        self.meter = self._metering(shared=installation.shared)
        self.billing = Billing(db, clock, self.usage.once)
        self.files = Files(db, self.blobs, clock, limits, self.room.check)
        self.uploads = Uploads(db, self.blobs, clock, self.files)
        self.batches = Batches(
            db,
            clock,
            limits,
            on_created=news.teller(Topic.CREATED),
            on_cancelled=self._stopped,
            on_paused=self._paused,
        )
        self.administration = Administration(
            db,
            clock,
            self.plans,
            on_changed=news.teller(Topic.RIGHTS),
            on_erasing=news.teller(Topic.ERASING),
        )
        self.survey = Survey(db)
        self.curator = Curator(db, clock, self.models, on_changed=news.teller(Topic.CATALOG))
        self.checkups = Checkups(
            db,
            self.blobs,
            self.files,
            limits,
            catalog=self.models.catalog,
            models_known=lambda: self.models.complete,
            examiners=self.examiners,
        )
        self.joining = Joining(db, self.blobs, self.batches)
        self.retrying = Retrying(db, self.blobs, self.files, self.batches, lambda dialect: DIALECTS[dialect].rules)
        self.eraser = Eraser(db, clock, self.batches, OPERATOR, on_hidden=news.teller(Topic.ENDED))

    def _regular(self, installation: Installation) -> None:
        """What answers regular calls."""
        self.gateway = Gateway(
            self.models.catalog,
            self.servers,
            self.gates,
            limits=installation.limits,
            record=self.usage.record,
            admit=self.budget.admit,
            billing=installation.billing,
            tally=self.tally,
        )

    def _notices(self, installation: Installation) -> None:
        """What tells webhooks how batches ended."""
        rules, told = installation.webhooks, self.news.teller(Topic.EVENTS)
        self.outbox = Outbox(
            batch_id=lambda dialect, bare: DIALECTS[dialect].batch_id(bare), ring=told, enabled=rules.enabled
        )
        self.postman = Postman(rules.networks)
        self.courier = Courier(self.db, self.clock, rules, self.postman.post)
        self.webhooks = Webhooks(self.db, self.clock, rules, self.courier, on_due=told)

    def _batch(self, installation: Installation) -> None:
        """What works on batches."""
        db, clock, limits, news, catalog = self.db, self.clock, installation.limits, self.news, self.models.catalog
        self.caller = Caller(catalog, self.servers, limits, installation.billing, self.tally)
        losses = Losses(db, self.blobs, clock)
        self.dispatcher = Dispatcher(
            db,
            self.blobs,
            clock,
            owner=lambda: self.owner,
            catalog=catalog,
            gates=self.gates,
            attempt=self.tracing.lines(self.caller.attempt) if self.tracing else self.caller.attempt,
            plans=self.plans,
            spelling=spelling,
            budget=self.budget,
            on_settled=news.teller(Topic.DRAINED),
            tally=self.tally,
            rhythm=BUCKET if installation.blobs.startswith("s3:") else FOLDER,
            losses=losses,
        )
        self.validator = Validator(
            db,
            self.blobs,
            clock,
            owner=lambda: self.owner,
            catalog=catalog,
            models_known=lambda: self.models.complete,
            examiners=self.examiners,
            plans=self.plans,
            limits=limits,
            on_accepted=self._accepted,
            outbox=self.outbox,
            unversioned=lambda dialect: DIALECTS[dialect].rules.unversioned,
            tally=self.tally,
        )
        self.finalizer = Finalizer(
            db,
            self.blobs,
            clock,
            owner=lambda: self.owner,
            spelling=spelling,
            limits=limits,
            on_ended=news.teller(Topic.ENDED),
            outbox=self.outbox,
            tally=self.tally,
            losses=losses,
        )
        on_moved = news.teller(Topic.READY)
        self.warden = Warden(db, clock, self.models, on_stopped=self._stopped, on_moved=on_moved, rota=self._rota())
        self.reaper = Reaper(
            db,
            self.blobs,
            clock,
            self.files,
            on_stopped=self._stopped,
            on_freed=self._accepted,
            steady=lambda: self.membership.steady,
            entry_days=installation.billing.entry_days,
        )
        self.outlook = Outlook(
            catalog,
            self.gates,
            self.dispatcher,
            clock,
            silent_s=self.lookout.silent_s,
            said=lambda: self.membership.ailing,
        )
        self.pace = Pace(clock, self.outlook.waiting_for, self._hear if installation.shared else None)
        self.watching = Watching(db, self.batches, self.pace)
        self.tuner = Tuner(catalog, self.gates, Gauges(self.servers.upstream, clock), clock, self.dispatcher.state)

    async def catch_up(self, models: Collection[Model]) -> None:
        """Hears what other processes do to these models; without them, goes by what was heard before."""
        if self.sharing is not None:
            with suppress(HornadaError):
                await self.sharing.catch_up(models)

    async def _hear(self, batches: Sequence[Batch]) -> None:
        """What others do to the models of these is heard."""
        found = (self.models.catalog().resolve(batch.model or "") for batch in batches)
        await self.catch_up({model.name: model for model in found if model is not None}.values())

    def _stopped(self, batch: str, reason: StopReason) -> None:
        self.news.tell(Topic.STOPPED, batch, reason)

    def _paused(self, batch: Batch) -> None:
        if batch.paused:
            self.news.tell(Topic.PAUSED, batch.id)
        else:
            self.news.tell(Topic.READY)

    def _accepted(self) -> None:
        """Chunks may be claimed, or there is nothing left to claim."""
        self.news.tell(Topic.READY)
        self.news.tell(Topic.DRAINED)  # of a batch that was cancelled meanwhile no line runs
