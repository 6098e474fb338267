"""What tables a ledger has, as the database itself says, and their rows whatever they are."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hornada.core.errors import Broken
from hornada.store.database import Tx

_KINDS = {"text": "text", "bigint": "bigint", "blob": "bytes", "bytea": "bytes"}
_OWN = {"schema_version", "schema_floor"}
"""What says how far the schema is: a ledger that is migrated has its own."""


class Column(NamedTuple):
    """``kind``: ``text``, ``bigint`` or ``bytes``, the same in every database."""

    name: str
    kind: str


class Table(NamedTuple):
    """``key``: the columns of its primary key, in order."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    @property
    def listed(self) -> str:
        """The names of its columns, for a statement."""
        return ", ".join(column.name for column in self.columns)


async def tables(tx: Tx) -> list[Table]:
    """Every table but those of the schema's version, a table after those that it refers to.

    Raises Broken for a column of a type that is not known here, and for a table without a primary key.
    """
    names = sorted({row["name"] for row in await tx.rows("SELECT name FROM {tables} AS tables")} - _OWN)
    columns = await tx.rows("SELECT tbl, name, type, part FROM {columns} AS columns ORDER BY tbl, place")
    found = [_table(name, [row for row in columns if row["tbl"] == name]) for name in names]
    parents: dict[str, set[str]] = {name: set() for name in names}
    for row in await tx.rows("SELECT tbl, parent FROM {references} AS foreign_keys"):
        parents[row["tbl"]].add(row["parent"])
    return _after_parents(found, parents)


async def page(tx: Tx, table: Table, after: Any, most: int) -> Sequence[Any]:
    """Up to ``most`` rows in order of the primary key, from the one after the row ``after`` (None: the first) on."""
    keys = ", ".join(table.key)
    where = "" if after is None else f" WHERE ({keys}) > ({', '.join(f':{name}' for name in table.key)})"
    params = {} if after is None else {name: after[name] for name in table.key}
    statement = f"SELECT {table.listed} FROM {table.name}{where} ORDER BY {keys} LIMIT :most_"  # noqa: S608 - the schema's words
    return await tx.rows(statement, most_=most, **params)


async def add(tx: Tx, table: Table, rows: Sequence[Any]) -> None:
    """Inserts rows as they are."""
    values = ", ".join(f":{column.name}" for column in table.columns)
    await tx.many(
        f"INSERT INTO {table.name} ({table.listed}) VALUES ({values})",  # noqa: S608 - the schema's words
        [{column.name: row[column.name] for column in table.columns} for row in rows],
    )


async def count(tx: Tx, table: Table) -> int:
    """How many rows a table has."""
    row = await tx.row(f"SELECT COUNT(*) AS n FROM {table.name}")  # noqa: S608 - the schema's words
    assert row is not None
    return int(row["n"])


def _table(name: str, columns: Sequence[Any]) -> Table:
    for column in columns:
        if column["type"] not in _KINDS:
            raise Broken(f"the column {name}.{column['name']} is of the type {column['type']}, which cannot be copied")
    key = sorted((column["part"], column["name"]) for column in columns if column["part"])
    if not key:
        raise Broken(f"the table {name} has no primary key and cannot be copied")
    found = tuple(Column(column["name"], _KINDS[column["type"]]) for column in columns)
    return Table(name, found, tuple(part for _, part in key))


def _after_parents(found: list[Table], parents: dict[str, set[str]]) -> list[Table]:
    ordered: list[Table] = []
    left = {table.name: table for table in found}
    while left:
        free = [name for name in left if not (parents[name] - {name}) & left.keys()]
        if not free:
            raise Broken(f"the tables {', '.join(sorted(left))} refer to each other in a circle")
        ordered += [left.pop(name) for name in free]
    return ordered
