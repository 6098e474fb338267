"""A house whose catalog operators change, with two models on servers of their own and a warden who looks after it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from hornada.core.account import Plan, Principal, Role
from hornada.core.batch import TERMINAL, Batch
from hornada.core.catalog import Catalog, Model, Price, Server
from hornada.engine.curator import Curator
from hornada.engine.models import Models
from hornada.engine.warden import Warden
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.house import House, folder, line, people
from tests.engine.model_server import ModelServer, listening

OPERATOR = Principal(org="", member="", key="", role=Role.OPERATOR, plan=Plan())
OLD, NEW = Price(input=1_000_000, output=2_000_000), Price(input=10_000_000, output=20_000_000)
OLD_COST, NEW_COST = 7, 70
"""What one line costs: three tokens read and two written."""
SLOTS = 4


class Town(House):
    """Models ``m`` and ``n``, an alias ``alias`` of ``m``. ``old`` runs the one and ``new`` the other."""

    def __init__(self, db: Database, folder_: Path, clock: Hands, old: ModelServer, new: ModelServer, *at: str) -> None:
        m = Model(name="m", servers=(Server(url=at[0]),), capacity=SLOTS, batch_slots=SLOTS, price=OLD)
        n = Model(name="n", servers=(Server(url=at[1], model="n-9"),), capacity=SLOTS, batch_slots=SLOTS, price=NEW)
        self._models = None
        super().__init__(db, folder(folder_), clock, at[0], owner="me", model=m)
        self.m, self.n, self.old, self.new = m, n, old, new
        self.counted = Counted(db)
        self.restart([m, n], {"alias": "m"}, ())

    def restart(self, models: list[Model], aliases: dict[str, str], discover: tuple[Server, ...]) -> None:
        """Has another configuration from now on."""
        self._models = Models(models, aliases, discover, connect=self.servers.upstream, gates=self.gates, now=1)
        self.curator = Curator(self.db, self.clock, self._models, on_changed=lambda: None)
        self.warden = Warden(self.counted, self.clock, self._models, on_stopped=self._stopped, on_moved=self.rung.set)

    @property
    def catalog(self) -> Catalog:
        return self._models.catalog()

    @catalog.setter
    def catalog(self, catalog: Catalog) -> None:
        """A house's own, which a town does not need."""

    async def started(self, *names: str) -> Batch:
        """A batch with one line for each name, of which the first few are in flight."""
        self.old.holding = self.new.holding = True
        batch = await self.accepted(*(line(f"{at:03}", model=name) for at, name in enumerate(names)))
        await self.dispatcher.once()
        await self.old.arrived(min(len(names), SLOTS))
        return batch

    async def let_go(self) -> None:
        """Answers what is in flight and whatever comes."""
        for server in (self.old, self.new):
            server.holding = False
            server.release()

    async def finish(self, batch: Batch) -> Batch:
        """Runs a batch to its end, the warden looking in between."""
        await self.let_go()
        async with asyncio.timeout(60):
            while True:
                await self.work()
                await self.finalizer.once()
                ended = await self.see(batch)
                if ended.status in TERMINAL:
                    return ended
                await self.warden.once()

    async def segments(self) -> dict[str, tuple[int, int]]:
        """Lines answered and refused, by the model of their segment."""
        rows = await self.rows("SELECT model, sum(n_ok) AS ok, sum(n_failed) AS failed FROM segment GROUP BY model")
        return {row["model"]: (int(row["ok"]), int(row["failed"])) for row in rows}

    async def charged(self) -> dict[str, tuple[int, int]]:
        """Lines and micro-units in the ledger by model."""
        rows = await self.rows("SELECT model, sum(lines) AS n, sum(amount) AS amount FROM ledger_entry GROUP BY model")
        return {row["model"]: (int(row["n"]), int(row["amount"])) for row in rows}


class Naming(ModelServer):
    """Remembers under which names it was asked for its model."""

    def __init__(self) -> None:
        super().__init__()
        self.names = Counter[str]()

    async def _answer(self, head: bytes, body: bytes, reader: asyncio.StreamReader) -> Any:
        if body:
            self.names[msgspec.json.decode(body)["model"]] += 1
        return await super()._answer(head, body, reader)


class Counted:
    """A database that counts its transactions."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.reads = self.writes = 0

    def read(self, **how: bool) -> Any:
        self.reads += 1
        return self._db.read(**how)

    def write(self, **how: bool) -> Any:
        self.writes += 1
        return self._db.write(**how)

    async def transact(self, work: Any) -> Any:
        self.writes += 1
        return await self._db.transact(work)

    @contextmanager
    def costs(self, reads: int, writes: int) -> Iterator[None]:
        """Holds what is done inside to so many transactions."""
        before = (self.reads, self.writes)
        yield
        assert (self.reads - before[0], self.writes - before[1]) == (reads, writes)


@asynccontextmanager
async def town_at(db: Database, folder_: Path, clock: Hands) -> AsyncIterator[Town]:
    """A town that is left without a word at the end."""
    await people(db, clock)
    old, new = Naming(), Naming()
    async with AsyncExitStack() as stack:
        at = [await stack.enter_async_context(listening(server)) for server in (old, new)]
        town = Town(db, folder_, clock, old, new, *at)
        stack.push_async_callback(town.leave)
        yield town
