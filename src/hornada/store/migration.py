"""Brings a database's schema to this version: numbered files, each run once."""

import re
from importlib import resources

from hornada.core.errors import Broken
from hornada.store.database import Tx

_COMMENT = re.compile(r"--[^\n]*")


async def migrate(tx: Tx) -> None:
    """Runs the files that the database has not seen, in a transaction that excludes everybody else.

    Raises Broken when the database was written by a newer version.
    """
    await tx.run("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY, applied_at BIGINT NOT NULL)")
    row = await tx.row("SELECT coalesce(max(version), 0) AS version FROM schema_version")
    present = row["version"] if row else 0
    steps = _steps()
    if present > max(steps):
        message = f"the database has schema version {present}, this program knows up to {max(steps)}: use a newer one"
        raise Broken(message)
    for number, statements in sorted(steps.items()):
        if number > present:
            for statement in statements:
                await tx.run(statement)
            await tx.run("INSERT INTO schema_version (version, applied_at) VALUES (:number, {now})", number=number)


def _steps() -> dict[int, list[str]]:
    """Number -> statements. Files are named ``0001_topic.sql``; a semicolon in them always ends a statement."""
    folder = resources.files("hornada.store") / "migrations"
    files = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    return {int(file.name.split("_")[0]): _statements(file.read_text("utf-8")) for file in files}


def _statements(script: str) -> list[str]:
    return [part.strip() for part in _COMMENT.sub("", script).split(";") if part.strip()]
