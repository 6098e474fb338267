"""Every setting, one row each: key, kind, default and what it is for; the reference is generated from here."""

from hornada.config.tree import (
    DEFAULT_DATA,
    DEFAULT_DIALECTS,
    BootstrapSettings,
    EngineSettings,
    ProcessRole,
    ServerSettings,
)
from hornada.core.account import Plan
from hornada.core.kinds import (
    BLOBS,
    DATABASE,
    FLAG,
    MOST_SECONDS,
    NETWORKS,
    ORIGINS,
    SECRET,
    TABLE,
    TABLES,
    TEXT,
    URL,
    URLS,
    one_of,
    seconds,
    whole,
)
from hornada.core.limits import Limits
from hornada.core.money import MOST_AMOUNT, BillingRules
from hornada.core.table import Setting, rows
from hornada.core.webhook import WebhookRules

TOP = (
    Setting(
        "role",
        one_of(ProcessRole),
        'What this process does: answer calls ("api"), run batches ("worker"), or both; either alone needs a ledger in '
        "PostgreSQL and a bucket",
        "all",
    ),
    Setting("data", TEXT, "Folder of the ledger and the blobs, where `[storage]` does not say otherwise", DEFAULT_DATA),
    Setting("upstream", URLS, "Model servers whose models are discovered and offered for everything", ()),
    Setting("upstream_api_key", SECRET, "Sent to those servers as the bearer token", secret=True),
    Setting("upstream_ca_file", TEXT, "PEM file of authorities to believe beside the system's when they use TLS"),
)

SERVER = (
    *rows(
        "server",
        ServerSettings,
        ("host", TEXT, "Address to listen on"),
        ("port", whole(0, 65535), "Port to listen on; 0 lets the system choose"),
        ("batches", FLAG, "When false, every `/batches` path answers 404"),
        ("dashboard", FLAG, "When false, there is no dashboard at `/ui`"),
        ("shutdown_grace_s", seconds(0), "Seconds that calls in flight get when the server is asked to stop"),
        (
            "log_level",
            one_of(("debug", "info", "warning", "error")),
            "What is logged on stderr: this and what is graver",
        ),
        ("log_format", one_of(("text", "json")), 'How a line of the log looks; "json" is one object a line'),
        ("access_log", FLAG, "Log every call with its request id and the id of its key"),
        ("tls_certificate", TEXT, "PEM file of the certificate and its chain; with `tls_key` the server speaks TLS"),
        ("tls_key", TEXT, "PEM file of the certificate's private key, without a passphrase"),
        (
            "otlp_endpoint",
            URL,
            "OpenTelemetry collector that traces are sent to (extra `otel`); `OTEL_*` says the rest",
        ),
        ("cors_origins", ORIGINS, 'Pages of other sites that may call from a browser; "*" for every site'),
    ),
    Setting("server.operator_key", SECRET, "Key of the operator, who administers every organization", secret=True),
    Setting("server.dialects", TABLE, "Base path to dialect; what is given replaces the default", DEFAULT_DIALECTS),
)

STORAGE = (
    Setting("storage.database", DATABASE, "The ledger", "sqlite:///DATA/ledger.db"),
    Setting(
        "storage.blobs",
        BLOBS,
        "Where files and results lie; a bucket may be followed by `?endpoint=URL&region=NAME`",
        "file://DATA/blobs",
    ),
    Setting(
        "storage.migrate",
        FLAG,
        "Bring the ledger up to date at the start; when false, an older one is refused until `hornada migrate` was run",
        default=True,
    ),
    Setting("storage.connections", whole(4, 100), "Most connections to PostgreSQL, beside the one that listens", 8),
)

ENGINE = rows(
    "engine",
    EngineSettings,
    (
        "lease_ttl_s",
        seconds(1),
        "Seconds after which one of several processes is taken for dead when it is silent; others go on for it",
    ),
)

LIMITS = rows(
    "limits",
    Limits,
    ("file_bytes", whole(1), "Largest file to upload, in bytes"),
    ("line_bytes", whole(1), "Longest line of an input file, in bytes"),
    ("lines", whole(1), "Most requests in an input file"),
    ("embedding_inputs", whole(1), "Most embedding inputs in an input file, all lines together"),
    ("batch_lifetime_s", whole(1, MOST_SECONDS), "Seconds from a batch's creation to its expiry"),
    ("file_lifetime_s", whole(1, MOST_SECONDS), "Seconds for which a file is kept"),
    (
        "upstream_timeout_s",
        seconds(0.001),
        "Deadline of one call to a model server, in seconds; of a stream none in all, only from one piece to the next",
    ),
    ("response_bytes", whole(1), "Largest answer of a model server, in bytes"),
    ("request_bytes", whole(1), "Largest body of a regular call, in bytes"),
    (
        "min_free_bytes",
        whole(0),
        "Bytes to keep free on the disk, or uploads are refused; 1 GiB or 2 % of it, the larger, if none is given",
    ),
)

BILLING = rows(
    "billing",
    BillingRules,
    ("currency", TEXT, "What a million micro-units are called"),
    (
        "missing_usage",
        one_of(("estimate", "zero")),
        'Where a model server reports no usage: "estimate" takes four bytes for a token, "zero" charges nothing',
    ),
    (
        "ask_stream_usage",
        FLAG,
        "Ask model servers for the usage of streams (`stream_options.include_usage`) though the client did not",
    ),
    (
        "entry_days",
        whole(0, 100_000),
        "Days for which entries of the ledger are kept one by one; older ones become sums by day. 0: for ever",
    ),
)

WEBHOOKS = rows(
    "webhooks",
    WebhookRules,
    ("enabled", FLAG, "When false, there are no webhooks, and their paths answer 404"),
    ("allow_http", FLAG, "Take `http` URLs too, which anybody on the way can read"),
    ("allow_private", FLAG, "Send to any address, this machine and its network included"),
    ("allow_networks", NETWORKS, "Networks that may be sent to though they are not public"),
    ("timeout_s", seconds(0.1), "Deadline of one attempt, from looking the name up to the answer, in seconds"),
    ("endpoints", whole(0, 1000), "Most endpoints of an organization"),
    (
        "disable_after_s",
        whole(3600, MOST_SECONDS),
        "Seconds after which an endpoint is disabled to which nothing could be delivered, though it was tried each day",
    ),
    ("log_lifetime_s", whole(60, MOST_SECONDS), "Seconds for which a delivery that has ended stays in the log"),
)

BOOTSTRAP = (
    *rows("bootstrap", BootstrapSettings, ("organization", TEXT, "Name of the first organization")),
    Setting("bootstrap.key", SECRET, "Its key; one is made and printed once if none is given", secret=True),
    Setting("bootstrap.credit", whole(0, MOST_AMOUNT), "Its credit in micro-units; unlimited if none is given"),
)

TABLED = (
    Setting("models", TABLES, "The catalog: one `[[models]]` for each model", ()),
    Setting("aliases", TABLE, "Other names of models", {}),
    Setting("plans", TABLE, "What an organization may use: one `[plans.NAME]` for each", {}),
)

PLAN = rows(
    "",
    Plan,
    ("requests_per_minute", whole(1), "Control and regular calls a minute; lines of batches do not count"),
    ("active_batches", whole(0), "Batches at once that have not ended"),
    ("queued_lines", whole(0), "Lines waiting at once"),
    ("storage_bytes", whole(0), "Bytes of files kept; results count but are never refused"),
    ("weight", whole(1), "Share of free slots when several organizations have lines waiting"),
)

SECTIONS: dict[str, tuple[Setting, ...]] = {
    "server": SERVER,
    "storage": STORAGE,
    "engine": ENGINE,
    "limits": LIMITS,
    "billing": BILLING,
    "webhooks": WEBHOOKS,
    "bootstrap": BOOTSTRAP,
}
"""The plain tables of the file."""

SETTINGS: tuple[Setting, ...] = (*TOP, *SERVER, *STORAGE, *ENGINE, *LIMITS, *BILLING, *WEBHOOKS, *BOOTSTRAP, *TABLED)
"""Every setting that an environment variable can hold; tables are JSON there."""
