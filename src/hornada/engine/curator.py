"""What operators do to the catalog while the server runs: set, pause and retire models, move aliases, change prices."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from hornada.core.account import Principal
from hornada.core.catalog import Catalog, Model, Price
from hornada.core.clock import Clock
from hornada.core.errors import Code, Refusal
from hornada.core.model_table import unmask
from hornada.engine.audit import note
from hornada.engine.models import Models
from hornada.engine.rights import check_operator
from hornada.store import catalog
from hornada.store.database import Database, Tx


class Curator:
    """Every change is durable when it returns and holds for the next call; running batches follow within a second.

    Each raises Refusal PERMISSION_DENIED to anybody but the operator, and writes a row of ``audit``.
    """

    def __init__(self, db: Database, clock: Clock, models: Models, *, on_changed: Callable[[], None]) -> None:
        self._db = db
        self._clock = clock
        self._models = models
        self._on_changed = on_changed
        self._changing = asyncio.Lock()

    def catalog(self, by: Principal) -> Catalog:
        """The catalog as it stands, secrets and all."""
        check_operator(by)
        return self._models.catalog()

    def model(self, by: Principal, name: str) -> Model:
        """The model of this catalog name; raises Refusal MODEL_NOT_FOUND."""
        return _known(self.catalog(by), name)

    async def put_model(self, by: Principal, model: Model) -> Model:
        """Adds a model or changes one; masked secrets stay what they were.

        Raises Refusal INVALID_VALUE when an alias has its name.
        """
        async with self._change(by) as tx:
            if model.name in self._models.catalog().aliases:
                message = f"'{model.name[:200]}' is an alias; a model cannot have the same name."
                raise Refusal(Code.INVALID_VALUE, message, "name")
            return await self._put(tx, by, unmask(model, self._models.catalog().models.get(model.name)), "model.set")

    async def put_price(self, by: Principal, name: str, price: Price) -> Model:
        """Changes what calls of a model that are answered from now on cost; raises Refusal MODEL_NOT_FOUND."""
        async with self._change(by) as tx:
            return await self._put(tx, by, replace(self.model(by, name), price=price), "model.price")

    async def retire(self, by: Principal, name: str) -> Model:
        """Takes a model out of the catalog: calls get 404, and so do the remaining lines of batches that name it.

        Raises Refusal MODEL_NOT_FOUND.
        """
        async with self._change(by) as tx:
            model = self.model(by, name)
            await catalog.retire(tx, model, self._clock.now())
            await self._note(tx, by, "model.retire", name)
        return model

    async def pause(self, by: Principal, name: str) -> Model:
        """Has no line of a model started until it is resumed; regular calls go on. Raises Refusal MODEL_NOT_FOUND."""
        async with self._change(by) as tx:
            model = self.model(by, name)
            await catalog.pause(tx, name, self._clock.now())
            await self._note(tx, by, "model.pause", name)
        return model

    async def resume(self, by: Principal, name: str) -> Model:
        """Lets lines of a model start again; raises Refusal MODEL_NOT_FOUND."""
        async with self._change(by) as tx:
            model = self.model(by, name)
            await catalog.resume(tx, name)
            await self._note(tx, by, "model.resume", name)
        return model

    async def put_alias(self, by: Principal, alias: str, name: str) -> None:
        """Points an alias at a model; lines of running batches that use the alias go to it from now on.

        Raises Refusal MODEL_NOT_FOUND when there is no such model, INVALID_VALUE when a model has the alias's name.
        """
        async with self._change(by) as tx:
            if alias in self._models.catalog().models:
                message = f"'{alias[:200]}' is a model; an alias cannot have the same name."
                raise Refusal(Code.INVALID_VALUE, message, "alias")
            model = self.model(by, name)
            await catalog.put_alias(tx, alias, model.name, self._clock.now())
            await self._note(tx, by, "alias.set", alias, model=model.name)

    async def drop_alias(self, by: Principal, alias: str) -> None:
        """Removes an alias; raises Refusal MODEL_NOT_FOUND when there is none."""
        async with self._change(by) as tx:
            if alias not in self._models.catalog().aliases:
                raise Refusal(Code.MODEL_NOT_FOUND, f"There is no alias '{alias[:200]}'.", "alias")
            await catalog.put_alias(tx, alias, "", self._clock.now())
            await self._note(tx, by, "alias.remove", alias)

    @asynccontextmanager
    async def _change(self, by: Principal) -> AsyncIterator[Tx]:
        """One change after another, each of the catalog as it is by then, whoever changed it."""
        check_operator(by)
        async with self._changing:
            async with self._db.write() as tx:
                self._models.overlay(await catalog.shelf(tx))
                yield tx
                shelf = await catalog.shelf(tx)
            self._models.overlay(shelf)
        self._on_changed()

    async def _put(self, tx: Tx, by: Principal, model: Model, action: str) -> Model:
        now = self._clock.now()
        known = self._models.catalog().models.get(model.name)
        placed = replace(model, created_at=known.created_at if known else now)
        await catalog.put_model(tx, placed, now)
        told = msgspec.to_builtins(placed)
        await self._note(tx, by, action, model.name, **{key: told[key] for key in _TOLD})
        return placed

    async def _note(self, tx: Tx, by: Principal, action: str, target: str, **detail: Any) -> None:
        await note(tx, by, action, now=self._clock.now(), org=None, target=target, **detail)


_TOLD = ("endpoints", "capacity", "auto", "batch_slots", "reserve", "harm", "batch_priority", "price")
"""What an audit entry tells of a model: nothing that could hold a secret."""


def _known(found: Catalog, name: str) -> Model:
    model = found.models.get(name)
    if model is None:
        raise Refusal(Code.MODEL_NOT_FOUND, f"There is no model '{name[:200]}'.", "model")
    return model
