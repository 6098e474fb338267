"""Rows of ``plan``: those that operators have set beside the configuration's."""

from hornada.core.account import Plan
from hornada.store.database import Row, Tx

_COLUMNS = "name, requests_per_minute, active_batches, queued_lines, storage_bytes, weight"


def _plan(row: Row) -> Plan:
    return Plan(
        name=row["name"],
        requests_per_minute=row["requests_per_minute"],
        active_batches=row["active_batches"],
        queued_lines=row["queued_lines"],
        storage_bytes=row["storage_bytes"],
        weight=row["weight"],
    )


async def get(tx: Tx, name: str) -> Plan | None:
    """The plan of this name."""
    row = await tx.row(f"SELECT {_COLUMNS} FROM plan WHERE name = :name", name=name)  # noqa: S608
    return _plan(row) if row else None


async def all_of(tx: Tx) -> tuple[Plan, ...]:
    """Every plan, by name."""
    return tuple(_plan(row) for row in await tx.rows(f"SELECT {_COLUMNS} FROM plan ORDER BY name"))  # noqa: S608


async def put(tx: Tx, plan: Plan, now: int) -> None:
    """Adds a plan, or changes the one of this name."""
    await tx.run(
        "INSERT INTO plan (name, requests_per_minute, active_batches, queued_lines, storage_bytes, weight, created_at)"
        " VALUES (:name, :requests, :active, :queued, :storage, :weight, :now) ON CONFLICT (name) DO UPDATE SET"
        " requests_per_minute = excluded.requests_per_minute, active_batches = excluded.active_batches,"
        " queued_lines = excluded.queued_lines, storage_bytes = excluded.storage_bytes, weight = excluded.weight",
        name=plan.name,
        requests=plan.requests_per_minute,
        active=plan.active_batches,
        queued=plan.queued_lines,
        storage=plan.storage_bytes,
        weight=plan.weight,
        now=now,
    )


async def remove(tx: Tx, name: str) -> None:
    """Removes a plan that no organization is on."""
    await tx.run("DELETE FROM plan WHERE name = :name", name=name)
