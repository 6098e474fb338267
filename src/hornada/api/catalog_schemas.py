"""The catalog's objects under ``/admin`` as the OpenAPI document describes them."""

from typing import Annotated, Literal

from msgspec import Meta

from hornada.api.schemas import Seconds, Strict
from hornada.core.catalog import MOST_PRICE
from hornada.core.kinds import MOST
from hornada.core.model_table import AUTO_CAPACITY

Micros = Annotated[int, Meta(ge=0, le=MOST_PRICE)]


class PriceObject(Strict):
    """Micro-units per million tokens; ``cached_input`` null: as ``input``."""

    input: Micros = 0
    cached_input: Micros | None = None
    output: Micros = 0


class ServerObject(Strict):
    """A model server. ``api_key`` is shown masked; sent back masked it stays what it was.

    ``ca_file``: a PEM file, on the server, of authorities to believe beside the system's.
    """

    url: str
    api_key: str | None = None
    model: str | None = None
    weight: Annotated[int, Meta(ge=1, le=MOST)] = 1
    ca_file: str | None = None


class PutModel(Strict):
    """A model as ``[[models]]`` of the configuration says it; what is not given has its default."""

    upstream: str | list[str | ServerObject]
    name: str | None = None
    endpoints: list[str] | None = None
    capacity: Annotated[int, Meta(ge=1, le=MOST)] | Literal["auto"] = AUTO_CAPACITY
    batch: bool | Annotated[int, Meta(ge=0, le=MOST)] = True
    batch_priority: int | None = None
    reserve: Annotated[int, Meta(ge=0, le=MOST)] | None = None
    harm: Annotated[float, Meta(ge=0)] | None = None
    price: PriceObject | None = None


class CatalogModelObject(Strict):
    """A model with its servers. ``endpoints`` null: all; ``batch``: slots that lines may use, 0 for none, true for all.

    ``reserve`` null: a few slots while there are regular calls; ``harm`` null: no limit.
    """

    object: Literal["model"]
    name: str
    upstream: list[ServerObject]
    endpoints: list[str] | None
    capacity: int | Literal["auto"]
    batch: int | Literal[True]
    reserve: int | None
    harm: float | None
    batch_priority: int | None
    price: PriceObject
    paused: bool
    created_at: Seconds


class CatalogModelList(Strict):
    """Every model of the catalog."""

    object: Literal["list"]
    data: list[CatalogModelObject]


class ModelRetired(Strict):
    """A model that is not in the catalog any more."""

    id: str
    object: Literal["model"]
    retired: Literal[True]


class PutAlias(Strict):
    """Where an alias is to point: the catalog name of a model."""

    model: str


class AliasRemoved(Strict):
    """An alias that stands for nothing any more."""

    id: str
    object: Literal["alias"]
    deleted: Literal[True]
