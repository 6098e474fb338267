"""``GET /models/capacity``: how the slots of each model are used at this moment."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from hornada.api.call import Call, Response, json_response
from hornada.api.catalog_schemas import PriceObject
from hornada.api.models import usable
from hornada.api.schemas import Seconds, Strict
from hornada.api.services import Services
from hornada.core.catalog import ENDPOINTS, Catalog, Model
from hornada.core.clock import SECOND


class CapacityObject(Strict):
    """A model's slots, of which each call under way holds one. All organizations share them; none is told apart."""

    id: str
    object: Literal["model.capacity"]
    capacity: Annotated[int, Meta(description="Calls at once that its servers take well, as learned so far.")]
    auto: Annotated[bool, Meta(description="Whether the capacity is learned.")]
    regular: Annotated[int, Meta(description="Regular calls under way.")]
    batch: Annotated[int, Meta(description="Lines under way.")]
    reserve: Annotated[int, Meta(description="Slots that lines leave free for regular calls.")]
    free: int
    batchable: bool
    paused: bool
    away_since: Annotated[int | None, Meta(description="Since when it answers nothing, in seconds since 1970.")]
    why: Annotated[str, Meta(description="How many slots lines have and for what reason, in words.")]
    endpoints: list[str]
    price: PriceObject
    created: Seconds


class CapacityList(Strict):
    """Every model that the key may use."""

    object: Literal["list"]
    data: list[CapacityObject]


class CapacityCalls:
    """Reads what the gates count."""

    def __init__(self, services: Services) -> None:
        self._catalog = services.catalog
        self._load = services.load
        self._catch_up = services.catch_up

    async def list(self, call: Call) -> Response:
        """``GET /models/capacity``."""
        catalog = self._catalog()
        may = usable(call.principal, catalog)
        models = [model for name, model in catalog.models.items() if name in may]
        await self._catch_up(models)
        data = [self._spelled(catalog, model) for model in models]
        return json_response({"object": "list", "data": data})

    def _spelled(self, catalog: Catalog, model: Model) -> dict[str, Any]:
        load, price = self._load(model), model.price
        return {
            "id": model.name,
            "object": "model.capacity",
            "capacity": load.capacity,
            "auto": model.auto,
            "regular": load.regular,
            "batch": load.lines,
            "reserve": load.reserve,
            "free": load.free,
            "batchable": model.batch_slots > 0,
            "paused": model.name in catalog.paused,
            "away_since": None if load.away_at is None else load.away_at // SECOND,
            "why": load.why,
            "endpoints": [endpoint for endpoint in ENDPOINTS if model.offers(endpoint)],
            "price": {"input": price.input, "cached_input": price.cached_input, "output": price.output},
            "created": model.created_at // SECOND,
        }
