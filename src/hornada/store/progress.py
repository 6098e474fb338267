"""Rows of ``progress`` and ``failure``: what each worker has counted of the batches that run."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from hornada.core.progress import BUCKET_S, most
from hornada.store.database import Tx, Value

_BUCKET = BUCKET_S * 1_000_000


class Step(Struct, frozen=True):
    """What one commit adds to a batch: lines that ended, what they cost, and failed ones by code."""

    lines: int
    cost: int
    failures: Mapping[str, int]


async def add(tx: Tx, worker: str, steps: Mapping[str, Step]) -> None:
    """Counts what became durable in this transaction, by batch. Every worker has rows of its own: none waits."""
    await tx.many(
        "INSERT INTO progress (batch, worker, at, n, cost)"  # noqa: S608
        f" VALUES (:batch, :worker, {{now}} / {_BUCKET} * {_BUCKET}, :n, :cost) ON CONFLICT (batch, worker, at)"
        " DO UPDATE SET n = progress.n + excluded.n, cost = progress.cost + excluded.cost",
        [
            {"batch": batch, "worker": worker, "n": step.lines, "cost": step.cost}
            for batch, step in sorted(steps.items())
        ],
    )
    failed: list[dict[str, Value]] = [
        {"batch": batch, "worker": worker, "code": code, "n": n}
        for batch, step in sorted(steps.items())
        for code, n in sorted(step.failures.items())
    ]
    if failed:
        await tx.many(
            "INSERT INTO failure (batch, worker, code, n) VALUES (:batch, :worker, :code, :n)"
            " ON CONFLICT (batch, worker, code) DO UPDATE SET n = failure.n + excluded.n",
            failed,
        )


async def settle(tx: Tx, batch: str, stopped: Mapping[str, int]) -> None:
    """Sums up on an ended batch why lines of it failed, those that never ran included; nothing else stays."""
    rows = await tx.rows(
        "SELECT code, CAST(SUM(n) AS BIGINT) AS n FROM failure WHERE batch = :id GROUP BY code", id=batch
    )
    failures: dict[str, int] = {row["code"]: row["n"] for row in rows}
    for code, n in stopped.items():
        failures[code] = failures.get(code, 0) + n
    await tx.run(
        "UPDATE batch SET failures = :failures WHERE id = :id",
        id=batch,
        failures=msgspec.json.encode(most(failures)).decode() if failures else None,
    )
    await tx.run("DELETE FROM progress WHERE batch = :id", id=batch)
    await tx.run("DELETE FROM failure WHERE batch = :id", id=batch)
