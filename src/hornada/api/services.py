"""What the HTTP room needs of the rest of the program."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Struct

from hornada.api.call import Call
from hornada.api.traffic import Traffic
from hornada.core.catalog import Catalog, Model
from hornada.engine.administration import Administration
from hornada.engine.admission import Admission
from hornada.engine.batches import Batches
from hornada.engine.billing import Billing
from hornada.engine.checkup import Checkups
from hornada.engine.curator import Curator
from hornada.engine.files import Files
from hornada.engine.gateway import Gateway
from hornada.engine.joining import Joining
from hornada.engine.meter import Meter
from hornada.engine.outlook import Load
from hornada.engine.pace import Pace
from hornada.engine.retrying import Retrying
from hornada.engine.survey import Survey
from hornada.engine.uploads import Uploads
from hornada.engine.watching import Watching
from hornada.engine.webhooks import Webhooks

if TYPE_CHECKING:
    from hornada.engine.shared_meter import SharedMeter


class Readiness(Struct, frozen=True):
    """Whether calls can be served; if not, why, in words for people. ``notes``: what is amiss elsewhere."""

    ok: bool
    reasons: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Services:
    """Engine and values behind the routes. ``dialects`` maps a base path such as ``/v1`` to a dialect's name.

    ``catch_up``: hears what other processes do to models, for ``load``.
    ``stopping``: whether new work is turned away, because the process ends.
    ``traced``: what stands around each call and makes its span, if anything.
    """

    files: Files
    uploads: Uploads
    batches: Batches
    joining: Joining
    pace: Pace
    watching: Watching
    retrying: Retrying
    checkups: Checkups
    admission: Admission
    meter: "Meter | SharedMeter"
    gateway: Gateway
    load: Callable[[Model], Load]
    catch_up: Callable[[Collection[Model]], Awaitable[None]]
    catalog: Callable[[], Catalog]
    billing: Billing
    ready: Callable[[], Awaitable[Readiness]]
    metrics: Callable[[], Awaitable[bytes]]
    dialects: Mapping[str, str]
    administration: Administration
    curator: Curator
    survey: Survey
    webhooks: Webhooks
    webhooks_enabled: bool = True
    batches_enabled: bool = True
    dashboard_enabled: bool = True
    calls: bool = True
    """Whether anything but probes is answered."""
    stopping: Callable[[], bool] = lambda: False
    traffic: Traffic = field(default_factory=Traffic)
    access_log: bool = False
    traced: Callable[[Call], AbstractContextManager[None]] | None = None
    currency: str = "USD"
