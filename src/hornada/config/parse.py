"""Raw tables to the frozen tree: every fault is found in one pass, defaults come last."""

from typing import Any

from hornada.config.settings import PLAN, SECTIONS, TABLED, TOP
from hornada.config.tree import (
    DIALECTS,
    BootstrapSettings,
    Config,
    EngineSettings,
    ProcessRole,
    ServerSettings,
    StorageSettings,
)
from hornada.core.account import Plan
from hornada.core.catalog import Model
from hornada.core.kinds import MODEL_NAME
from hornada.core.limits import Limits
from hornada.core.model_table import read_model
from hornada.core.money import BillingRules
from hornada.core.table import Problems, Raw, is_table, join, read_table, shown
from hornada.core.webhook import WebhookRules


def parse(raw: Raw, problems: Problems) -> Config | None:
    """The tree, or None when ``problems`` tell why there is none."""
    _check_top(raw, problems)
    top = read_table({key: value for key, value in raw.items() if key in {s.name for s in TOP}}, TOP, "", problems)
    sections = {name: _section(raw, name, problems) for name in SECTIONS}
    _check_dialects(sections["server"]["dialects"], problems)
    given = raw.get("storage", {})
    storage = _storage(given if isinstance(given, dict) else {}, top["data"])
    _check_role(top["role"], storage, problems)
    models = _models(raw.get("models", []), problems)
    names = {model.name for model in models}
    aliases = _aliases(raw.get("aliases", {}), names, problems, discovered=bool(top["upstream"]))
    plans = _plans(raw.get("plans", {}), problems)
    if problems.lines:
        return None
    return Config(
        server=ServerSettings(**sections["server"]),
        storage=storage,
        engine=EngineSettings(**sections["engine"]),
        limits=Limits(**sections["limits"]),
        billing=BillingRules(**sections["billing"]),
        webhooks=WebhookRules(**sections["webhooks"]),
        models=tuple(models),
        aliases=aliases,
        plans=plans,
        bootstrap=BootstrapSettings(**sections["bootstrap"]),
        upstream=top["upstream"],
        upstream_api_key=top["upstream_api_key"],
        upstream_ca_file=top["upstream_ca_file"],
        role=ProcessRole(top["role"]),
        data=top["data"],
    )


def _check_top(raw: Raw, problems: Problems) -> None:
    """Notes unknown keys; one that only misses its section is told which."""
    known = [*(setting.name for setting in (*TOP, *TABLED)), *SECTIONS]
    for key in raw:
        inside = [setting.key for section in SECTIONS.values() for setting in section if setting.name == key]
        if key not in known and inside:
            problems.unknown(key, inside[0], inside)
        elif key not in known:
            problems.unknown(join("", key), key, known)


def _section(raw: Raw, name: str, problems: Problems) -> Raw:
    given = raw.get(name, {})
    return read_table(given if is_table(given, name, problems) else {}, SECTIONS[name], name, problems)


def _storage(given: Raw, data: str) -> StorageSettings:
    return StorageSettings(
        database=given.get("database", f"sqlite:///{data}/ledger.db"),
        blobs=given.get("blobs", f"file://{data}/blobs"),
        migrate=given.get("migrate", True),
        connections=given.get("connections", 8),
    )


def _check_dialects(dialects: dict[str, Any], problems: Problems) -> None:
    if not dialects:
        problems.add("server.dialects", "must mount at least one dialect")
    for path, name in dialects.items():
        where = join("server.dialects", path)
        if not path.startswith("/") or path != path.rstrip("/") or any(c in path for c in " ?#{}"):
            problems.add(where, 'must be a path that starts with "/" and does not end with it, such as "/v1"')
        if name not in DIALECTS:
            problems.unknown(where, str(name), list(DIALECTS), f"dialect {shown(name)}")


def _check_role(role: str, storage: StorageSettings, problems: Problems) -> None:
    if role != ProcessRole.ALL and not storage.shared:
        problems.add(
            "role",
            f'"{role}" needs what several processes can share: storage.database = "postgresql://…" and '
            'storage.blobs = "s3://…"; otherwise one process does all',
        )


def _plans(given: Any, problems: Problems) -> dict[str, Plan]:
    plans = {"default": Plan()}
    for name, table in (given if is_table(given, "plans", problems) else {}).items():
        where = join("plans", name)
        if is_table(table, where, problems):
            plans[name] = Plan(name=name, **read_table(table, PLAN, where, problems))
    return plans


def _aliases(given: Any, models: set[str], problems: Problems, *, discovered: bool) -> dict[str, str]:
    found = given if is_table(given, "aliases", problems) else {}
    for alias, name in found.items():
        where = join("aliases", alias)
        if not MODEL_NAME.allows(alias):
            problems.add("aliases", f"an alias must be {MODEL_NAME.words}, not {shown(alias)}")
            continue
        if alias in models:
            problems.add(where, "is also the name of a model; an alias must have a name of its own")
        if not isinstance(name, str):
            problems.add(where, f"must be the name of a model, not {shown(name)}")
        elif name not in models and not discovered:
            problems.unknown(where, str(name), sorted(models), f"model {shown(name)}")
    return found


def _models(given: Any, problems: Problems) -> list[Model]:
    if not isinstance(given, list):
        problems.add("models", f"must be a list of tables ([[models]]), not {shown(given)}")
        return []
    found: dict[str, Model] = {}
    for index, table in enumerate(given):
        where = f"models[{index}]"
        model = read_model(table, where, problems) if is_table(table, where, problems) else None
        if model is None:
            continue
        if model.name in found:
            problems.add(f"{where}.name", f"two models are named {shown(model.name)}")
        found[model.name] = model
    return list(found.values())
