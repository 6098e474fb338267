"""``hornada config``: the settings in force, with secrets masked."""

import json
from collections.abc import Iterator
from typing import Any

import typer
from msgspec import structs

from hornada.cli.settings import ConfigFlag, DataFlag, HostFlag, PortFlag, RoleFlag, UpstreamFlag, settings
from hornada.config import Config
from hornada.core.model_table import MASK, masked, write_model


def show(
    config: ConfigFlag = None,
    host: HostFlag = None,
    port: PortFlag = None,
    data: DataFlag = None,
    upstream: UpstreamFlag = None,
    role: RoleFlag = None,
) -> None:
    """Print the settings in force, as a file, with secrets masked."""
    flags = {"server.host": host, "server.port": port, "data": data, "upstream": upstream, "role": role}
    typer.echo("\n".join(toml(settings(config, flags))))


def toml(config: Config) -> Iterator[str]:
    """The lines of a TOML file that says the same as ``config``; keys and passwords are masked."""
    urls, key = [masked(url) for url in config.upstream] or None, MASK if config.upstream_api_key else None
    top = {"role": config.role, "data": config.data, "upstream": urls, "upstream_api_key": key}
    yield from _pairs({**top, "upstream_ca_file": config.upstream_ca_file})
    server, bootstrap = config.server, config.bootstrap
    key = MASK if server.operator_key else None
    flat = {name: getattr(server, name) for name in server.__struct_fields__ if name != "dialects"}
    flat |= {"operator_key": key, "cors_origins": server.cors_origins or None}
    yield from _section("server", flat)
    yield from _section("server.dialects", server.dialects)
    storage: dict[str, Any] = {"database": masked(config.storage.database), "blobs": masked(config.storage.blobs)}
    storage |= {"migrate": config.storage.migrate, "connections": config.storage.connections}
    yield from _section("storage", storage)
    for name in ("engine", "limits", "billing", "webhooks"):
        shown = structs.asdict(getattr(config, name))
        yield from _section(name, {key: value for key, value in shown.items() if value != ()})
    for model in config.models:
        yield from _section("[models]", write_model(model))
    yield from _section("aliases", config.aliases)
    for name, plan in config.plans.items():
        values = {field: getattr(plan, field) for field in plan.__struct_fields__ if field != "name"}
        yield from _section(f"plans.{_key(name)}", values)
    key = MASK if bootstrap.key else None
    yield from _section("bootstrap", {"organization": bootstrap.organization, "key": key, "credit": bootstrap.credit})


def _section(name: str, values: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield f"[{name}]"
    yield from _pairs(values)


def _pairs(values: dict[str, Any]) -> Iterator[str]:
    return (f"{_key(name)} = {_value(value)}" for name, value in values.items() if value is not None)


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(_pairs(value)) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    return json.dumps(value, ensure_ascii=False)
