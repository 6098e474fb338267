"""The engine's parts over a real database, a real folder and a real model server, driven step by step."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from hornada.blobs import open_blobs
from hornada.blobs.protocol import Blobs
from hornada.core.account import Plan, Principal, Role
from hornada.core.batch import TERMINAL, Batch, Status, StopReason
from hornada.core.catalog import Catalog, Model, Price, Server
from hornada.core.errors import Refusal
from hornada.core.file import File
from hornada.core.limits import DialectRules, Limits
from hornada.core.line import Spelling
from hornada.dialects import DIALECTS
from hornada.engine.batches import Batches
from hornada.engine.budget import Budget
from hornada.engine.caller import Caller
from hornada.engine.capacity import Gates
from hornada.engine.dispatcher import Dispatcher
from hornada.engine.files import Files
from hornada.engine.finalizer import Finalizer
from hornada.engine.outbox import Outbox
from hornada.engine.reaper import Reaper
from hornada.engine.servers import Servers
from hornada.engine.validator import Validator
from hornada.store import account
from hornada.store.database import Database
from hornada.upstream import connect
from tests.conftest import Hands

INFERNODE = DialectRules(name="infernode", deduplicate=True)
OPENAI = DialectRules(name="openai", deduplicate=False)
CHAT = "/v1/chat/completions"


def caller(member: str = "ana", *, org: str = "org", role: Role = Role.MEMBER, **plan: int) -> Principal:
    return Principal(org=org, member=member, key=f"key-{member}", role=role, plan=Plan(**plan))


ANA = caller()


def line(text: str, *, model: str = "m", custom_id: str | None = None, **body: Any) -> bytes:
    asked = {"model": model, "messages": [{"role": "user", "content": text}], **body}
    return msgspec.json.encode({"custom_id": custom_id or text, "url": CHAT, "method": "POST", "body": asked}) + b"\n"


def texts(n: int, prefix: str = "t") -> list[str]:
    return [f"{prefix}{at:04}" for at in range(n)]


def spelling(name: str) -> Spelling:
    dialect = DIALECTS[name]

    def refused(refusal: Refusal, request_id: str) -> tuple[int, bytes]:
        spelled = dialect.error(refusal, request_id)
        return spelled.status, msgspec.json.encode(spelled.body)

    return Spelling(dialect.lines, refused)


class House:
    """Everything that one process has; ``owner`` tells processes on one ledger apart."""

    def __init__(self, db: Database, blobs: Blobs, clock: Hands, url: str, *, owner: str, model: Model) -> None:
        self.db, self.blobs, self.clock = db, blobs, clock
        self.owner = owner
        self.steady = True
        self.beat: Callable[[], Awaitable[object]] | None = None
        self.catalog = Catalog(models={model.name: model}, aliases={"alias": model.name})
        self.model = model
        self.limits = Limits()
        self.plans = {"default": Plan()}
        self.models_known = True
        self.stopped: list[tuple[str, StopReason]] = []
        self.rung = asyncio.Event()
        self.gates = Gates()
        self.gate = self.gates.of(model)
        self.servers = Servers(connect)
        self.files = Files(db, blobs, clock, self.limits)
        self.budget = Budget(db, clock, on_stopped=self._stopped)
        self.dispatcher = Dispatcher(
            db,
            blobs,
            clock,
            owner=lambda: self.owner,
            catalog=lambda: self.catalog,
            gates=self.gates,
            attempt=Caller(lambda: self.catalog, self.servers, self.limits).attempt,
            plans={},
            spelling=spelling,
            budget=self.budget,
            on_settled=lambda: None,
        )
        self.dispatcher.bell(self.rung.set)
        self.budget.bell(self.rung.set)
        self.outbox = Outbox(batch_id=lambda dialect, bare: DIALECTS[dialect].batch_id(bare))
        self.validator = Validator(
            db,
            blobs,
            clock,
            owner=lambda: self.owner,
            catalog=lambda: self.catalog,
            models_known=lambda: self.models_known,
            plans=self.plans,
            limits=self.limits,
            on_accepted=lambda: None,
            outbox=self.outbox,
        )
        self.finalizer = Finalizer(
            db,
            blobs,
            clock,
            owner=lambda: self.owner,
            spelling=spelling,
            limits=self.limits,
            on_ended=lambda: None,
            outbox=self.outbox,
        )
        self.reaper = Reaper(db, blobs, clock, self.files, on_stopped=self._stopped, steady=lambda: self.steady)
        self.batches = Batches(
            db, clock, self.limits, on_created=lambda: None, on_cancelled=self._stopped, on_paused=self._paused
        )

    def _paused(self, batch: Batch) -> None:
        if batch.paused:
            self.dispatcher.give_up(batch.id)

    def _stopped(self, batch: str, reason: StopReason) -> None:
        self.stopped.append((batch, reason))
        self.dispatcher.stop_batch(batch, reason)

    async def upload(self, data: bytes, who: Principal = ANA) -> File:
        draft = await self.files.begin()
        await draft.write(data)
        file, _ = await self.files.finish(draft, who, OPENAI, purpose="batch", name="in.jsonl")
        return file

    async def create(
        self, file: File | str, who: Principal = ANA, rules: DialectRules = INFERNODE, **change: Any
    ) -> tuple[Batch, bool]:
        asked: dict[str, Any] = {
            "input_file": file if isinstance(file, str) else file.id,
            "endpoint": CHAT,
            "completion_window": "24h",
            "metadata": None,
            "output_lifetime_s": None,
            "retry": False,
            "idempotency_key": None,
        }
        return await self.batches.create(who, rules, **(asked | change))

    async def fresh(self, *lines: str | bytes, who: Principal = ANA) -> Batch:
        """A batch of lines (or texts to ask) that nobody has checked."""
        data = b"".join(each if isinstance(each, bytes) else line(each) for each in lines)
        batch, _ = await self.create(await self.upload(data, who), who)
        return batch

    async def accepted(self, *lines: str | bytes, who: Principal = ANA) -> Batch:
        """A batch in progress."""
        batch = await self.fresh(*lines, who=who)
        await self.check()
        found = await self.see(batch)
        assert found.status is Status.IN_PROGRESS, found.errors
        return found

    async def check(self) -> None:
        while await self.validator.once():
            pass

    async def see(self, batch: Batch) -> Batch:
        return await self.batches.get(caller(org=batch.org), batch.id)

    async def work(self) -> None:
        """Ticks until nothing is held and nothing can be claimed."""
        async with asyncio.timeout(60):
            while True:
                self.rung.clear()
                if not await self.dispatcher.once() and not self.dispatcher.held:
                    return
                await self.pause()

    async def pause(self) -> None:
        """Lets calls go on until the dispatcher asks for its tick, or half a second passes on the clock."""
        if self.beat is not None:
            await self.beat()
        try:
            async with asyncio.timeout(0.005):
                await self.rung.wait()
        except TimeoutError:
            self.pass_time(0.5)

    def pass_time(self, seconds: float) -> None:
        """Moves the clock, and has done what timers would have."""
        self.clock.advance(seconds)
        for lanes in self.dispatcher._lanes.values():
            lanes.pump()

    async def finish(self, batch: Batch) -> Batch:
        """Runs a batch to its end."""
        await self.work()
        while await self.finalizer.once():
            pass
        ended = await self.see(batch)
        assert ended.status in TERMINAL, ended.status
        return ended

    async def results(self, batch: Batch) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The lines of both files, parsed."""
        return await self._lines(batch.org, batch.output_file), await self._lines(batch.org, batch.error_file)

    async def _lines(self, org: str, file_id: str | None) -> list[dict[str, Any]]:
        if file_id is None:
            return []
        file = await self.files.get(caller(org=org), file_id)
        data = await self.blobs.read(file.object, 0, file.bytes)
        assert data.endswith(b"\n")
        return [msgspec.json.decode(each) for each in data.splitlines()]

    async def rows(self, sql: str, **params: Any) -> list[dict[str, Any]]:
        async with self.db.read() as tx:
            return [{key: row[key] for key in row.keys()} for row in await tx.rows(sql, **params)]  # type: ignore[attr-defined]  # noqa: SIM118

    async def change(self, sql: str, **params: Any) -> None:
        async with self.db.write() as tx:
            await tx.run(sql, **params)

    async def keys(self) -> list[str]:
        """What the blob store holds."""
        return sorted([key async for key, _ in self.blobs.keys()])  # noqa: SIM118 - no dictionary

    async def overwrite(self, key: str, data: bytes) -> None:
        """Spoils a blob."""
        await self.blobs.delete(key)
        writer = await self.blobs.writer(key)
        await writer.write(data)
        await writer.commit()

    async def leave(self) -> None:
        """Ends the calls of this process without a word to the ledger, as a kill would."""
        tasks = [task for lanes in self.dispatcher._lanes.values() for task in lanes._tasks]
        for lanes in self.dispatcher._lanes.values():
            lanes.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.servers.close()


async def people(db: Database, clock: Hands) -> None:
    """Two organizations; ``org`` has a member, another one and an administrator."""
    now = clock.now()
    async with db.write() as tx:
        for org, members in (("org", ("ana", "bob", "cid")), ("foreign", ("eve",))):
            await account.insert_organization(tx, id=org, name=org, plan="default", now=now)
            for name in members:
                role = Role.ADMIN if name == "cid" else Role.MEMBER
                await account.insert_member(tx, id=name, org=org, name=name.title(), role=role, now=now)
                await account.insert_key(
                    tx, id=f"key-{name}", org=org, member=name, name="k", digest=f"hash-{name}", now=now
                )


def a_model(url: str, slots: int = 4, **change: Any) -> Model:
    fields = {"capacity": slots, "batch_slots": slots, "price": Price(input=1_000_000, output=2_000_000)}
    return Model(name="m", servers=(Server(url=url),), **(fields | change))


@asynccontextmanager
async def opened(
    db: Database, blobs: Blobs, clock: Hands, url: str, *, owner: str = "me", **model: Any
) -> AsyncIterator[House]:
    """A house that is left without a word at the end."""
    house = House(db, blobs, clock, url, owner=owner, model=a_model(url, **model))
    try:
        yield house
    finally:
        await house.leave()


def folder(tmp_path: Path) -> Blobs:
    return open_blobs(f"file://{tmp_path}/blobs")
