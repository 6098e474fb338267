"""What operators do to the catalog while the server runs: set and retire models, move aliases, change prices."""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from hornada.core.catalog import Model, Price
from hornada.core.clock import Clock
from hornada.core.errors import Code, Refusal
from hornada.engine.models import Models
from hornada.store import catalog
from hornada.store.database import Database, Tx


class Curator:
    """Every change is durable when it returns and holds for the next call; running batches follow within a second."""

    def __init__(self, db: Database, clock: Clock, models: Models, *, on_changed: Callable[[], None]) -> None:
        self._db = db
        self._clock = clock
        self._models = models
        self._on_changed = on_changed

    async def put_model(self, model: Model) -> Model:
        """Adds a model or changes one; raises Refusal INVALID_VALUE when an alias has its name."""
        if model.name in self._models.catalog().aliases:
            raise Refusal(Code.INVALID_VALUE, f"'{model.name}' is an alias; a model cannot have the same name.", "name")
        now = self._clock.now()
        known = self._models.catalog().models.get(model.name)
        placed = replace(model, created_at=known.created_at if known else now)
        await self._write(lambda tx: catalog.put_model(tx, placed, now))
        return placed

    async def put_price(self, name: str, price: Price) -> Model:
        """Changes what a model costs from now on; raises Refusal MODEL_NOT_FOUND."""
        return await self.put_model(replace(self.model(name), price=price))

    async def retire(self, name: str) -> Model:
        """Takes a model out of the catalog: calls get 404, and so do the remaining lines of batches that name it."""
        model = self.model(name)
        await self._write(lambda tx: catalog.retire(tx, model, self._clock.now()))
        return model

    async def put_alias(self, alias: str, name: str) -> None:
        """Points an alias at a model; lines of running batches that use the alias go to it from now on.

        Raises Refusal MODEL_NOT_FOUND when there is no such model, INVALID_VALUE when a model has the alias's name.
        """
        if alias in self._models.catalog().models:
            raise Refusal(Code.INVALID_VALUE, f"'{alias}' is a model; an alias cannot have the same name.", "alias")
        model = self.model(name)
        await self._write(lambda tx: catalog.put_alias(tx, alias, model.name, self._clock.now()))

    async def drop_alias(self, alias: str) -> None:
        """Removes an alias; raises Refusal MODEL_NOT_FOUND when there is none."""
        if alias not in self._models.catalog().aliases:
            raise Refusal(Code.MODEL_NOT_FOUND, f"There is no alias '{alias[:200]}'.", "alias")
        await self._write(lambda tx: catalog.put_alias(tx, alias, "", self._clock.now()))

    def model(self, name: str) -> Model:
        """The model of this catalog name; raises Refusal MODEL_NOT_FOUND."""
        found = self._models.catalog().models.get(name)
        if found is None:
            raise Refusal(Code.MODEL_NOT_FOUND, f"There is no model '{name[:200]}'.", "model")
        return found

    async def _write(self, change: Callable[[Tx], Awaitable[None]]) -> None:
        async with self._db.write() as tx:
            await change(tx)
            shelf = await catalog.shelf(tx)
        self._models.overlay(shelf)
        self._on_changed()
