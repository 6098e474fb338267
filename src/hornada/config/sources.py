"""Where settings come from: the file, then the environment, then flags; the later beats the earlier."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hornada.config.settings import SETTINGS
from hornada.core.errors import HornadaError
from hornada.core.table import Problems, Raw

PREFIX = "HORNADA_"
FILE_VARIABLE = "HORNADA_CONFIG"
URL_VARIABLE = "HORNADA_URL"
KEY_VARIABLE = "HORNADA_KEY"
CLIENT_VARIABLES = {"HORNADA_BASE_URL", "HORNADA_API_KEY"}
NO_SETTINGS = {FILE_VARIABLE, URL_VARIABLE, KEY_VARIABLE, "HORNADA_CRASH_AT", *CLIENT_VARIABLES}
"""Variables with a meaning of their own: the file to read, where commands find a server and the key that they send, and
where the crash suite ends the process.
"""


class ConfigError(HornadaError):
    """The configuration is wrong; ``lines`` hold one fault each, all that were found."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


def read_file(path: Path | None, problems: Problems) -> Raw:
    """The tables of a TOML file; none without a file."""
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problems.add(str(path), f"cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        problems.add(str(path), f"is not UTF-8: {error}")
    except ValueError as error:  # a TOMLDecodeError, or a number of thousands of digits
        problems.add(str(path), f"is not TOML: {error}")
    return {}


def read_environment(environ: Mapping[str, str], problems: Problems) -> Raw:
    """The settings among the environment variables. An empty variable counts as absent."""
    known = {setting.variable: setting for setting in SETTINGS}
    found: Raw = {}
    for name in sorted(environ):
        text = environ[name]
        if not name.startswith(PREFIX) or name in NO_SETTINGS or not text:
            continue
        setting = known.get(name)
        if setting is None:
            problems.unknown(name, name, [*known, FILE_VARIABLE], "environment variable")
            continue
        try:
            put(found, setting.key, setting.kind.parse(text))
        except json.JSONDecodeError as error:
            problems.add(name, f"must be {setting.kind.words} in JSON: {error}")
            continue
        except (ValueError, KeyError):
            problems.add(name, f"must be {setting.kind.words}, not {text!r}")
            continue
        problems.origins[setting.key] = name
    return found


def read_flags(flags: Mapping[str, Any], problems: Problems) -> Raw:
    """Flags by dotted key; None and an empty list are flags that were not given."""
    found: Raw = {}
    for key, value in flags.items():
        if value is not None and value != []:
            put(found, key, value)
            problems.origins.pop(key, None)
    return found


def put(tables: Raw, key: str, value: Any) -> None:
    """Sets ``a.b`` in nested tables."""
    *sections, name = key.split(".")
    for section in sections:
        tables = tables.setdefault(section, {})
    tables[name] = value


def merge(under: Raw, over: Raw) -> Raw:
    """Both layers; where both have a value the upper one's counts, sections are merged key by key."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        both = isinstance(below, dict) and isinstance(value, dict) and key != "dialects"
        merged[key] = merge(below, value) if both and isinstance(below, dict) else value
    return merged
