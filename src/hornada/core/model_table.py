"""A model as a table says it, the same in the configuration and in a call of the operator."""

from typing import Any
from urllib.parse import urlsplit

from msgspec import UNSET
from msgspec.structs import replace

from hornada.core.catalog import ENDPOINTS, MOST_PRICE, MOST_SLOTS, Model, Price, Server
from hornada.core.errors import Code, Refusal
from hornada.core.kinds import FLAG, MODEL_NAME, NAME, SECRET, TABLE, TABLES, TEXT, URL, list_of, one_of, share, whole
from hornada.core.table import Problems, Raw, Setting, check_known, is_table, join, read_table, read_value, rows, shown

MASK = "***"
"""Stands for a secret wherever one would be shown."""
AUTO_CAPACITY = 8
"""Where ``capacity = "auto"`` begins to learn."""

_SLOTS = replace(whole(1), words=f'{whole(1).words}, or "auto"')

MODEL = (
    Setting("name", MODEL_NAME, "Name in the catalog", UNSET),
    Setting(
        "upstream", TABLES, "URL of its server, or a list of URLs and `{url, api_key, model, weight, ca_file}`", UNSET
    ),
    Setting("endpoints", list_of(one_of(ENDPOINTS), "endpoints"), "Endpoints that it offers; all if none is given"),
    Setting("capacity", _SLOTS, 'Concurrent requests that its servers take well, or "auto" to learn it', AUTO_CAPACITY),
    Setting("batch", FLAG, "Whether lines may use it; or the most slots that they may use", default=True),
    Setting(
        "reserve",
        whole(0),
        "Slots that lines leave free for regular calls; by default a sixteenth of them, at most 4, while there are any",
    ),
    Setting(
        "harm",
        share(10),
        "By what part lines may raise the 95th percentile of regular calls' time to first byte; no limit by default",
    ),
    Setting(
        "batch_priority",
        whole(-(2**31), 2**31 - 1),
        "`priority` that lines are sent with where the server takes one (vLLM: the higher, the later); none by default",
    ),
    Setting("price", TABLE, "Micro-units per million tokens", {}),
)

UPSTREAM = (
    Setting("url", URL, "Base URL, up to and with `/v1`", UNSET),
    Setting("api_key", SECRET, "Sent to the server as its bearer token", secret=True),
    *rows(
        "",
        Server,
        ("model", NAME, "The server's own name of the model"),
        ("weight", whole(1), "Share of the calls among the servers of the model"),
        ("ca_file", TEXT, "PEM file of authorities to believe beside the system's when it is reached over TLS"),
    ),
)

PRICE = rows(
    "",
    Price,
    ("input", whole(0, MOST_PRICE), "Input tokens"),
    ("cached_input", whole(0, MOST_PRICE), "Input tokens that the server had cached; as `input` if none is given"),
    ("output", whole(0, MOST_PRICE), "Output tokens"),
)

_SPECIAL = {"upstream", "price", "capacity", "batch", "reserve"}
_PLAIN = tuple(setting for setting in MODEL if setting.name not in _SPECIAL)
_NAMED = {setting.name: setting for setting in MODEL}


def read_model(table: Raw, where: str, problems: Problems) -> Model | None:
    """The model of a table; ``problems`` get every fault, and None is given when it has no name.

    ``where``: the key of the table, empty for the top.
    """
    check_known(table, where, list(_NAMED), problems)
    plain = read_table({k: v for k, v in table.items() if k in {s.name for s in _PLAIN}}, _PLAIN, where, problems)
    servers = _servers(table.get("upstream", UNSET), join(where, "upstream"), problems)
    price = read_price(table.get("price", {}), join(where, "price"), problems)
    auto = table.get("capacity") == "auto"
    capacity = AUTO_CAPACITY if auto else read_value(table, _NAMED["capacity"], where, problems)
    most = MOST_SLOTS if auto else capacity
    slots = _batch_slots(table, most, where, problems)
    reserve = _reserve(table, most, where, problems)
    if plain["name"] is UNSET:
        return None
    return Model(
        name=plain["name"],
        servers=servers,
        endpoints=frozenset(plain["endpoints"]) if plain["endpoints"] else None,
        capacity=capacity,
        auto=auto,
        batch_slots=slots,
        reserve=reserve,
        harm=plain["harm"],
        batch_priority=plain["batch_priority"],
        price=price,
    )


def read_price(table: Any, where: str, problems: Problems) -> Price:
    """The price of a table."""
    return Price(**read_table(table if is_table(table, where, problems) else {}, PRICE, where, problems))


def _batch_slots(table: Raw, capacity: int, where: str, problems: Problems) -> int:
    batch = table.get("batch", True)
    if isinstance(batch, bool):
        return capacity if batch else 0
    if not isinstance(batch, int) or not 0 <= batch <= capacity:
        problems.add(
            join(where, "batch"),
            f"must be true, false or a number of slots from 0 to the capacity, {capacity}, not {shown(batch)}",
        )
        return 0
    return batch


def _reserve(table: Raw, capacity: int, where: str, problems: Problems) -> int | None:
    reserve: int | None = read_value(table, _NAMED["reserve"], where, problems)
    if reserve is not None and reserve > capacity:
        problems.add(join(where, "reserve"), f"must be at most the capacity, {capacity}, not {reserve}")
    return reserve


def _servers(given: Any, where: str, problems: Problems) -> tuple[Server, ...]:
    if given is UNSET:
        problems.add(where, "is missing")
        return ()
    several = isinstance(given, list)
    entries = given if several else [given]
    if not entries:
        problems.add(where, "must name at least one server, not []")
    return tuple(
        _server(entry, f"{where}[{index}]" if several else where, problems) for index, entry in enumerate(entries)
    )


def _server(entry: Any, where: str, problems: Problems) -> Server:
    if isinstance(entry, dict):
        values = read_table(entry, UPSTREAM, where, problems)
        return Server(**{**values, "url": "" if values["url"] is UNSET else values["url"]})
    try:
        return Server(url=URL.read(entry))
    except ValueError:
        problems.add(where, f"must be {URL.words}, not {shown(entry)}")
        return Server(url="")


def write_model(model: Model) -> Raw:
    """The table that says the same as a model, its keys and passwords masked."""
    return {
        "name": model.name,
        "upstream": [_write_server(server) for server in model.servers],
        "endpoints": None if model.endpoints is None else sorted(model.endpoints),
        "capacity": "auto" if model.auto else model.capacity,
        "batch": model.batch_slots if model.batch_slots < MOST_SLOTS or not model.auto else True,
        "reserve": model.reserve,
        "harm": model.harm,
        "batch_priority": model.batch_priority,
        "price": {name: getattr(model.price, name) for name in model.price.__struct_fields__},
    }


def unmask(model: Model, before: Model | None) -> Model:
    """The model with the secrets that ``before`` has where its own are masked: it was shown, changed and sent back.

    Raises Refusal INVALID_VALUE for a masked secret that nothing is known of.
    """
    known = {masked(server.url): server for server in (before.servers if before else ())}
    return replace(model, servers=tuple(_unmask(server, known.get(masked(server.url))) for server in model.servers))


def masked(url: str) -> str:
    """A URL without its password and without the values of its query."""
    parts = urlsplit(url)
    if parts.password:
        url = url.replace(f":{parts.password}@", f":{MASK}@", 1)
    if parts.query:
        names = "&".join(f"{pair.partition('=')[0]}={MASK}" for pair in parts.query.split("&"))
        url = url.replace(f"?{parts.query}", f"?{names}", 1)
    return url


def _write_server(server: Server) -> Raw:
    key = MASK if server.api_key else None
    plain = {name: getattr(server, name) for name in ("model", "weight", "ca_file")}
    return {"url": masked(server.url), "api_key": key, **plain}


def _unmask(server: Server, before: Server | None) -> Server:
    if MASK not in server.url and server.api_key != MASK:
        return server
    if before is None or (server.api_key == MASK and before.api_key is None):
        raise Refusal(Code.INVALID_VALUE, f"'{MASK}' stands for a secret, and none is known for this URL.", "upstream")
    url = before.url if MASK in server.url else server.url
    return replace(server, url=url, api_key=before.api_key if server.api_key == MASK else server.api_key)
