"""What an engine runs on, and how it spells results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hornada.core.account import Plan
from hornada.core.catalog import Model, Server
from hornada.core.limits import Limits
from hornada.core.line import Spelling
from hornada.core.money import BillingRules
from hornada.core.webhook import WebhookRules
from hornada.dialects import DIALECTS

if TYPE_CHECKING:
    from hornada.service.tracing import Tracing

_BILLING = BillingRules()
_WEBHOOKS = WebhookRules()


@dataclass(frozen=True, kw_only=True)
class Installation:
    """What an engine runs on: two URLs and the rules of the house."""

    database: str
    blobs: str
    migrate: bool = True
    """Whether an older ledger is brought up to date, or refused."""
    connections: int = 8
    """The most to PostgreSQL, beside the one that listens."""
    folders: Sequence[Path] = ()
    """On whose disks room is to be kept."""
    keep: Path | None = None
    """Where a backup says that nothing is to be removed."""
    shared: bool = False
    """Whether other processes may work on it at the same time."""
    role: str = "all"
    """What this process does: ``all``, ``api`` or ``worker``."""
    lease_ttl_s: float = 15
    """Seconds after which a process without a word is taken for dead, where several share a ledger."""
    limits: Limits
    models: Sequence[Model]
    aliases: Mapping[str, str]
    plans: Mapping[str, Plan]
    billing: BillingRules = _BILLING
    webhooks: WebhookRules = _WEBHOOKS
    upstream: Sequence[Server] = ()
    operator_key: str | None = None
    tracing: "Tracing | None" = None
    """What makes spans of lines and calls; None: nothing does."""
    discovered: Callable[[str, Server], Model] = lambda name, server: Model(name=name, servers=(server,))


def spelling(dialect: str) -> Spelling:
    """What the engine needs of a dialect."""
    return _SPELLINGS[dialect]


def _spelling(name: str) -> Spelling:
    dialect = DIALECTS[name]
    import msgspec

    from hornada.core.errors import Refusal

    def refused(refusal: Refusal, request_id: str) -> tuple[int, bytes]:
        spelled = dialect.error(refusal, request_id)
        return spelled.status, msgspec.json.encode(spelled.body)

    return Spelling(dialect.lines, refused)


_SPELLINGS = {name: _spelling(name) for name in DIALECTS}
