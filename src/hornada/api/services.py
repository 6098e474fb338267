"""What the HTTP room needs of the rest of the program."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from hornada.core.account import Principal
from hornada.core.catalog import Catalog
from hornada.core.limits import Limits
from hornada.engine.admission import Admission
from hornada.engine.batches import Batches
from hornada.engine.files import Files
from hornada.engine.gateway import Gateway
from hornada.engine.meter import Meter


class LastEvent(Struct, frozen=True, kw_only=True):
    """The latest movement of a balance. ``endpoint`` ends in ``:batch`` when lines of a batch caused it."""

    endpoint: str
    model: str
    amount: int
    tokens: int
    created_at: int


class Balance(Struct, frozen=True, kw_only=True):
    """What an organization has left, in micro-units; ``balance`` None when its credit is unlimited."""

    balance: int | None = None
    currency: str = "USD"
    last_event: LastEvent | None = None


class Readiness(Struct, frozen=True):
    """Whether calls can be served; if not, why, in words for people."""

    ok: bool
    reasons: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Services:
    """Engine and values behind the routes. ``dialects`` maps a base path such as ``/v1`` to a dialect's name."""

    files: Files
    batches: Batches
    admission: Admission
    meter: Meter
    gateway: Gateway
    catalog: Callable[[], Catalog]
    balance: Callable[[Principal], Awaitable[Balance]]
    ready: Callable[[], Awaitable[Readiness]]
    metrics: Callable[[], bytes]
    limits: Limits
    dialects: Mapping[str, str]
    batches_enabled: bool = True
