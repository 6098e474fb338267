"""Rows of ``chunk``: planned once, leased under a growing epoch, committed only by the holder of that epoch."""

from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec import Struct

from hornada.core.batch import Batch
from hornada.core.chunk import Chunk, ChunkState, Span
from hornada.store import batch as batches
from hornada.store.database import Row, Tx, Value
from hornada.store.listed import listed

_COLUMNS = "batch, idx, org, model, first_line, n, byte_off, byte_len, epoch, done, n_ok, n_failed"
_MODELS = msgspec.json.Decoder(frozenset[str])
_CLAIMABLE = (
    "batch.status = 'in_progress' AND batch.stop IS NULL AND batch.paused_at IS NULL AND batch.expires_at > {now}"
    " AND EXISTS (SELECT 1 FROM chunk"
    " WHERE chunk.batch = batch.id AND chunk.state = 'ready' AND chunk.not_before <= {now}"
    " AND chunk.model = batch.model)"
)
"""An overdue batch is not claimed from: its chunks would only come back. Nor is a paused one, nor are chunks that wait
for another model.
"""
_MODEL_NOW = "(SELECT batch.model FROM batch WHERE batch.id = chunk.batch)"
_RUNS = (
    "EXISTS (SELECT 1 FROM batch WHERE batch.id = chunk.batch AND batch.status = 'in_progress' AND batch.stop IS NULL)"
)
_LET_GO = f"owner = NULL, state = CASE WHEN {_RUNS} THEN 'ready' ELSE 'done' END"
"""A chunk goes back to ready only while its batch runs. Lock the batch first, or it may end in between."""
MOST_DEATHS = 5
"""After so many workers in a row that died with a chunk, and no line of it done, its lines end with errors."""


class Source(Struct, frozen=True, kw_only=True):
    """A running batch with chunks to claim, and what is needed of it to run them.

    ``models``: those that its key may use, None for all. ``plan``: the name of its organization's; ``weight``: what the
    database says of that plan's, None for nothing.
    """

    batch: str
    org: str
    key: str
    dialect: str
    endpoint: str
    input_object: str
    expires_at: int
    total: int
    plan: str | None = None
    weight: int | None = None
    models: frozenset[str] | None = None


class Work(Struct, frozen=True):
    """A claimed chunk of a batch."""

    chunk: Chunk
    source: Source


def _chunk(row: Row) -> Chunk:
    return Chunk(
        batch=row["batch"],
        idx=row["idx"],
        org=row["org"],
        model=row["model"],
        span=Span(row["first_line"], row["n"], row["byte_off"], row["byte_len"]),
        epoch=row["epoch"],
        done=bytes(row["done"]),
        n_ok=row["n_ok"],
        n_failed=row["n_failed"],
    )


async def plan(tx: Tx, batch: Batch, model: str, spans: Sequence[Span], state: ChunkState) -> None:
    """Adds the chunks of a batch that passed its check."""
    await tx.many(
        "INSERT INTO chunk (batch, idx, org, model, first_line, n, byte_off, byte_len, state, epoch, lease_until,"
        " not_before, done, n_ok, n_failed) VALUES (:batch, :idx, :org, :model, :first, :n, :offset, :length, :state,"
        " 0, 0, 0, :done, 0, 0)",
        [
            {
                "batch": batch.id,
                "idx": idx,
                "org": batch.org,
                "model": model,
                "first": span.first,
                "n": span.n,
                "offset": span.offset,
                "length": span.length,
                "state": state,
                "done": bytes((span.n + 7) // 8),
            }
            for idx, span in enumerate(spans)
        ],
    )


async def ready_models(tx: Tx) -> set[str]:
    """Models with chunks that can be claimed: one step for each model, however many batches there are."""
    rows = await tx.rows(
        "WITH RECURSIVE walk (model) AS (SELECT MIN(model) FROM batch WHERE status = 'in_progress'"  # noqa: S608
        " UNION ALL SELECT (SELECT MIN(batch.model) FROM batch"
        " WHERE batch.status = 'in_progress' AND batch.model > walk.model) FROM walk WHERE walk.model IS NOT NULL)"
        " SELECT model FROM walk WHERE model IS NOT NULL AND (SELECT 1 FROM batch"
        f" WHERE batch.model = walk.model AND {_CLAIMABLE} ORDER BY batch.expires_at LIMIT 1) = 1"
    )
    return {row["model"] for row in rows}


async def turns(tx: Tx, model: str, after: str, most: int) -> list[str]:
    """Up to ``most`` organizations with running batches of a model, in order of ids, after ``after`` and round again.

    One step for each, however many batches and organizations there are.
    """
    found = await _walk(tx, model, after, None, most)
    return found if len(found) == most else [*found, *await _walk(tx, model, "", after, most - len(found))]


async def _walk(tx: Tx, model: str, after: str, last: str | None, most: int) -> list[str]:
    running = "SELECT MIN(batch.org) FROM batch WHERE batch.model = :model AND batch.status = 'in_progress'"
    end = "" if last is None else " AND org <= :last"
    params: dict[str, Value] = {} if last is None else {"last": last}
    rows = await tx.rows(
        f"WITH RECURSIVE walk (org, n) AS (SELECT ({running} AND batch.org > :after), 1 UNION ALL"  # noqa: S608
        f" SELECT ({running} AND batch.org > walk.org), n + 1 FROM walk WHERE walk.org IS NOT NULL AND n < :most)"
        f" SELECT org FROM walk WHERE org IS NOT NULL{end}",
        model=model,
        after=after,
        most=most,
        **params,
    )
    return [row["org"] for row in rows]


async def sources(tx: Tx, model: str, orgs: Collection[str], most: int) -> list[Source]:
    """Batches with chunks to claim for a model, by deadline: the ``most`` earliest and smallest of each of ``orgs``."""
    if not orgs:
        return []
    names, params = listed("o", orgs)
    rows = await tx.rows(
        "SELECT * FROM (SELECT batch.id, batch.org, batch.key, batch.dialect, batch.endpoint, batch.expires_at,"  # noqa: S608
        " batch.total, file.object, api_key.models, organization.plan, plan.weight,"
        " ROW_NUMBER() OVER (PARTITION BY batch.org ORDER BY batch.expires_at, batch.id) AS by_deadline,"
        " ROW_NUMBER() OVER (PARTITION BY batch.org ORDER BY batch.total, batch.id) AS by_size"
        " FROM batch JOIN file ON file.id = batch.input_file LEFT JOIN api_key ON api_key.id = batch.key"
        " LEFT JOIN organization ON organization.id = batch.org LEFT JOIN plan ON plan.name = organization.plan"
        f" WHERE batch.model = :model AND batch.org IN ({names}) AND {_CLAIMABLE}) AS source"
        " WHERE by_deadline <= :most OR by_size <= :most ORDER BY expires_at, id",
        model=model,
        most=most,
        **params,
    )
    return [
        Source(
            batch=row["id"],
            org=row["org"],
            key=row["key"],
            dialect=row["dialect"],
            endpoint=row["endpoint"],
            input_object=row["object"],
            expires_at=row["expires_at"],
            total=row["total"],
            plan=row["plan"],
            weight=row["weight"],
            models=None if row["models"] is None else _MODELS.decode(row["models"]),
        )
        for row in rows
    ]


async def claim(tx: Tx, source: Source, model: str, owner: str, lines: int) -> list[Work]:
    """Leases ready chunks of a batch, in order, until they hold at least ``lines`` lines.

    They are the owner's for as long as that one is alive (``store.worker``). None: there is nothing for this owner now,
    for others may be about to take what is ready; it does not mean that the batch is done.
    """
    return [Work(chunk=chunk, source=source) for chunk in await _claim_from(tx, source.batch, model, owner, lines)]


async def _claim_from(tx: Tx, batch: str, model: str, owner: str, lines: int) -> list[Chunk]:
    rows = await tx.rows(
        "WITH picked AS MATERIALIZED (SELECT idx FROM chunk WHERE batch = :batch AND state = 'ready'"  # noqa: S608
        " AND model = :model AND not_before <= {now} ORDER BY idx LIMIT :limit {skip_locked})"
        " UPDATE chunk SET state = 'leased', epoch = epoch + 1, owner = :owner"
        " WHERE batch = :batch AND state = 'ready' AND idx IN (SELECT idx FROM picked)"
        f" RETURNING {_COLUMNS}",
        batch=batch,
        model=model,
        owner=owner,
        limit=max(1, (lines + 99) // 100),
    )
    return sorted((_chunk(row) for row in rows), key=lambda chunk: chunk.idx)


async def _held(tx: Tx, chunks: Sequence[Chunk]) -> set[tuple[str, int]]:
    """Those (batch, index) that are still leased under the epochs of these chunks; they stay so until ``tx`` ends."""
    found: set[tuple[str, int]] = set()
    for at in range(0, len(chunks), _AT_ONCE):
        piece = chunks[at : at + _AT_ONCE]
        size = next(size for size in _SIZES if size >= len(piece))  # few texts of the statement, so that all are kept
        params: dict[str, Value] = {}
        for i in range(size):
            chunk = piece[min(i, len(piece) - 1)]
            params |= {f"b{i}": chunk.batch, f"i{i}": chunk.idx, f"e{i}": chunk.epoch}
        rows = await tx.rows(_HELD[size], **params)
        found |= {(row["batch"], row["idx"]) for row in rows}
    return found


_SIZES = (1, 8, 64)
_AT_ONCE = _SIZES[-1]
_HELD = {
    size: "WITH mine (batch, idx, epoch) AS (VALUES "  # noqa: S608
    + ", ".join(f"(CAST(:b{i} AS TEXT), CAST(:i{i} AS BIGINT), CAST(:e{i} AS BIGINT))" for i in range(size))
    + ") SELECT chunk.batch, chunk.idx FROM mine CROSS JOIN chunk"  # so that SQLite looks each of them up
    " WHERE chunk.batch = mine.batch AND chunk.idx = mine.idx AND chunk.epoch = mine.epoch AND chunk.state = 'leased'"
    " ORDER BY chunk.batch, chunk.idx {for_update}"
    for size in _SIZES
}


async def commit(tx: Tx, chunks: Sequence[tuple[Chunk, ChunkState]]) -> set[tuple[str, int]]:
    """Writes new bitmaps and counts of held chunks; the (batch, index) of those that still are, under their epochs.

    The others stay as they are. Two statements, however many chunks.
    """
    held = await _held(tx, [chunk for chunk, _ in chunks])
    await tx.many(
        "UPDATE chunk SET done = :done, n_ok = :n_ok, n_failed = :n_failed, state = :state, deaths = 0,"
        " owner = CASE WHEN :state = 'leased' THEN owner ELSE NULL END"
        " WHERE batch = :batch AND idx = :idx AND epoch = :epoch AND state = 'leased'",
        [
            {
                "batch": chunk.batch,
                "idx": chunk.idx,
                "epoch": chunk.epoch,
                "done": chunk.done,
                "n_ok": chunk.n_ok,
                "n_failed": chunk.n_failed,
                "state": state,
            }
            for chunk, state in chunks
            if (chunk.batch, chunk.idx) in held
        ],
    )
    return held


async def void(tx: Tx, owner: str, limit: int) -> list[str]:
    """Ends up to ``limit`` leases of anybody but ``owner``; the batches: only where nobody else can be alive."""
    return await _free(tx, "(owner IS NULL OR owner <> :owner)", {"owner": owner}, limit, death=0)


async def free(tx: Tx, owners: Sequence[str], limit: int) -> list[str]:
    """Ends up to ``limit`` leases of workers that have ended; the batches to which the chunks belong.

    A chunk goes back to ready only while its batch runs and not too many workers have died with it, else it is done.
    """
    if not owners:
        return []
    names, params = listed("o", owners)
    return await _free(tx, f"owner IN ({names})", params, limit, death=1)


async def _free(tx: Tx, whose: str, params: Mapping[str, Value], limit: int, *, death: int) -> list[str]:
    """Batches are locked first and in order, as everybody does who needs several."""
    found = await tx.rows(
        f"SELECT DISTINCT batch FROM chunk WHERE state = 'leased' AND {whose} LIMIT :limit",  # noqa: S608
        limit=limit,
        **params,
    )
    if not found:
        return []
    names, those = listed("b", [row["batch"] for row in found])
    await tx.rows(f"SELECT id FROM batch WHERE id IN ({names}) ORDER BY id {{for_update}}", **those)  # noqa: S608
    rows = await tx.rows(
        "WITH picked AS MATERIALIZED (SELECT batch, idx FROM chunk WHERE state = 'leased'"  # noqa: S608
        f" AND {whose} AND batch IN ({names}) LIMIT :limit {{skip_locked}})"
        f" UPDATE chunk SET owner = NULL, model = {_MODEL_NOW}, deaths = deaths + :death,"
        f" state = CASE WHEN deaths + :death < :most AND {_RUNS} THEN 'ready' ELSE 'done' END"
        " WHERE state = 'leased' AND (batch, idx) IN (SELECT batch, idx FROM picked) RETURNING batch",
        limit=limit,
        death=death,
        most=MOST_DEATHS,
        **params,
        **those,
    )
    return sorted({row["batch"] for row in rows})


async def hand_back(tx: Tx, chunk: Chunk, wait: int = 0, model: str | None = None) -> None:
    """Lets a held chunk go, for whoever comes ``wait`` microseconds from now; done if its batch no longer runs.

    ``model``: the one that its lines ask for by now, when it is not the batch's.
    """
    await batches.lock(tx, chunk.batch)
    await tx.run(
        f"UPDATE chunk SET {_LET_GO}, model = COALESCE(:model, {_MODEL_NOW}), not_before = {{now}} + :wait"  # noqa: S608
        " WHERE batch = :batch AND idx = :idx AND epoch = :epoch AND state = 'leased'",
        batch=chunk.batch,
        idx=chunk.idx,
        epoch=chunk.epoch,
        wait=wait,
        model=model,
    )


async def give_up(tx: Tx, chunk: Chunk) -> None:
    """Ends a held chunk for good: what of it has no result will never have one."""
    await batches.lock(tx, chunk.batch)
    await tx.run(
        "UPDATE chunk SET owner = NULL, state = 'done'"
        " WHERE batch = :batch AND idx = :idx AND epoch = :epoch AND state = 'leased'",
        batch=chunk.batch,
        idx=chunk.idx,
        epoch=chunk.epoch,
    )


async def leased_by(tx: Tx, owner: str) -> list[Chunk]:
    """What a process holds, as the ledger sees it."""
    rows = await tx.rows(f"SELECT {_COLUMNS} FROM chunk WHERE state = 'leased' AND owner = :owner", owner=owner)  # noqa: S608
    return [_chunk(row) for row in rows]


async def of_batch(tx: Tx, batch: str, first: int, limit: int) -> list[Chunk]:
    """Chunks ``first .. first + limit - 1`` of a batch, in order."""
    rows = await tx.rows(
        f"SELECT {_COLUMNS} FROM chunk WHERE batch = :batch AND idx >= :first ORDER BY idx LIMIT :limit",  # noqa: S608
        batch=batch,
        first=first,
        limit=limit,
    )
    return [_chunk(row) for row in rows]


async def from_line(tx: Tx, batch: str, line: int, limit: int) -> list[Chunk]:
    """Up to ``limit`` chunks of a batch in order, from the one that holds this line (from 0) on."""
    rows = await tx.rows(
        f"SELECT {_COLUMNS} FROM chunk WHERE batch = :batch AND first_line + n > :line ORDER BY idx LIMIT :limit",  # noqa: S608
        batch=batch,
        line=line,
        limit=limit,
    )
    return [_chunk(row) for row in rows]


async def purge(tx: Tx, batch: str) -> None:
    """Removes the chunks and segments of an ended batch."""
    await tx.run("DELETE FROM segment WHERE batch = :batch", batch=batch)
    await tx.run("DELETE FROM chunk WHERE batch = :batch", batch=batch)
