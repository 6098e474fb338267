"""Rows of ``audit``: append-only, written in the transaction of what they tell."""

from typing import Any

import msgspec

from hornada.core.account import AuditEntry
from hornada.store.database import Row, Tx
from hornada.store.keyset import Place, behind

_COLUMNS = "id, at, actor, action, org, target, detail"
_DETAIL = msgspec.json.Decoder(dict[str, Any])


def _entry(row: Row) -> AuditEntry:
    return AuditEntry(
        id=row["id"],
        at=row["at"],
        actor=row["actor"],
        action=row["action"],
        org=row["org"],
        target=row["target"],
        detail=_DETAIL.decode(row["detail"]),
    )


async def insert(tx: Tx, entry: AuditEntry) -> None:
    """Adds an entry."""
    await tx.run(
        f"INSERT INTO audit ({_COLUMNS})"  # noqa: S608
        " VALUES (:id, :at, :actor, :action, :org, :target, :detail)",
        id=entry.id,
        at=entry.at,
        actor=entry.actor,
        action=entry.action,
        org=entry.org,
        target=entry.target,
        detail=msgspec.json.encode(entry.detail).decode(),
    )


async def get(tx: Tx, entry: str) -> AuditEntry | None:
    """One entry."""
    row = await tx.row(f"SELECT {_COLUMNS} FROM audit WHERE id = :id", id=entry)  # noqa: S608
    return _entry(row) if row else None


async def page(tx: Tx, after: Place | None, limit: int, *, org: str | None = None) -> tuple[AuditEntry, ...]:
    """Up to ``limit`` entries, newest first; of one organization, or of all and of none."""
    where, params = behind(after, "audit.at")
    only = "" if org is None else " AND org = :org"
    rows = await tx.rows(
        f"SELECT {_COLUMNS} FROM audit WHERE 1 = 1{only}{where}"  # noqa: S608
        " ORDER BY audit.at DESC, id DESC LIMIT :limit",
        limit=limit,
        **params,
        **({} if org is None else {"org": org}),
    )
    return tuple(_entry(row) for row in rows)
