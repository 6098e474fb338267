"""Raw tables to the frozen tree: every fault is found in one pass, defaults come last."""

import json
from typing import Any

from msgspec import UNSET

from hornada.config.kinds import URL
from hornada.config.settings import (
    AUTO_CAPACITY,
    MODEL,
    PLAN,
    PRICE,
    SECTIONS,
    TABLED,
    TOP,
    UPSTREAM,
    Setting,
)
from hornada.config.sources import Problems, Raw
from hornada.config.tree import (
    DIALECTS,
    BootstrapSettings,
    Config,
    ProcessRole,
    ServerSettings,
    StorageSettings,
)
from hornada.core.account import Plan
from hornada.core.catalog import Model, Price, Server
from hornada.core.limits import Limits


def parse(raw: Raw, problems: Problems) -> Config | None:
    """The tree, or None when ``problems`` tell why there is none."""
    _known(raw, "", [*(s.name for s in (*TOP, *TABLED)), *SECTIONS], problems)
    top = _table({key: value for key, value in raw.items() if key in {s.name for s in TOP}}, TOP, "", problems)
    sections = {name: _section(raw, name, problems) for name in SECTIONS}
    _check_dialects(sections["server"]["dialects"], problems)
    _check_role(top["role"], problems)
    notes: list[str] = []
    models = _models(raw.get("models", []), problems, notes)
    names = {model.name for model in models}
    aliases = _aliases(raw.get("aliases", {}), names, problems, discovered=bool(top["upstream"]))
    plans = _plans(raw.get("plans", {}), problems)
    if problems.lines:
        return None
    return Config(
        server=ServerSettings(**sections["server"]),
        storage=_storage(raw.get("storage", {}), top["data"]),
        limits=Limits(**sections["limits"]),
        models=tuple(models),
        aliases=aliases,
        plans=plans,
        bootstrap=BootstrapSettings(**sections["bootstrap"]),
        upstream=top["upstream"],
        upstream_api_key=top["upstream_api_key"],
        role=ProcessRole(top["role"]),
        data=top["data"],
        notes=tuple(notes),
    )


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def _join(where: str, name: str) -> str:
    plain = name.replace("_", "").replace("-", "").isalnum()
    spelled = name if plain else json.dumps(name, ensure_ascii=False)
    return f"{where}.{spelled}" if where else spelled


def _known(table: Raw, where: str, names: list[str], problems: Problems) -> None:
    for key in table:
        if key not in names:
            problems.unknown(_join(where, key), key, names)


def _is_table(value: Any, where: str, problems: Problems) -> bool:
    if not isinstance(value, dict):
        problems.add(where, f"must be a table, not {_shown(value)}")
    return isinstance(value, dict)


def _value(table: Raw, setting: Setting, where: str, problems: Problems) -> Any:
    if setting.name not in table:
        if setting.default is UNSET:
            problems.add(_join(where, setting.name), "is missing")
        return setting.default
    value = table[setting.name]
    try:
        return setting.kind.read(value)
    except ValueError:
        shown = "***" if setting.secret else _shown(value)
        problems.add(_join(where, setting.name), f"must be {setting.kind.words}, not {shown}")
        return setting.default


def _table(table: Raw, settings: tuple[Setting, ...], where: str, problems: Problems) -> Raw:
    _known(table, where, [setting.name for setting in settings], problems)
    return {setting.name: _value(table, setting, where, problems) for setting in settings}


def _section(raw: Raw, name: str, problems: Problems) -> Raw:
    given = raw.get(name, {})
    return _table(given if _is_table(given, name, problems) else {}, SECTIONS[name], name, problems)


def _storage(given: Raw, data: str) -> StorageSettings:
    return StorageSettings(
        database=given.get("database", f"sqlite:///{data}/ledger.db"),
        blobs=given.get("blobs", f"file://{data}/blobs"),
    )


def _check_dialects(dialects: dict[str, Any], problems: Problems) -> None:
    if not dialects:
        problems.add("server.dialects", "must mount at least one dialect")
    for path, name in dialects.items():
        where = _join("server.dialects", path)
        if not path.startswith("/") or path != path.rstrip("/") or any(c in path for c in " ?#{}"):
            problems.add(where, 'must be a path that starts with "/" and does not end with it, such as "/v1"')
        if name not in DIALECTS:
            problems.unknown(where, str(name), list(DIALECTS), f"dialect {_shown(name)}")


def _check_role(role: str, problems: Problems) -> None:
    if role != ProcessRole.ALL:
        problems.add(
            "role",
            f'"{role}" needs a ledger that several processes share, which is not built yet; only "all" works',
        )


def _plans(given: Any, problems: Problems) -> dict[str, Plan]:
    plans = {"default": Plan()}
    for name, table in (given if _is_table(given, "plans", problems) else {}).items():
        where = _join("plans", name)
        if _is_table(table, where, problems):
            plans[name] = Plan(name=name, **_table(table, PLAN, where, problems))
    return plans


def _aliases(given: Any, models: set[str], problems: Problems, *, discovered: bool) -> dict[str, str]:
    found = given if _is_table(given, "aliases", problems) else {}
    for alias, name in found.items():
        where = _join("aliases", alias)
        if alias in models:
            problems.add(where, "is also the name of a model; an alias must have a name of its own")
        if not isinstance(name, str):
            problems.add(where, f"must be the name of a model, not {_shown(name)}")
        elif name not in models and not discovered:
            problems.unknown(where, str(name), sorted(models), f"model {_shown(name)}")
    return found


def _models(given: Any, problems: Problems, notes: list[str]) -> list[Model]:
    if not isinstance(given, list):
        problems.add("models", f"must be a list of tables ([[models]]), not {_shown(given)}")
        return []
    found: dict[str, Model] = {}
    for index, table in enumerate(given):
        where = f"models[{index}]"
        model = _model(table, where, problems, notes) if _is_table(table, where, problems) else None
        if model is None:
            continue
        if model.name in found:
            problems.add(f"{where}.name", f"two models are named {_shown(model.name)}")
        found[model.name] = model
    return list(found.values())


def _model(table: Raw, where: str, problems: Problems, notes: list[str]) -> Model | None:
    special = {"upstream", "capacity", "batch", "price"}
    _known(table, where, [setting.name for setting in MODEL], problems)
    plain = tuple(setting for setting in MODEL if setting.name not in special)
    values = _table({k: v for k, v in table.items() if k in {s.name for s in plain}}, plain, where, problems)
    servers = _servers(table.get("upstream", UNSET), f"{where}.upstream", problems)
    price = table.get("price", {})
    prices = _table(price if _is_table(price, f"{where}.price", problems) else {}, PRICE, f"{where}.price", problems)
    capacity = _capacity(table, where, problems, notes)
    slots = _batch_slots(table, capacity, where, problems)
    if values["name"] is UNSET:
        return None
    return Model(
        name=values["name"],
        servers=servers,
        endpoints=frozenset(values["endpoints"]) if values["endpoints"] else None,
        capacity=capacity,
        batch_slots=slots,
        price=Price(**prices),
    )


def _capacity(table: Raw, where: str, problems: Problems, notes: list[str]) -> int:
    if table.get("capacity") != "auto":
        setting = next(setting for setting in MODEL if setting.name == "capacity")
        capacity: int = _value(table, setting, where, problems)
        return capacity
    notes.append(f'model {table.get("name")}: capacity "auto" is {AUTO_CAPACITY} until limits are learned')
    return AUTO_CAPACITY


def _batch_slots(table: Raw, capacity: int, where: str, problems: Problems) -> int:
    batch = table.get("batch", True)
    if isinstance(batch, bool):
        return capacity if batch else 0
    if not isinstance(batch, int) or not 0 <= batch <= capacity:
        problems.add(
            f"{where}.batch",
            f"must be true, false or a number of slots from 0 to the capacity, {capacity}, not {_shown(batch)}",
        )
        return 0
    return batch


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
        values = _table(entry, UPSTREAM, where, problems)
        return Server(**{**values, "url": "" if values["url"] is UNSET else values["url"]})
    try:
        return Server(url=URL.read(entry))
    except ValueError:
        problems.add(where, f"must be {URL.words}, not {_shown(entry)}")
        return Server(url="")
