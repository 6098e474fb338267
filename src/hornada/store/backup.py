"""A copy of a SQLite ledger while it is written to, and what bytes a copy needs."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from hornada.core.errors import Broken, Unavailable
from hornada.store.database import Tx

_NAMED = (
    "SELECT object, bytes AS size, sha256 FROM file WHERE deleted_at IS NULL"
    " UNION ALL SELECT object, upload_part.bytes, NULL FROM upload_part JOIN upload ON upload.id = upload_part.upload"
    " WHERE upload.status = 'pending'"
    " UNION ALL SELECT object, max(byte_off + byte_len), NULL FROM segment JOIN batch ON batch.id = segment.batch"
    " WHERE batch.status IN ('in_progress', 'finalizing', 'cancelling') GROUP BY object"
)


class Named(NamedTuple):
    """A blob that a ledger needs: its key, at least so many bytes, and the hash of exactly those where it is known."""

    key: str
    size: int
    sha256: str | None


async def needed(tx: Tx) -> list[Named]:
    """What blobs the ledger of a transaction needs."""
    return [Named(row["object"], row["size"], row["sha256"]) for row in await tx.rows(_NAMED)]


def copy_ledger(source: Path, target: Path) -> None:
    """Copies a ledger as it is at one moment, though others write to it; raises Unavailable."""
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=30)) as old,
            closing(sqlite3.connect(target)) as new,
        ):
            old.backup(new)
            new.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise Unavailable(f"the ledger {source} cannot be copied: {error}") from error
    with target.open("rb") as file:
        os.fsync(file.fileno())


def named(ledger: Path) -> list[Named]:
    """What blobs a ledger that nobody writes to needs; raises Broken when it is damaged or no ledger."""
    try:
        with closing(sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise Broken(f"the ledger {ledger} is damaged: {found}")
            return [Named(*row) for row in database.execute(_NAMED)]
    except sqlite3.Error as error:
        raise Broken(f"{ledger} is no ledger of this version: {error}") from error
