"""The stages of a batch that one loop at a time works on: its check and its assembly, fenced by an epoch."""

from collections.abc import Sequence

import msgspec

from hornada.core.batch import STAMPS, Batch, Finding, RequestCounts, Status, Usage
from hornada.store.batch import COLUMNS, counted
from hornada.store.database import Tx
from hornada.store.listed import NOT_ENDED, listed

_FOREVER = 1 << 60
"""A time that no clock reaches: until its owner lets go or has ended."""


class Stage(msgspec.Struct, frozen=True):
    """A batch held by one of the loops; ``epoch`` fences whoever held it before."""

    batch: Batch
    epoch: int
    tries: int


async def take_unchecked(tx: Tx, owner: str) -> Stage | None:
    """Leases the oldest batch whose file nobody is checking."""
    return await _take(tx, owner, "checked = 0 AND status IN ('validating', 'cancelling', 'finalizing')")


async def take_drained(tx: Tx, owner: str) -> Stage | None:
    """Leases the oldest batch that has only its files left to write."""
    return await _take(
        tx,
        owner,
        "checked = 1 AND status IN ('finalizing', 'cancelling')"
        " AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.batch = batch.id AND chunk.state <> 'done')",
    )


async def _take(tx: Tx, owner: str, where: str) -> Stage | None:
    """A stage is its owner's for as long as that one is alive (``store.worker``).

    A loop does one thing after another, so a stage that its own process holds is one that it failed to let go.
    """
    row = await tx.row(
        "UPDATE batch SET stage_owner = :owner, stage_epoch = stage_epoch + 1, stage_until = :forever,"  # noqa: S608
        " stage_tries = stage_tries + 1 WHERE id = (SELECT id FROM batch"
        " WHERE (stage_until <= {now} OR stage_owner = :owner) AND "
        + where
        + " ORDER BY created_at, id LIMIT 1 {skip_locked})"
        f" RETURNING {COLUMNS}, stage_epoch, stage_tries",
        owner=owner,
        forever=_FOREVER,
    )
    if row is None:
        return None
    batch = (await counted(tx, [row]))[0]
    return Stage(batch, row["stage_epoch"], row["stage_tries"])


async def postpone(tx: Tx, stage: Stage, wait: int) -> None:
    """Lets a stage go until ``wait`` microseconds from now."""
    await tx.run(
        "UPDATE batch SET stage_owner = NULL, stage_until = {now} + :wait WHERE id = :id AND stage_epoch = :epoch",
        id=stage.batch.id,
        epoch=stage.epoch,
        wait=wait,
    )


async def void(tx: Tx) -> None:
    """Ends every stage lease: only where no other process can hold one."""
    await tx.run("UPDATE batch SET stage_owner = NULL, stage_until = 0 WHERE stage_until > 0")


async def free(tx: Tx, owners: Sequence[str]) -> int:
    """Ends the stage leases of workers that have ended; how many there were."""
    if not owners:
        return 0
    names, params = listed("o", owners)
    return await tx.run(
        "UPDATE batch SET stage_owner = NULL, stage_until = 0 WHERE stage_until > {now}"  # noqa: S608
        f" AND {NOT_ENDED} AND stage_owner IN ({names})",
        **params,
    )


async def accept(tx: Tx, stage: Stage, to: Status, *, model: str, names: Sequence[str], total: int, now: int) -> bool:
    """Records that the file holds ``total`` good lines and where the batch goes; False if the stage was lost."""
    stamp = f" {STAMPS[to]} = :now," if to is not stage.batch.status else ""
    return (
        await tx.run(
            "UPDATE batch SET checked = 1, model = :model, names = :names, total = :total, status = :to,"  # noqa: S608
            f" updated_at = :now,{stamp} stage_owner = NULL, stage_until = 0, stage_tries = 0"
            " WHERE id = :id AND stage_epoch = :epoch AND status = :status AND checked = 0",
            id=stage.batch.id,
            epoch=stage.epoch,
            status=stage.batch.status,
            model=model,
            names=msgspec.json.encode(list(names)).decode(),
            total=total,
            to=to,
            now=now,
        )
        == 1
    )


async def reject(tx: Tx, stage: Stage, findings: Sequence[Finding], now: int) -> bool:
    """Ends a batch as failed with its causes; False if the stage was lost."""
    return (
        await tx.run(
            "UPDATE batch SET status = 'failed', failed_at = :now, updated_at = :now, checked = 1, errors = :errors,"
            " stage_owner = NULL, stage_until = 0 WHERE id = :id AND stage_epoch = :epoch AND checked = 0",
            id=stage.batch.id,
            epoch=stage.epoch,
            errors=msgspec.json.encode(list(findings)).decode(),
            now=now,
        )
        == 1
    )


async def hold(tx: Tx, stage: Stage) -> bool:
    """Whether a stage was not lost; it stays so until this (writing) transaction ends."""
    row = await tx.row(
        "SELECT 1 AS one FROM batch WHERE id = :id AND stage_epoch = :epoch AND status = :status {for_update}",
        id=stage.batch.id,
        epoch=stage.epoch,
        status=stage.batch.status,
    )
    return row is not None


async def assemble(
    tx: Tx,
    stage: Stage,
    to: Status,
    *,
    counts: RequestCounts,
    usage: Usage,
    cost: int,
    output_file: str | None,
    error_file: str | None,
    errors: Sequence[Finding],
    now: int,
) -> bool:
    """Ends a batch with its files, final counts, usage and causes; False if the stage was lost."""
    return (
        await tx.run(
            f"UPDATE batch SET status = :to, {STAMPS[to]} = :now, updated_at = :now, n_ok = :ok, n_failed = :failed,"  # noqa: S608
            " usage = :usage, cost = :cost, output_file = :output_file, error_file = :error_file, errors = :errors,"
            " stage_owner = NULL, stage_until = 0"
            " WHERE id = :id AND stage_epoch = :epoch AND status = :status",
            id=stage.batch.id,
            epoch=stage.epoch,
            status=stage.batch.status,
            to=to,
            ok=counts.completed,
            failed=counts.failed,
            usage=msgspec.json.encode(usage).decode(),
            cost=cost,
            output_file=output_file,
            error_file=error_file,
            errors=msgspec.json.encode(list(errors)).decode() if errors else None,
            now=now,
        )
        == 1
    )
