"""A whole application over a real ledger and real blobs, called without a socket."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from hornada.api.app import App, build
from hornada.api.services import Readiness, Services
from hornada.api.traffic import Traffic
from hornada.blobs import open_blobs
from hornada.core.account import Plan
from hornada.core.batch import Usage
from hornada.core.catalog import Catalog, Model
from hornada.core.clock import SECOND
from hornada.core.limits import Limits
from hornada.core.webhook import WebhookRules
from hornada.dialects import DIALECTS as SPELLED
from hornada.engine.administration import Administration
from hornada.engine.admission import Admission
from hornada.engine.batches import Batches
from hornada.engine.billing import Billing
from hornada.engine.budget import Budget
from hornada.engine.capacity import Gates
from hornada.engine.checkup import Checkups
from hornada.engine.courier import Courier
from hornada.engine.curator import Curator
from hornada.engine.files import Files
from hornada.engine.gateway import Gateway
from hornada.engine.joining import Joining
from hornada.engine.meter import Meter
from hornada.engine.models import Models
from hornada.engine.outlook import Load
from hornada.engine.pace import Pace, WaitingFor
from hornada.engine.retrying import Retrying
from hornada.engine.servers import Servers
from hornada.engine.survey import Survey
from hornada.engine.uploads import Uploads
from hornada.engine.usage import UsageLog
from hornada.engine.watching import Watching
from hornada.engine.webhooks import Webhooks
from hornada.store import connect, ledger
from hornada.store.database import Database
from hornada.upstream import connect as connect_upstream
from hornada.upstream.postman import Postman
from tests.conftest import Hands
from tests.engine.receiver import HERE

KEY = "sk-test"
OPERATOR_KEY = "sk-operator"
PLAN = Plan(active_batches=3, requests_per_minute=100_000)
DIALECTS = {"/v1": "infernode", "/infernode/v1": "infernode", "/openai/v1": "novita", "/strict/v1": "openai"}
CHAT, EMBED, TEXT = "/v1/chat/completions", "/v1/embeddings", "/v1/completions"

CATALOG = Catalog(
    models={
        "m-chat": Model(name="m-chat", servers=(), endpoints=frozenset({CHAT, TEXT})),
        "org/m embed:v1": Model(name="org/m embed:v1", servers=(), endpoints=frozenset({EMBED}), batch_slots=0),
    },
    aliases={"Saptiva Turbo": "m-chat", "Vectors": "org/m embed:v1"},
)

CREDIT = 1012
LAST = 12
"""Micro-units: what the organization was given, and what its only line cost."""

LINE = b'{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m-chat","messages":[]}}\n'


@dataclass
class Site:
    """What tests touch: the client sends the first organization's key unless told otherwise."""

    app: App
    client: httpx2.AsyncClient
    db: Database
    clock: Hands
    admission: Admission
    traffic: Traffic

    async def upload(self, data: bytes = LINE, base: str = "/v1", **headers: str) -> httpx2.Response:
        """Uploads the input file of a batch."""
        form = {"file": ("in.jsonl", data)}
        return await self.client.post(f"{base}/files", data={"purpose": "batch"}, files=form, headers=headers)

    async def create(self, file_id: str, base: str = "/v1", **more: object) -> httpx2.Response:
        """Creates a batch over chat completions."""
        body = {"input_file_id": file_id, "endpoint": CHAT, "completion_window": "24h", **more}
        return await self.client.post(f"{base}/batches", json=body)


@asynccontextmanager
async def open_site(
    folder: Path,
    *,
    db: Database | None = None,
    batches_enabled: bool = True,
    dashboard_enabled: bool = True,
    plan: Plan = PLAN,
    operator_key: str | None = OPERATOR_KEY,
    ready: Sequence[str] = (),
    used: bool = True,
    notes: Sequence[str] = (),
    metrics: Callable[[], bytes] = lambda: b"hornada_up 1\n",
    stopping: Callable[[], bool] = lambda: False,
    access_log: bool = False,
    waiting_for: WaitingFor = lambda batch, *, held: None,
    onlookers: int = 1000,
) -> AsyncIterator[Site]:
    """Opens an application with one organization whose key is ``KEY``; ``ready`` are reasons why it is not.

    ``db``: an empty ledger, which stays open; else one is made beside the files.
    """
    clock, limits = Hands(), Limits(file_bytes=4096)
    given, db = db, db or await connect(f"sqlite:///{folder}/ledger.db", clock)
    try:
        await db.migrate()
        admission = Admission(db, clock, {"default": plan}, operator_key)
        await admission.bootstrap("default", KEY, CREDIT)
        budget = Budget(db, clock, on_stopped=lambda batch, reason: None)
        if used:
            await _one_line(db, (await admission.principal(KEY)).org)

        async def readiness() -> Readiness:
            return Readiness(not ready, ready, notes)

        async def caught_up(models: Collection[Model]) -> None:
            """There are no others."""

        async def scraped() -> bytes:
            return metrics()

        traffic = Traffic()

        servers, gates = Servers(connect_upstream), Gates()
        models = Models(
            tuple(CATALOG.models.values()), CATALOG.aliases, (), connect=servers.upstream, gates=gates, now=clock.now()
        )
        usage = UsageLog(db, clock, budget)
        gateway = Gateway(models.catalog, servers, gates, limits=limits, record=usage.record, admit=budget.admit)
        blobs = open_blobs(f"file://{folder}/blobs")
        files = Files(db, blobs, clock, limits)
        batches = Batches(db, clock, limits, on_created=lambda: None, on_cancelled=lambda batch, reason: None)
        rules, postman = WebhookRules(allow_http=True, allow_networks=("127.0.0.0/8",), endpoints=3), Postman(HERE)
        pace = Pace(clock, waiting_for)
        services = Services(
            files=files,
            uploads=Uploads(db, blobs, clock, files),
            batches=batches,
            joining=Joining(db, blobs, batches),
            checkups=Checkups(db, blobs, files, limits, catalog=models.catalog, models_known=lambda: True, most=2),
            retrying=Retrying(db, blobs, files, batches, lambda name: SPELLED[name].rules),
            pace=pace,
            watching=Watching(db, batches, pace, every_s=0.02, most=onlookers),
            admission=admission,
            meter=Meter(clock),
            gateway=gateway,
            catch_up=caught_up,
            load=lambda model: Load(capacity=8, regular=1, lines=2, reserve=1, free=4, away_at=None, why="so"),
            catalog=models.catalog,
            billing=Billing(db, clock, usage.once),
            ready=readiness,
            metrics=scraped,
            stopping=stopping,
            traffic=traffic,
            access_log=access_log,
            dialects=DIALECTS,
            administration=Administration(
                db, clock, {"default": plan}, on_changed=admission.forget, on_erasing=lambda: None
            ),
            curator=Curator(db, clock, models, on_changed=lambda: None),
            survey=Survey(db),
            webhooks=Webhooks(db, clock, rules, Courier(db, clock, rules, postman.post), on_due=lambda: None),
            batches_enabled=batches_enabled,
            dashboard_enabled=dashboard_enabled,
        )
        app = build(services)
        transport = httpx2.ASGITransport(app=app)
        headers = {"authorization": f"Bearer {KEY}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://hornada", headers=headers) as client:
            yield Site(app, client, db, clock, admission, traffic)
        await postman.close()
    finally:
        if given is None:
            await db.close()


async def _one_line(db: Database, org: str) -> None:
    """The organization has used something."""
    entry = ledger.LedgerEntry(
        id="e1",
        source="b:0:1:1",
        org=org,
        key="k",
        batch="b",
        model="m-chat",
        endpoint=CHAT + ":batch",
        lines=1,
        usage=Usage(input=30, output=4),
        amount=LAST,
        estimated=False,
        created_at=1_760_000_000 * SECOND,
    )
    async with db.write() as tx:
        await ledger.insert(tx, [entry])
