"""Every setting, one row each: key, kind, default and what it is for; the reference is generated from here."""

from typing import Any

from msgspec import UNSET, Struct, structs

from hornada.config.kinds import (
    BLOBS,
    DATABASE,
    FLAG,
    TABLE,
    TABLES,
    TEXT,
    URL,
    URLS,
    Kind,
    list_of,
    one_of,
    seconds,
    whole,
)
from hornada.config.tree import DEFAULT_DATA, DEFAULT_DIALECTS, BootstrapSettings, ProcessRole, ServerSettings
from hornada.core.account import Plan
from hornada.core.catalog import ENDPOINTS, Price, Server
from hornada.core.limits import Limits

AUTO_CAPACITY = 8
"""What ``capacity = "auto"`` stands for until the limit is learned from the server's answers."""


class Setting(Struct, frozen=True):
    """One row. ``key`` is dotted; ``default`` UNSET: it must be given; ``secret``: never shown."""

    key: str
    kind: Kind
    about: str
    default: Any = None
    secret: bool = False

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition(".")[2]

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "HORNADA_" + self.key.upper().replace(".", "_")


def _default(owner: type[Struct], name: str) -> Any:
    return next(field.default for field in structs.fields(owner) if field.name == name)


def _rows(section: str, owner: type[Struct], *rows: tuple[str, Kind, str]) -> tuple[Setting, ...]:
    prefix = f"{section}." if section else ""
    return tuple(Setting(prefix + name, kind, about, _default(owner, name)) for name, kind, about in rows)


TOP = (
    Setting("role", one_of(ProcessRole), 'What this process does; only "all" is built so far', "all"),
    Setting("data", TEXT, "Folder of the ledger and the blobs, where `[storage]` does not say otherwise", DEFAULT_DATA),
    Setting("upstream", URLS, "Model servers whose models are discovered and offered for everything", ()),
    Setting("upstream_api_key", TEXT, "Sent to those servers as the bearer token", secret=True),
)

SERVER = (
    *_rows(
        "server",
        ServerSettings,
        ("host", TEXT, "Address to listen on"),
        ("port", whole(0, 65535), "Port to listen on; 0 lets the system choose"),
        ("batches", FLAG, "When false, every `/batches` path answers 404"),
    ),
    Setting("server.dialects", TABLE, "Base path to dialect; what is given replaces the default", DEFAULT_DIALECTS),
)

STORAGE = (
    Setting("storage.database", DATABASE, "The ledger", "sqlite:///DATA/ledger.db"),
    Setting("storage.blobs", BLOBS, "Where files and results lie", "file://DATA/blobs"),
)

LIMITS = _rows(
    "limits",
    Limits,
    ("file_bytes", whole(1), "Largest file to upload, in bytes"),
    ("line_bytes", whole(1), "Longest line of an input file, in bytes"),
    ("lines", whole(1), "Most requests in an input file"),
    ("embedding_inputs", whole(1), "Most embedding inputs in an input file, all lines together"),
    ("batch_lifetime_s", whole(1), "Seconds from a batch's creation to its expiry"),
    ("file_lifetime_s", whole(1), "Seconds for which a file is kept"),
    ("upstream_timeout_s", seconds(0.001), "Deadline of one call to a model server, in seconds"),
    ("response_bytes", whole(1), "Largest answer of a model server, in bytes"),
    ("request_bytes", whole(1), "Largest body of a regular call, in bytes"),
)

BOOTSTRAP = (
    *_rows("bootstrap", BootstrapSettings, ("organization", TEXT, "Name of the first organization")),
    Setting("bootstrap.key", TEXT, "Its key; one is made and printed once if none is given", secret=True),
    Setting("bootstrap.credit", whole(0), "Its credit in micro-units; unlimited if none is given"),
)

TABLED = (
    Setting("models", TABLES, "The catalog: one `[[models]]` for each model", ()),
    Setting("aliases", TABLE, "Other names of models", {}),
    Setting("plans", TABLE, "What an organization may use: one `[plans.NAME]` for each", {}),
)

PLAN = _rows(
    "",
    Plan,
    ("requests_per_minute", whole(1), "Control and regular calls a minute; lines of batches do not count"),
    ("active_batches", whole(0), "Batches at once that have not ended"),
    ("queued_lines", whole(0), "Lines waiting at once"),
    ("storage_bytes", whole(0), "Bytes of files kept; results count but are never refused"),
    ("weight", whole(1), "Share of free slots when several organizations have lines waiting"),
)

MODEL = (
    Setting("name", TEXT, "Name in the catalog", UNSET),
    Setting("upstream", TABLES, "URL of its server, or a list of URLs and `{url, api_key, model, weight}`", UNSET),
    Setting("endpoints", list_of(one_of(ENDPOINTS), "endpoints"), "Endpoints that it offers; all if none is given"),
    Setting("capacity", whole(1), f'Concurrent requests that its servers take well; "auto": {AUTO_CAPACITY}', 8),
    Setting("batch", FLAG, "Whether lines may use it; or the most slots that they may use", default=True),
    Setting("price", TABLE, "Micro-units per million tokens", {}),
)

UPSTREAM = (
    Setting("url", URL, "Base URL, up to and with `/v1`", UNSET),
    Setting("api_key", TEXT, "Sent to the server as its bearer token", secret=True),
    *_rows(
        "",
        Server,
        ("model", TEXT, "The server's own name of the model"),
        ("weight", whole(1), "Share of the calls among the servers of the model"),
    ),
)

PRICE = _rows(
    "",
    Price,
    ("input", whole(0), "Input tokens"),
    ("cached_input", whole(0), "Input tokens that the server had cached; as `input` if none is given"),
    ("output", whole(0), "Output tokens"),
)

SECTIONS: dict[str, tuple[Setting, ...]] = {
    "server": SERVER,
    "storage": STORAGE,
    "limits": LIMITS,
    "bootstrap": BOOTSTRAP,
}
"""The plain tables of the file."""

SETTINGS: tuple[Setting, ...] = (*TOP, *SERVER, *STORAGE, *LIMITS, *BOOTSTRAP, *TABLED)
"""Every setting that an environment variable can hold; tables are JSON there."""
