"""Tables of settings read row by row: what a row is, and how every fault of a table is found in one pass."""

import json
from difflib import get_close_matches
from typing import Any

from msgspec import UNSET, Struct, structs

from hornada.core.kinds import Kind

Raw = dict[str, Any]


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


def rows(section: str, owner: type[Struct], *fields: tuple[str, Kind, str]) -> tuple[Setting, ...]:
    """Rows for fields of ``owner``, with the defaults that they have there."""
    prefix = f"{section}." if section else ""
    defaults = {field.name: field.default for field in structs.fields(owner)}
    return tuple(Setting(prefix + name, kind, about, defaults[name]) for name, kind, about in fields)


class Problems:
    """Collects faults. ``origins``: key -> the environment variable that gave its value."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.origins: dict[str, str] = {}

    def add(self, key: str, message: str) -> None:
        """Notes a fault of the setting ``key``."""
        origin = f" (from {self.origins[key]})" if key in self.origins else ""
        self.lines.append(f"{key}: {message}{origin}")

    def unknown(self, key: str, name: str, known: list[str], what: str = "setting") -> None:
        """Notes a name that means nothing, with the nearest one that does."""
        near = get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f'; did you mean "{near[0]}"?' if near else "; known: " + (", ".join(known) or "none")
        self.add(key, f"unknown {what}{hint}")


def shown(value: Any) -> str:
    """A value as a message shows it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def join(where: str, name: str) -> str:
    """The key of something inside of ``where``; an empty ``where`` is the top."""
    plain = name.replace("_", "").replace("-", "").isalnum()
    spelled = name if plain else json.dumps(name, ensure_ascii=False)
    return f"{where}.{spelled}" if where else spelled


def check_known(table: Raw, where: str, names: list[str], problems: Problems) -> None:
    """Notes every key that is not among ``names``."""
    for key in table:
        if key not in names:
            problems.unknown(join(where, key), key, names)


def is_table(value: Any, where: str, problems: Problems) -> bool:
    """Whether a value is a table; notes it if not."""
    if not isinstance(value, dict):
        problems.add(where, f"must be a table, not {shown(value)}")
    return isinstance(value, dict)


def read_value(table: Raw, setting: Setting, where: str, problems: Problems) -> Any:
    """The value of one row; its default when it is absent or wrong, which is noted."""
    if setting.name not in table:
        if setting.default is UNSET:
            problems.add(join(where, setting.name), "is missing")
        return setting.default
    value = table[setting.name]
    try:
        return setting.kind.read(value)
    except ValueError:
        said = "***" if setting.secret else shown(value)
        problems.add(join(where, setting.name), f"must be {setting.kind.words}, not {said}")
        return setting.default


def read_table(table: Raw, settings: tuple[Setting, ...], where: str, problems: Problems) -> Raw:
    """The values of all rows by name; notes what else the table holds."""
    check_known(table, where, [setting.name for setting in settings], problems)
    return {setting.name: read_value(table, setting, where, problems) for setting in settings}
