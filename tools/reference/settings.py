"""The page of settings."""

import json
from typing import Any

from msgspec import UNSET

from hornada.config.settings import PLAN, SECTIONS, TABLED, TOP
from hornada.core.model_table import MODEL, PRICE, UPSTREAM
from hornada.core.table import Setting
from tools.reference.markdown import code, head, table

INTRODUCTION = """
Flags beat the environment, the environment beats the file. The file is TOML; `hornada serve --config FILE` or
`HORNADA_CONFIG` names it. An unknown setting is an error. `hornada config` prints the settings in force.

In the environment, lists are separated by commas or spaces, and tables are written in JSON. An empty variable counts as
absent. `--host`, `--port`, `--data`, `--upstream` and `--role` are the flags of `server.host`, `server.port`, `data`,
`upstream` and `role`.
""".strip()


def page() -> str:
    """Every setting by section."""
    parts = [head("Settings", INTRODUCTION), "## Top of the file\n", _listed(TOP)]
    for name, settings in SECTIONS.items():
        parts += [f"\n## `[{name}]`\n", _listed(settings)]
    parts += ["\n## Tables\n", _listed(TABLED)]
    parts += ["\n### `[[models]]`\n", _fields(MODEL)]
    parts += ["\n### An entry of a model's `upstream`\n", _fields(UPSTREAM)]
    parts += ["\n### A model's `price`\n", _fields(PRICE)]
    parts += ["\n### `[plans.NAME]`\n", "The plan `default` is there even when none is given.\n", _fields(PLAN)]
    return "\n".join(parts) + "\n"


def _listed(settings: tuple[Setting, ...]) -> str:
    rows = [(code(s.key), code(s.variable), _default(s), f"{s.about}. Takes {s.kind.words}.") for s in settings]
    return table(("Setting", "Environment", "Default", "What it is"), rows)


def _fields(settings: tuple[Setting, ...]) -> str:
    return table(("Key", "Default", "What it is"), [(code(s.name), _default(s), f"{s.about}.") for s in settings])


def _default(setting: Setting) -> str:
    if setting.default is UNSET:
        return "required"
    empty: tuple[Any, ...] = (None, (), {})
    return "" if setting.default in empty else code(json.dumps(setting.default))
