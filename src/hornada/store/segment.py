"""Rows of ``segment``: append-only; results are the union of these."""

from hornada.core.segment import Segment
from hornada.store.database import Tx


async def insert(tx: Tx, segments: list[Segment]) -> None:
    """Adds segments; their bytes must be durable already."""
    await tx.many(
        "INSERT INTO segment (batch, idx, epoch, seq, object, byte_off, byte_len, sha256, model, n_ok, n_failed, lines)"
        " VALUES (:batch, :idx, :epoch, :seq, :object, :offset, :length, :sha256, :model, :n_ok, :n_failed, :lines)",
        [
            {
                "batch": s.batch,
                "idx": s.idx,
                "epoch": s.epoch,
                "seq": s.seq,
                "object": s.object,
                "offset": s.offset,
                "length": s.length,
                "sha256": s.sha256,
                "model": s.model,
                "n_ok": s.n_ok,
                "n_failed": s.n_failed,
                "lines": s.index,
            }
            for s in segments
        ],
    )


async def exists(tx: Tx, batch: str, idx: int, epoch: int, seq: int) -> bool:
    """Whether a segment was committed: asked when the answer to its commit was lost."""
    row = await tx.row(
        "SELECT 1 AS one FROM segment WHERE batch = :batch AND idx = :idx AND epoch = :epoch AND seq = :seq",
        batch=batch,
        idx=idx,
        epoch=epoch,
        seq=seq,
    )
    return row is not None


async def forget(tx: Tx, segments: list[Segment]) -> None:
    """Removes segments whose bytes were lost."""
    await tx.many(
        "DELETE FROM segment WHERE batch = :batch AND idx = :idx AND epoch = :epoch AND seq = :seq",
        [{"batch": s.batch, "idx": s.idx, "epoch": s.epoch, "seq": s.seq} for s in segments],
    )


async def of_chunks(tx: Tx, batch: str, first: int, last: int) -> list[Segment]:
    """Segments of chunks ``first .. last``, ordered by chunk."""
    rows = await tx.rows(
        "SELECT batch, idx, epoch, seq, object, byte_off, byte_len, sha256, model, n_ok, n_failed, lines FROM segment"
        " WHERE batch = :batch AND idx >= :first AND idx <= :last ORDER BY idx, epoch, seq",
        batch=batch,
        first=first,
        last=last,
    )
    return [
        Segment(
            batch=row["batch"],
            idx=row["idx"],
            epoch=row["epoch"],
            seq=row["seq"],
            object=row["object"],
            offset=row["byte_off"],
            length=row["byte_len"],
            sha256=row["sha256"],
            model=row["model"],
            n_ok=row["n_ok"],
            n_failed=row["n_failed"],
            index=bytes(row["lines"]),
        )
        for row in rows
    ]
