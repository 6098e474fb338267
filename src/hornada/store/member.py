"""Rows of ``member``; adding one is in ``account``."""

from hornada.core.account import Member, Role
from hornada.store.database import Row, Tx
from hornada.store.keyset import Place, behind

_COLUMNS = "id, org, name, role, created_at, removed_at"


def _member(row: Row) -> Member:
    return Member(
        id=row["id"],
        org=row["org"],
        name=row["name"],
        role=Role(row["role"]),
        created_at=row["created_at"],
        removed_at=row["removed_at"],
    )


async def get(tx: Tx, org: str | None, member: str, *, lock: bool = False) -> Member | None:
    """One member of an organization, removed ones too; ``org`` None: of any. ``lock`` as in ``organization.get``."""
    where = "" if org is None else " AND org = :org"
    row = await tx.row(
        f"SELECT {_COLUMNS} FROM member WHERE id = :id{where}" + (" {for_update}" if lock else ""),  # noqa: S608
        id=member,
        **({} if org is None else {"org": org}),
    )
    return _member(row) if row else None


async def page(tx: Tx, org: str, after: Place | None, limit: int) -> tuple[Member, ...]:
    """Up to ``limit`` members of an organization who have not been removed, newest first."""
    where, params = behind(after)
    rows = await tx.rows(
        f"SELECT {_COLUMNS} FROM member WHERE org = :org AND removed_at IS NULL{where}"  # noqa: S608
        " ORDER BY created_at DESC, id DESC LIMIT :limit",
        org=org,
        limit=limit,
        **params,
    )
    return tuple(_member(row) for row in rows)


async def set_role(tx: Tx, member: str, role: Role) -> None:
    """Makes a member an admin, or none any more."""
    await tx.run("UPDATE member SET role = :role WHERE id = :id", id=member, role=role)


async def remove(tx: Tx, member: str, now: int) -> None:
    """Takes every right from a member, and with it from its keys."""
    await tx.run("UPDATE member SET removed_at = coalesce(removed_at, :now) WHERE id = :id", id=member, now=now)
