"""Rows of ``batch``: every move is a compare-and-set on the status, and for loops on the stage epoch."""

from collections.abc import Collection, Sequence

import msgspec

from hornada.core.batch import (
    LIVE,
    STAMPS,
    Batch,
    BatchFilter,
    Counted,
    Finding,
    RequestCounts,
    Status,
    StopReason,
    Usage,
)
from hornada.core.clock import SECOND
from hornada.core.progress import LONG_S, SHORT_S
from hornada.store.database import Row, Tx, Value
from hornada.store.listed import NOT_ENDED, listed
from hornada.store.period import within

_ERRORS = msgspec.json.Decoder(tuple[Finding, ...])
_METADATA = msgspec.json.Decoder(dict[str, str])
_FAILURES = msgspec.json.Decoder(dict[str, int])
_NAMES = msgspec.json.Decoder(tuple[str, ...])
_USAGE = msgspec.json.Decoder(Usage)
COLUMNS = (
    "id, org, member, key, dialect, endpoint, completion_window, model, names, input_file, status, stop, checked,"
    " created_at, expires_at, updated_at, in_progress_at, finalizing_at, completed_at, failed_at, cancelling_at,"
    " cancelled_at, expired_at, total, n_ok, n_failed, output_file, error_file, output_lifetime_s, metadata,"
    " errors, usage, cost, paused_at, failures, retry_of"
)


_LOOK = f"""
WITH found AS MATERIALIZED (
  SELECT {COLUMNS}, CASE WHEN checked = 1 AND {NOT_ENDED} THEN 1 ELSE 0 END AS runs FROM batch WHERE {{where}}
)
SELECT found.*, CASE WHEN runs = 1 THEN (
    SELECT SUM(n_ok) || ' ' || SUM(n_failed) || ' ' || MAX(CASE WHEN state = 'leased' THEN 1 ELSE 0 END)
    FROM chunk WHERE chunk.batch = found.id
  ) END AS sums, CASE WHEN runs = 1 THEN (
    SELECT SUM(CASE WHEN at > moment.at_ - {SHORT_S * SECOND} THEN n ELSE 0 END) || ' '
      || SUM(CASE WHEN at > moment.at_ - {LONG_S * SECOND} THEN n ELSE 0 END) || ' ' || SUM(cost)
    FROM progress CROSS JOIN (SELECT {{{{now}}}} AS at_) AS moment WHERE progress.batch = found.id
  ) END AS steps, CASE WHEN runs = 1 THEN (
    SELECT {{{{joined}}}}(code || ' ' || n, ',') FROM failure WHERE failure.batch = found.id
  ) END AS codes
FROM found ORDER BY created_at DESC, id DESC
"""  # noqa: S608
"""Batches with all that their owners are shown of them, newest first, where ``where`` holds: in one statement.

Each sum is a look at an index. Of a join with the chunks PostgreSQL would read all chunks that there are.
"""

EVERY = BatchFilter()


class Standing(msgspec.Struct, frozen=True):
    """What a worker must know of a batch whose chunks it holds."""

    status: Status
    stop: StopReason | None
    model: str | None
    paused: bool = False


async def _look(tx: Tx, where: str, **params: Value) -> tuple[Batch, ...]:
    """Batches with counts and how they get on; an ended one's stand in its row."""
    return tuple(_seen(row) for row in await tx.rows(_LOOK.format(where=where), **params))


def _seen(row: Row) -> Batch:
    if row["sums"] is None:
        return _batch(row, RequestCounts(row["total"], row["n_ok"], row["n_failed"]))
    ok, failed, held = map(int, row["sums"].split())
    short, long, cost = map(int, (row["steps"] or "0 0 0").split())
    counted = Counted(short=short, long=long, cost=cost, failures=_codes(row["codes"] or ""), held=held == 1)
    return _batch(row, RequestCounts(row["total"], ok, failed), counted)


def _codes(joined: str) -> dict[str, int]:
    """How many lines failed with each code, of all workers: from ``code n,code n``."""
    found: dict[str, int] = {}
    for pair in joined.split(",") if joined else ():
        code, _, n = pair.rpartition(" ")
        found[code] = found.get(code, 0) + int(n)
    return found


def _batch(row: Row, counts: RequestCounts, counted: Counted | None = None) -> Batch:
    return Batch(
        id=row["id"],
        org=row["org"],
        member=row["member"],
        key=row["key"],
        dialect=row["dialect"],
        endpoint=row["endpoint"],
        completion_window=row["completion_window"],
        model=row["model"],
        names=_NAMES.decode(row["names"]) if row["names"] else (),
        input_file=row["input_file"],
        status=Status(row["status"]),
        stop=StopReason(row["stop"]) if row["stop"] else None,
        checked=bool(row["checked"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        updated_at=row["updated_at"],
        in_progress_at=row["in_progress_at"],
        finalizing_at=row["finalizing_at"],
        completed_at=row["completed_at"],
        failed_at=row["failed_at"],
        cancelling_at=row["cancelling_at"],
        cancelled_at=row["cancelled_at"],
        expired_at=row["expired_at"],
        output_file=row["output_file"],
        error_file=row["error_file"],
        output_lifetime_s=row["output_lifetime_s"],
        metadata=None if row["metadata"] is None else _metadata(row),
        errors=_ERRORS.decode(row["errors"]) if row["errors"] else (),
        counts=counts,
        usage=_USAGE.decode(row["usage"]) if row["usage"] else None,
        cost=row["cost"],
        failures=_FAILURES.decode(row["failures"]) if row["failures"] else {},
        retry_of=row["retry_of"],
        paused=row["paused_at"] is not None,
        counted=counted,
    )


def _metadata(row: Row) -> dict[str, str]:
    return _METADATA.decode(row["metadata"]) if row["metadata"] else {}


async def counted(tx: Tx, rows: Sequence[Row]) -> tuple[Batch, ...]:
    """Batches with counts: a live one's are the sum over its chunks, an ended one's stand in its row."""
    live = [row["id"] for row in rows if row["status"] in LIVE and row["checked"]]
    sums: dict[str, Row] = {}
    if live:
        names, params = listed("b", live)
        found = await tx.rows(
            "SELECT batch, CAST(SUM(n_ok) AS BIGINT) AS ok, CAST(SUM(n_failed) AS BIGINT) AS failed"  # noqa: S608
            f" FROM chunk WHERE batch IN ({names}) GROUP BY batch",
            **params,
        )
        sums = {row["batch"]: row for row in found}
    return tuple(
        _batch(
            row,
            RequestCounts(row["total"], sums[row["id"]]["ok"], sums[row["id"]]["failed"])
            if row["id"] in sums
            else RequestCounts(row["total"], row["n_ok"], row["n_failed"]),
        )
        for row in rows
    )


async def insert(tx: Tx, batch: Batch, twin: str | None) -> None:
    """Adds a fresh batch; ``twin`` is the digest under which a live equal one is found, None for no such search."""
    await tx.run(
        "INSERT INTO batch (id, org, member, key, dialect, endpoint, completion_window, input_file, twin, status,"
        " checked, created_at, expires_at, updated_at, total, n_ok, n_failed, output_lifetime_s, metadata,"
        " retry_of, stage_epoch, stage_until, stage_tries)"
        " VALUES (:id, :org, :member, :key, :dialect, :endpoint, :window, :input_file, :twin, :status,"
        " 0, :created_at, :expires_at, :created_at, 0, 0, 0, :output_lifetime_s, :metadata, :retry_of, 0, 0, 0)",
        id=batch.id,
        org=batch.org,
        member=batch.member,
        key=batch.key,
        dialect=batch.dialect,
        endpoint=batch.endpoint,
        window=batch.completion_window,
        input_file=batch.input_file,
        twin=twin,
        status=batch.status,
        created_at=batch.created_at,
        expires_at=batch.expires_at,
        output_lifetime_s=batch.output_lifetime_s,
        retry_of=batch.retry_of,
        metadata=None if batch.metadata is None else msgspec.json.encode(batch.metadata).decode(),
    )


async def get(tx: Tx, org: str | None, batch: str, *, lock: bool = False) -> Batch | None:
    """One batch of an organization; ``org`` None: of any.

    ``lock``: nobody else moves it before this (writing) transaction ends.
    """
    whose, params = "id = :id" if org is None else "id = :id AND org = :org", dict[str, Value](id=batch)
    if org is not None:
        params["org"] = org
    if lock and await tx.row(f"SELECT id FROM batch WHERE {whose} {{for_update}}", **params) is None:  # noqa: S608
        return None
    found = await _look(tx, whose, **params)
    return found[0] if found else None


async def these(tx: Tx, batches: Collection[str]) -> tuple[Batch, ...]:
    """Batches by their ids, of whatever organization; those that are gone are left out."""
    if not batches:
        return ()
    names, params = listed("b", batches)
    return await _look(tx, f"id IN ({names})", **params)


async def live_twin(tx: Tx, org: str, twin: str) -> str | None:
    """The live batch that was created with the same digest."""
    row = await tx.row(
        "SELECT id FROM batch WHERE org = :org AND twin = :twin"
        " AND status IN ('validating', 'in_progress', 'finalizing')",
        org=org,
        twin=twin,
    )
    return row["id"] if row else None


async def page(
    tx: Tx, org: str | None, after: tuple[int, str] | None, limit: int, only: BatchFilter = EVERY
) -> tuple[Batch, ...]:
    """Up to ``limit`` batches that pass ``only``, newest first, behind the (created_at, id) of the last one seen.

    ``org`` None: of every organization.
    """
    found: list[Batch] = []
    while len(found) < limit:
        batches = await _behind(tx, org, after, limit, only)
        found += [batch for batch in batches if only.metadata.items() <= (batch.metadata or {}).items()]
        if len(batches) < limit:
            break
        after = (batches[-1].created_at, batches[-1].id)
    return tuple(found[:limit])


async def _behind(
    tx: Tx, org: str | None, after: tuple[int, str] | None, limit: int, only: BatchFilter
) -> Sequence[Batch]:
    """The next rows of a list. Of a pair of metadata it looks for the spelling, which may also stand inside a text.

    Both databases have functions for JSON, but not the same ones, and PostgreSQL's fail on a NUL in any value.
    """
    where, params = ["1 = 1"], dict[str, Value](limit=limit)
    if org is not None:
        where.append("org = :org")
        params["org"] = org
    if after is not None:
        where.append("(created_at < :at OR (created_at = :at AND id < :id))")
        params.update(at=after[0], id=after[1])
    if only.statuses is not None:
        names, statuses = listed("s", only.statuses)
        where.append(f"status IN ({names})")
        params.update(statuses)
    for number, pair in enumerate(only.metadata.items()):
        where.append(f"replace(metadata, :pair{number}, '') <> metadata")
        params[f"pair{number}"] = msgspec.json.encode(dict([pair])).decode()[1:-1]
    created, times = within(only.created)
    newest = " ORDER BY created_at DESC, id DESC LIMIT :limit"
    return await _look(tx, " AND ".join([*where, *created]) + newest, **params, **times)


async def active(tx: Tx, org: str) -> int:
    """Batches of an organization that have not ended."""
    row = await tx.row(
        f"SELECT COUNT(*) AS n FROM batch WHERE org = :org AND {NOT_ENDED}",  # noqa: S608
        org=org,
    )
    return int(row["n"]) if row else 0


async def queued_lines(tx: Tx, org: str) -> int:
    """Lines reserved by an organization's accepted batches that have not ended."""
    row = await tx.row(
        "SELECT CAST(COALESCE(SUM(total), 0) AS BIGINT) AS n FROM batch"  # noqa: S608
        f" WHERE org = :org AND checked = 1 AND {NOT_ENDED}",
        org=org,
    )
    return int(row["n"]) if row else 0


async def stop(tx: Tx, batch: Batch, to: Status, reason: StopReason, errors: Sequence[Finding], now: int) -> bool:
    """Moves a batch on and ends its waiting chunks; False if its status changed meanwhile."""
    stamp = f" {STAMPS[to]} = :now," if to is not batch.status else ""
    moved = await tx.run(
        f"UPDATE batch SET status = :to,{stamp} stop = :reason, updated_at = :now, errors = :errors"  # noqa: S608
        " WHERE id = :id AND status = :status",
        id=batch.id,
        to=to,
        reason=reason,
        status=batch.status,
        errors=msgspec.json.encode(list(errors)).decode() if errors else None,
        now=now,
    )
    if moved:
        await tx.run("UPDATE chunk SET state = 'done' WHERE batch = :id AND state = 'ready'", id=batch.id)
    return moved == 1


async def drain(tx: Tx, batch: str, now: int) -> bool:
    """Moves a batch whose every chunk is done to finalizing; True if this call did.

    Its row is locked first, so that of two workers that end its last two chunks the second sees both done.
    """
    await lock(tx, batch)
    return (
        await tx.run(
            "UPDATE batch SET status = 'finalizing', finalizing_at = :now, updated_at = :now"
            " WHERE id = :id AND status = 'in_progress' AND checked = 1"
            " AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.batch = :id AND chunk.state <> 'done')",
            id=batch,
            now=now,
        )
        == 1
    )


async def lock(tx: Tx, batch: str) -> None:
    """Has whoever else would move this batch wait until this (writing) transaction ends."""
    await tx.row("SELECT id FROM batch WHERE id = :id {for_update}", id=batch)


async def overdue(tx: Tx, now: int, limit: int) -> tuple[Batch, ...]:
    """Batches that should have ended by ``now`` and are still being checked or run."""
    rows = await tx.rows(
        f"SELECT {COLUMNS} FROM batch WHERE status IN ('validating', 'in_progress') AND expires_at <= :now"  # noqa: S608
        " ORDER BY expires_at LIMIT :limit",
        now=now,
        limit=limit,
    )
    return await counted(tx, rows)


async def standing(tx: Tx, batches: Collection[str]) -> dict[str, Standing]:
    """How the given batches stand."""
    if not batches:
        return {}
    names, params = listed("b", batches)
    rows = await tx.rows(f"SELECT id, status, stop, model, paused_at FROM batch WHERE id IN ({names})", **params)  # noqa: S608
    return {
        row["id"]: Standing(
            Status(row["status"]),
            StopReason(row["stop"]) if row["stop"] else None,
            row["model"],
            row["paused_at"] is not None,
        )
        for row in rows
    }


async def live_of(tx: Tx, org: str) -> list[tuple[str, Status]]:
    """The batches of an organization that have not ended."""
    rows = await tx.rows(
        f"SELECT id, status FROM batch WHERE org = :org AND {NOT_ENDED}",  # noqa: S608
        org=org,
    )
    return [(row["id"], Status(row["status"])) for row in rows]


async def halt(tx: Tx, batch: str, reason: StopReason, now: int) -> bool:
    """Starts no line of a running batch any more; it drains and ends by itself. False if it was not running."""
    halted = await tx.run(
        "UPDATE batch SET stop = :reason, updated_at = :now WHERE id = :id AND status = 'in_progress' AND stop IS NULL",
        id=batch,
        reason=reason,
        now=now,
    )
    if halted:
        await tx.run("UPDATE chunk SET state = 'done' WHERE batch = :id AND state = 'ready'", id=batch)
        await drain(tx, batch, now)
    return halted == 1


async def assembled(tx: Tx, limit: int) -> list[str]:
    """Ended batches that still have chunks: their segments are no longer needed."""
    rows = await tx.rows(
        "SELECT DISTINCT chunk.batch AS id FROM chunk JOIN batch ON batch.id = chunk.batch"
        " WHERE batch.status IN ('completed', 'cancelled', 'expired', 'failed') LIMIT :limit",
        limit=limit,
    )
    return [row["id"] for row in rows]
