"""Rows of ``organization``; adding one is in ``account``."""

from hornada.core.account import Organization
from hornada.store.database import Row, Tx, Value
from hornada.store.keyset import Place, behind

_COLUMNS = "id, name, plan, created_at, suspended_at, erasing_at, erased_at"
ERASED = "erased"
"""What names become."""


def _organization(row: Row) -> Organization:
    return Organization(
        id=row["id"],
        name=row["name"],
        plan=row["plan"],
        created_at=row["created_at"],
        suspended_at=row["suspended_at"],
        erasing_at=row["erasing_at"],
        erased_at=row["erased_at"],
    )


async def get(tx: Tx, org: str, *, lock: bool = False) -> Organization | None:
    """One organization. ``lock``: nobody else changes it before this (writing) transaction ends."""
    row = await tx.row(
        f"SELECT {_COLUMNS} FROM organization WHERE id = :id" + (" {for_update}" if lock else ""),  # noqa: S608
        id=org,
    )
    return _organization(row) if row else None


async def page(
    tx: Tx, after: Place | None, limit: int, *, org: str | None = None, name: str | None = None
) -> tuple[Organization, ...]:
    """Up to ``limit`` organizations that are not erased, newest first; only ``org``, only the one called ``name``."""
    where, params = behind(after)
    only: dict[str, Value] = {key: value for key, value in (("id", org), ("name", name)) if value is not None}
    where += "".join(f" AND {key} = :{key}" for key in only)
    rows = await tx.rows(
        f"SELECT {_COLUMNS} FROM organization WHERE erased_at IS NULL{where}"  # noqa: S608
        " ORDER BY created_at DESC, id DESC LIMIT :limit",
        limit=limit,
        **params,
        **only,
    )
    return tuple(_organization(row) for row in rows)


async def named(tx: Tx, name: str) -> str | None:
    """The organization of this name."""
    row = await tx.row("SELECT id FROM organization WHERE name = :name", name=name)
    return row["id"] if row else None


async def update(tx: Tx, organization: Organization) -> None:
    """Writes name, plan and suspension. The name must be free."""
    await tx.run(
        "UPDATE organization SET name = :name, plan = :plan, suspended_at = :suspended_at WHERE id = :id",
        id=organization.id,
        name=organization.name,
        plan=organization.plan,
        suspended_at=organization.suspended_at,
    )


async def on_plan(tx: Tx, plan: str) -> int:
    """How many organizations that are not erased are on a plan."""
    row = await tx.row("SELECT count(*) AS n FROM organization WHERE plan = :plan AND erased_at IS NULL", plan=plan)
    return int(row["n"]) if row else 0


async def condemn(tx: Tx, org: str, now: int) -> None:
    """Suspends an organization for good and marks it for erasure."""
    await tx.run(
        "UPDATE organization SET suspended_at = coalesce(suspended_at, :now), erasing_at = coalesce(erasing_at, :now)"
        " WHERE id = :id",
        id=org,
        now=now,
    )


async def condemned(tx: Tx, limit: int) -> list[str]:
    """Organizations that are being erased, the earliest first."""
    rows = await tx.rows(
        "SELECT id FROM organization WHERE erasing_at IS NOT NULL AND erased_at IS NULL"
        " ORDER BY erasing_at LIMIT :limit",
        limit=limit,
    )
    return [row["id"] for row in rows]


async def blank(tx: Tx, org: str, now: int) -> None:
    """The end of an erasure: names and all that users wrote goes, ids, counts and dates stay.

    Every file, chunk and segment of the organization must be gone.
    """
    await tx.run(
        "UPDATE organization SET name = :name, erased_at = :now WHERE id = :id", id=org, name=f"{ERASED} {org}", now=now
    )
    await tx.run(
        "UPDATE member SET name = :name, removed_at = coalesce(removed_at, :now) WHERE org = :org",
        org=org,
        name=ERASED,
        now=now,
    )
    await tx.run(
        "UPDATE api_key SET name = :name, revoked_at = coalesce(revoked_at, :now) WHERE org = :org",
        org=org,
        name=ERASED,
        now=now,
    )
    await tx.run("UPDATE batch SET metadata = NULL, errors = NULL, twin = NULL WHERE org = :org", org=org)
    await tx.run("DELETE FROM idempotency WHERE org = :org", org=org)
    await tx.run("DELETE FROM upload WHERE org = :org", org=org)


async def remains(tx: Tx, org: str) -> bool:
    """Whether files, parts, chunks or segments of an organization are still there, or a batch of it is under way."""
    row = await tx.row(
        "SELECT 1 AS one WHERE EXISTS (SELECT 1 FROM file WHERE org = :org)"
        " OR EXISTS (SELECT 1 FROM upload_part WHERE org = :org)"
        " OR EXISTS (SELECT 1 FROM batch WHERE org = :org AND (status IN ('validating', 'in_progress', 'finalizing',"
        " 'cancelling') OR EXISTS (SELECT 1 FROM chunk WHERE chunk.batch = batch.id)"
        " OR EXISTS (SELECT 1 FROM segment WHERE segment.batch = batch.id)))",
        org=org,
    )
    return row is not None
