"""The configuration as the program sees it: a frozen tree, whole and checked."""

from enum import StrEnum
from pathlib import Path

from msgspec import Struct, field

from hornada.core.account import Plan
from hornada.core.catalog import Model
from hornada.core.limits import Limits
from hornada.core.money import BillingRules
from hornada.core.webhook import WebhookRules

DIALECTS: tuple[str, ...] = ("infernode", "novita", "openai", "azure")
"""The names that ``[server.dialects]`` may use."""

DEFAULT_DIALECTS: dict[str, str] = {"/v1": "infernode", "/infernode/v1": "infernode", "/openai/v1": "novita"}
"""Which dialect is mounted where when nothing is said."""

DEFAULT_DATA = "hornada-data"
"""The folder of the ledger and the blobs, below the working folder."""


class ProcessRole(StrEnum):
    """What one process does."""

    ALL = "all"
    API = "api"
    WORKER = "worker"


class ServerSettings(Struct, frozen=True, kw_only=True):
    """Where to listen and what to mount. ``dialects``: base path -> name of a dialect.

    ``shutdown_grace_s``: seconds that calls in flight get at a stop.
    ``operator_key``: the key of whoever operates the platform; None: nobody has those rights over HTTP.
    ``tls_certificate``, ``tls_key``: PEM files; None: no TLS. ``cors_origins``: pages elsewhere that may call, "*" all.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    batches: bool = True
    dashboard: bool = True
    shutdown_grace_s: float = 20
    log_level: str = "info"
    log_format: str = "text"
    access_log: bool = False
    operator_key: str | None = None
    tls_certificate: str | None = None
    tls_key: str | None = None
    cors_origins: tuple[str, ...] = ()
    otlp_endpoint: str | None = None
    dialects: dict[str, str] = field(default_factory=lambda: dict(DEFAULT_DIALECTS))


class StorageSettings(Struct, frozen=True, kw_only=True):
    """The two URLs under which everything lies. ``migrate``: whether a start brings the ledger up to date.

    ``connections``: the most that a process has to PostgreSQL, beside one that listens.
    """

    database: str = f"sqlite:///{DEFAULT_DATA}/ledger.db"
    blobs: str = f"file://{DEFAULT_DATA}/blobs"
    migrate: bool = True
    connections: int = 8

    @property
    def ledger(self) -> Path | None:
        """The file of a SQLite ledger; None with PostgreSQL."""
        scheme, _, path = self.database.partition(":///")
        return Path(path) if scheme == "sqlite" else None

    @property
    def folder(self) -> Path | None:
        """The folder of the blobs; None with a bucket."""
        scheme, _, path = self.blobs.partition("://")
        return Path(path) if scheme == "file" else None

    @property
    def shared(self) -> bool:
        """Whether any number of processes can work on it at once."""
        return self.ledger is None and self.folder is None


class EngineSettings(Struct, frozen=True, kw_only=True):
    """How processes that share a ledger work together."""

    lease_ttl_s: float = 15


class BootstrapSettings(Struct, frozen=True, kw_only=True):
    """What an empty database starts with. ``key`` None: made and printed once; ``credit`` None: unlimited."""

    organization: str = "default"
    key: str | None = None
    credit: int | None = None


class Config(Struct, frozen=True, kw_only=True):
    """Every setting. ``upstream``: servers whose models are discovered."""

    server: ServerSettings
    storage: StorageSettings
    engine: EngineSettings = EngineSettings()
    limits: Limits
    billing: BillingRules = BillingRules()
    webhooks: WebhookRules = WebhookRules()
    models: tuple[Model, ...]
    aliases: dict[str, str]
    plans: dict[str, Plan]
    bootstrap: BootstrapSettings
    upstream: tuple[str, ...]
    upstream_api_key: str | None = None
    upstream_ca_file: str | None = None
    role: ProcessRole
    data: str
