"""Brings a database's schema to this version: numbered files, each run once, in order.

Old processes keep serving while a newer program migrates, so a file only adds. One that cannot has the line
``-- breaking``: programs that do not know it refuse to start on the database from then on. An index on a table that
grows is made as ``CREATE INDEX {online} name …``, in a file that holds nothing else: PostgreSQL then builds it beside
the traffic, outside of a transaction.
"""

import re
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from hornada.core.errors import Broken
from hornada.store.database import Tx

_COMMENT = re.compile(r"--[^\n]*")
_BREAKING = re.compile(r"^-- breaking$", re.MULTILINE)
_ONLINE = "{online}"
_TABLES = (
    "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY, applied_at BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS schema_floor (version BIGINT PRIMARY KEY)",
)


class Step(NamedTuple):
    """One file. ``online``: its statements run one by one, outside of a transaction, where the database wants that."""

    number: int
    statements: tuple[str, ...]
    breaking: bool
    online: bool
    topic: str = ""


class Version(NamedTuple):
    """What a database has, 0 when it is empty, what this program knows, and what a program must know to use it.

    ``missing``: the steps of this program that the database has not seen.
    """

    present: int
    known: int
    floor: int
    missing: tuple[int, ...]


async def version(tx: Tx) -> Version:
    """Where a database stands; nothing is made in it."""
    tables = {row["name"] for row in await tx.rows("SELECT name FROM {tables} AS tables")}
    seen = await _numbers(tx, "schema_version") if "schema_version" in tables else set()
    floors = await _numbers(tx, "schema_floor") if "schema_floor" in tables else set()
    missing = tuple(step.number for step in steps() if step.number not in seen)
    return Version(max(seen, default=0), steps()[-1].number, max(floors, default=0), missing)


async def require(tx: Tx) -> None:
    """Raises Broken when this program must not use the database as it is: it is older, or newer and incompatible."""
    found = await version(tx)
    _refuse_newer(found)
    if found.missing:
        message = f"the database has schema version {found.present}, this program needs {found.known}"
        raise Broken(f"{message}: run hornada migrate")


async def following(tx: Tx) -> Step | None:
    """The next step that the database has not seen; raises Broken when a newer version made it unusable."""
    found = await version(tx)
    _refuse_newer(found)
    return next((step for step in steps() if step.number in found.missing), None)


async def migrate(tx: Tx) -> list[int]:
    """Runs every step that is missing, in one transaction that excludes everybody else; their numbers."""
    done = []
    while (step := await following(tx)) is not None:
        await run(tx, step)
        done.append(step.number)
    return done


async def run(tx: Tx, step: Step) -> None:
    """Runs one step and notes it."""
    for statement in step.statements:
        await tx.run(statement)
    await note(tx, step)


async def note(tx: Tx, step: Step) -> None:
    """Writes down that a step was run."""
    for table in _TABLES:
        await tx.run(table)
    await tx.run("INSERT INTO schema_version (version, applied_at) VALUES (:number, {now})", number=step.number)
    if step.breaking:
        await tx.run("INSERT INTO schema_floor (version) VALUES (:number)", number=step.number)


@lru_cache
def steps() -> tuple[Step, ...]:
    """Every step, in order. Files are named ``0001_topic.sql``; a semicolon in them always ends a statement."""
    folder = resources.files("hornada.store") / "migrations"
    files = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    return tuple(sorted(_step(file.name, file.read_text("utf-8")) for file in files))


def _step(name: str, script: str) -> Step:
    statements = tuple(part.strip() for part in _COMMENT.sub("", script).split(";") if part.strip())
    online = [_ONLINE in statement for statement in statements]
    if any(online) and not all(online):
        raise ValueError(f"{name}: an index that is built {_ONLINE} needs a file of its own")
    number, _, topic = name.removesuffix(".sql").partition("_")
    return Step(int(number), statements, bool(_BREAKING.search(script)), any(online), topic.replace("_", " "))


def _refuse_newer(found: Version) -> None:
    if found.floor > found.known:
        message = f"the database has schema version {found.present}; whoever uses it must know {found.floor}"
        raise Broken(f"{message}, this program knows up to {found.known}: use a newer one")


async def _numbers(tx: Tx, table: str) -> set[int]:
    return {row["version"] for row in await tx.rows(f"SELECT version FROM {table}")}  # noqa: S608 - a word of ours
