"""Old entries of the ledger, folded into one for each day: every sum over them stays what it was."""

import hashlib

import msgspec

from hornada.core.clock import DAY
from hornada.core.ids import new_id
from hornada.store.database import Row, Tx, Value
from hornada.store.listed import NOT_ENDED

_LARGE = 10**13
"""An entry of more is left alone, so that no sum of a day grows beyond 63 bits."""
_SUMMED = ("lines", "input", "cached", "output", "reasoning", "amount")
_GROUP = ("org", "key", "batch", "model", "endpoint", "folded")
_DELETE = (
    "WITH picked AS MATERIALIZED (SELECT id FROM ledger_entry WHERE folded IN (1, 2) AND created_at < :before"  # noqa: S608
    f" AND amount BETWEEN -{_LARGE} AND {_LARGE}"
    " AND EXISTS (SELECT 1 FROM ledger_entry AS later WHERE later.org = ledger_entry.org"
    " AND later.created_at > ledger_entry.created_at)"
    f" AND NOT EXISTS (SELECT 1 FROM batch WHERE batch.id = ledger_entry.batch AND batch.{NOT_ENDED})"
    " ORDER BY created_at LIMIT :limit {skip_locked})"
    " DELETE FROM ledger_entry WHERE id IN (SELECT id FROM picked)"
    f" RETURNING {', '.join((*_GROUP, *_SUMMED))}, estimated, created_at"
)
_COLUMNS = ("id", "source", *_GROUP, *_SUMMED, "estimated", "created_at")
_INSERT = (
    f"INSERT INTO ledger_entry ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"  # noqa: S608
    " ON CONFLICT (source) DO UPDATE SET "
    + ", ".join(f"{name} = ledger_entry.{name} + excluded.{name}" for name in _SUMMED)
    + "".join(
        f", {name} = CASE WHEN ledger_entry.{name} > excluded.{name} THEN ledger_entry.{name} ELSE excluded.{name} END"
        for name in ("estimated", "created_at")
    )
)


async def condense(tx: Tx, before: int, limit: int) -> int:
    """Folds up to ``limit`` entries from before a time (microseconds, the beginning of a day); how many.

    One is left for each day, organization, key, batch, model and endpoint. Entries that no balance has accounted for
    yet, those of live batches and the newest one of an organization stay as they are.
    """
    rows = await tx.rows(_DELETE, before=before, limit=limit)
    days: dict[str, dict[str, Value]] = {}
    for row in rows:
        source = _source(row)
        day = days.get(source)
        if day is None:
            known = {name: row[name] for name in (*_GROUP, *_SUMMED, "estimated", "created_at")}
            days[source] = {**known, "id": new_id(), "source": source, "folded": row["folded"] + 2}
            continue
        for name in _SUMMED:
            day[name] += row[name]
        for name in ("estimated", "created_at"):
            day[name] = max(day[name], row[name])
    if days:
        await tx.many(_INSERT, [days[source] for source in sorted(days)])
    return len(rows)


def _source(row: Row) -> str:
    """What is the same for all entries that become one."""
    group = [row["created_at"] // DAY, *(row[name] for name in _GROUP)]
    return f"day:{hashlib.sha256(msgspec.json.encode(group)).hexdigest()}"
