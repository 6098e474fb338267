"""A whole application over a real ledger and real blobs, called without a socket."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from hornada.api.app import App, build
from hornada.api.services import Balance, LastEvent, Readiness, Services
from hornada.blobs import open_blobs
from hornada.core.account import Plan, Principal
from hornada.core.catalog import Catalog, Model
from hornada.core.clock import SECOND
from hornada.core.limits import Limits
from hornada.engine.admission import Admission
from hornada.engine.batches import Batches
from hornada.engine.capacity import Gates
from hornada.engine.files import Files
from hornada.engine.gateway import Gateway
from hornada.engine.meter import Meter
from hornada.engine.servers import Servers
from hornada.store import connect
from hornada.store.database import Database
from hornada.upstream import connect as connect_upstream
from tests.conftest import Hands

KEY = "sk-test"
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

LAST = LastEvent(endpoint=CHAT + ":batch", model="m-chat", amount=12, tokens=34, created_at=1_760_000_000 * SECOND)

LINE = b'{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m-chat","messages":[]}}\n'


@dataclass
class Site:
    """What tests touch: the client sends the first organization's key unless told otherwise."""

    app: App
    client: httpx2.AsyncClient
    db: Database
    clock: Hands

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
    batches_enabled: bool = True,
    plan: Plan = PLAN,
    ready: Sequence[str] = (),
    event: LastEvent | None = LAST,
    metrics: Callable[[], bytes] = lambda: b"hornada_up 1\n",
) -> AsyncIterator[Site]:
    """Opens an application with one organization whose key is ``KEY``; ``ready`` are reasons why it is not."""
    clock, limits = Hands(), Limits(file_bytes=4096)
    db = await connect(f"sqlite:///{folder}/ledger.db", clock)
    try:
        await db.migrate()
        admission = Admission(db, clock, {"default": plan})
        await admission.bootstrap("default", KEY)

        async def balance(principal: Principal) -> Balance:
            return Balance(balance=1000, last_event=event)

        async def readiness() -> Readiness:
            return Readiness(not ready, ready)

        servers, gates = Servers(connect_upstream), Gates()
        gateway = Gateway(lambda: CATALOG, servers, gates, limits=limits, record=lambda call: None)
        services = Services(
            files=Files(db, open_blobs(f"file://{folder}/blobs"), clock, limits),
            batches=Batches(db, clock, limits, on_created=lambda: None, on_cancelled=lambda batch, reason: None),
            admission=admission,
            meter=Meter(clock),
            gateway=gateway,
            catalog=lambda: CATALOG,
            balance=balance,
            ready=readiness,
            metrics=metrics,
            limits=limits,
            dialects=DIALECTS,
            batches_enabled=batches_enabled,
        )
        app = build(services)
        transport = httpx2.ASGITransport(app=app)
        headers = {"authorization": f"Bearer {KEY}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://hornada", headers=headers) as client:
            yield Site(app, client, db, clock)
    finally:
        await db.close()
