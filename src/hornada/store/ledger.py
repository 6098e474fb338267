"""Rows of ``ledger_entry``: append-only, one for each source, whatever is retried."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from hornada.core.batch import Usage
from hornada.core.clock import SECOND
from hornada.core.ids import new_id
from hornada.store.database import Row, Tx
from hornada.store.summing import MOST_ENTRY, summed

_DAY = 86_400 * SECOND
_SUMS = ", ".join(
    f"CAST(coalesce(sum({column}), 0) AS BIGINT) AS {column}" for column in ("input", "cached", "output", "reasoning")
)
_AMOUNT = f"{summed('amount')} AS amount"


class LedgerEntry(Struct, frozen=True, kw_only=True):
    """What one segment of a batch, or one regular call, used up.

    ``source``: the segment or call, unique. ``endpoint``: as recorded, ``/v1/embeddings:batch`` for lines.
    ``amount`` in micro-units. ``estimated``: the model server's count was missing or clamped.
    """

    id: str
    source: str
    org: str
    key: str
    batch: str | None
    model: str
    endpoint: str
    lines: int
    usage: Usage
    amount: int
    estimated: bool
    created_at: int


def source_of(batch: str, idx: int, epoch: int, seq: int) -> str:
    """The source of the entry of a segment."""
    return f"{batch}:{idx}:{epoch}:{seq}"


def _usage(row: Row) -> Usage:
    return Usage(row["input"], row["cached"], row["output"], row["reasoning"])


async def insert(tx: Tx, entries: Sequence[LedgerEntry]) -> None:
    """Adds entries; one whose source is known changes nothing."""
    await tx.many(
        "INSERT INTO ledger_entry (id, source, org, key, batch, model, endpoint, lines, input, cached, output,"
        " reasoning, amount, estimated, created_at) VALUES (:id, :source, :org, :key, :batch, :model, :endpoint,"
        " :lines, :input, :cached, :output, :reasoning, :amount, :estimated, :created_at)"
        " ON CONFLICT (source) DO NOTHING",
        [
            {
                "id": entry.id,
                "source": entry.source,
                "org": entry.org,
                "key": entry.key,
                "batch": entry.batch,
                "model": entry.model,
                "endpoint": entry.endpoint,
                "lines": entry.lines,
                "input": entry.usage.input,
                "cached": entry.usage.cached,
                "output": entry.usage.output,
                "reasoning": entry.usage.reasoning,
                "amount": min(entry.amount, MOST_ENTRY),
                "estimated": int(entry.estimated),
                "created_at": entry.created_at,
            }
            for entry in entries
        ],
    )


async def take_back(tx: Tx, sources: Sequence[str], now: int) -> None:
    """Books the opposite of these entries, of answers that nobody can be given; once, whatever is retried.

    What no balance has paid for is given back to none.
    """
    await tx.many(
        "INSERT INTO ledger_entry (id, source, org, key, batch, model, endpoint, lines, input, cached, output,"
        " reasoning, amount, estimated, created_at, folded)"
        " SELECT CAST(:id AS TEXT), CAST(:back AS TEXT), org, key, batch, model, endpoint, -lines, -input, -cached,"
        " -output, -reasoning, -amount, estimated, CAST(:now AS BIGINT), CASE WHEN folded = 2 THEN 2 ELSE 0 END"
        " FROM ledger_entry WHERE source = :source"
        " ON CONFLICT (source) DO NOTHING",
        [{"id": new_id(), "back": f"{source}:back", "source": source, "now": now} for source in sources],
    )


async def last_event(tx: Tx, org: str) -> LedgerEntry | None:
    """The newest entry of an organization."""
    row = await tx.row(
        "SELECT id, source, org, key, batch, model, endpoint, lines, input, cached, output, reasoning, amount,"
        " estimated, created_at FROM ledger_entry WHERE org = :org ORDER BY created_at DESC, id DESC LIMIT 1",
        org=org,
    )
    if row is None:
        return None
    return LedgerEntry(
        id=row["id"],
        source=row["source"],
        org=row["org"],
        key=row["key"],
        batch=row["batch"],
        model=row["model"],
        endpoint=row["endpoint"],
        lines=row["lines"],
        usage=_usage(row),
        amount=row["amount"],
        estimated=bool(row["estimated"]),
        created_at=row["created_at"],
    )


async def amount(tx: Tx, org: str) -> int:
    """Micro-units that an organization has used up in all."""
    row = await tx.row(
        f"SELECT {_AMOUNT} FROM ledger_entry WHERE org = :org",  # noqa: S608
        org=org,
    )
    return int(row["amount"]) if row else 0


async def usage_of(tx: Tx, batch: str) -> Usage:
    """Tokens of a batch's lines so far."""
    row = await tx.row(f"SELECT {_SUMS} FROM ledger_entry WHERE batch = :batch", batch=batch)  # noqa: S608
    return _usage(row) if row else Usage()


async def cost_of(tx: Tx, batch: str) -> int:
    """Micro-units of a batch's lines so far."""
    row = await tx.row(
        f"SELECT {_AMOUNT} FROM ledger_entry WHERE batch = :batch",  # noqa: S608
        batch=batch,
    )
    return int(row["amount"]) if row else 0


class Used(Struct, frozen=True, kw_only=True):
    """What was used of one kind. ``day`` counts from 1970-01-01 UTC; None: days, models or endpoints are not apart.

    ``requests``: lines and regular calls. ``estimated``: some server's count among them was missing or clamped.
    """

    day: int | None
    model: str | None
    endpoint: str | None
    requests: int
    usage: Usage
    amount: int
    estimated: bool


_PARTS = {"day": f"created_at / {_DAY}", "model": "model", "endpoint": "endpoint"}


async def used(tx: Tx, org: str, since: int, until: int, by: Collection[str]) -> list[Used]:
    """What an organization used from ``since`` up to before ``until`` (microseconds), summed apart for each of ``by``.

    ``by`` holds some of ``day``, ``model`` and ``endpoint``; the answers are in that order.
    """
    parts = [name for name in _PARTS if name in by]
    columns = "".join(f"{_PARTS[name]} AS part_{name}, " for name in parts)
    names = ", ".join(f"part_{name}" for name in parts)
    tail = f" GROUP BY {names} ORDER BY {names}" if parts else ""
    rows = await tx.rows(
        f"SELECT {columns}CAST(coalesce(sum(lines), 0) AS BIGINT) AS requests, {_SUMS},"  # noqa: S608
        f" {_AMOUNT}, coalesce(max(estimated), 0) AS estimated"
        f" FROM ledger_entry WHERE org = :org AND created_at >= :since AND created_at < :until{tail}",
        org=org,
        since=since,
        until=until,
    )
    return [
        Used(
            day=row["part_day"] if "day" in parts else None,
            model=row["part_model"] if "model" in parts else None,
            endpoint=row["part_endpoint"] if "endpoint" in parts else None,
            requests=row["requests"],
            usage=_usage(row),
            amount=row["amount"],
            estimated=bool(row["estimated"]),
        )
        for row in rows
    ]
