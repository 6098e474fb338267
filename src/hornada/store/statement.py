"""Statements in each database's own words.

Beside the four words that ``hornada.store.database`` names, migrations know ``{blob}`` and ``{online}``. What a
database holds is in ``{tables}`` (name), ``{columns}`` (tbl, name, type, place, and part: the number in the primary key
or 0) and ``{references}`` (tbl, parent). A word or a ``:name`` inside a quoted text or a comment stays as it is.
"""

import re
from functools import lru_cache
from typing import NamedTuple

_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "[^"]*" | --[^\n]* | :: | :(?P<name>[a-z_]\w*) | \{(?P<word>\w+)\}""", re.VERBOSE
)
_NOW = "now_"
_SQLITE = {
    "now": f":{_NOW}",
    "skip_locked": "",
    "for_update": "",
    "blob": "BLOB",
    "joined": "group_concat",
    "online": "IF NOT EXISTS",
    "tables": "(SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%')",
    "columns": "(SELECT t.name AS tbl, c.name AS name, lower(c.type) AS type, c.cid AS place, c.pk AS part"
    " FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table')",
    "references": '(SELECT t.name AS tbl, f."table" AS parent'
    " FROM sqlite_master AS t JOIN pragma_foreign_key_list(t.name) AS f WHERE t.type = 'table')",
}
_POSTGRES = {
    "now": "(extract(epoch from clock_timestamp()) * 1000000)::bigint",
    "skip_locked": "FOR UPDATE SKIP LOCKED",
    "for_update": "FOR UPDATE",
    "blob": "BYTEA",
    "joined": "string_agg",
    "online": "CONCURRENTLY IF NOT EXISTS",
    "tables": "(SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema())",
    "columns": "(SELECT t.relname AS tbl, c.attname AS name, format_type(c.atttypid, c.atttypmod) AS type,"
    " c.attnum AS place, coalesce(array_position(k.indkey::int2[], c.attnum) + 1, 0) AS part FROM pg_class AS t"
    " JOIN pg_attribute AS c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped"
    " LEFT JOIN pg_index AS k ON k.indrelid = t.oid AND k.indisprimary"
    " WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace)",
    "references": "(SELECT c.relname AS tbl, p.relname AS parent FROM pg_constraint AS f"
    " JOIN pg_class AS c ON c.oid = f.conrelid JOIN pg_class AS p ON p.oid = f.confrelid"
    " WHERE f.contype = 'f' AND c.relnamespace = current_schema()::regnamespace)",
}


class Statement(NamedTuple):
    """What the driver gets. ``names``: the parameters in the order of their first appearance."""

    text: str
    names: tuple[str, ...]

    @property
    def asks_time(self) -> bool:
        """Whether the time must be bound as the parameter ``now_``."""
        return _NOW in self.names


@lru_cache(maxsize=1024)
def for_sqlite(sql: str) -> Statement:
    """Keeps ``:name``, which SQLite speaks; ``{now}`` becomes the parameter ``now_``."""
    text = _worded(sql, _SQLITE)
    return Statement(text, tuple(dict.fromkeys(found["name"] for found in _TOKEN.finditer(text) if found["name"])))


@lru_cache(maxsize=1024)
def for_postgres(sql: str, *, bound_time: bool = False) -> Statement:
    """Turns ``:name`` into ``$n``; ``{now}`` is the server's clock, or with ``bound_time`` the parameter ``now_``."""
    numbers: dict[str, int] = {}

    def place(found: re.Match[str]) -> str:
        name = found["name"]
        return found[0] if name is None else f"${numbers.setdefault(name, len(numbers) + 1)}"

    words = _POSTGRES | {"now": f"CAST(:{_NOW} AS bigint)"} if bound_time else _POSTGRES
    text = _TOKEN.sub(place, _worded(sql, words))
    return Statement(text, tuple(numbers))


def _worded(sql: str, words: dict[str, str]) -> str:
    return _TOKEN.sub(lambda found: words[found["word"]] if found["word"] else found[0], sql)
