"""Rows of ``api_key``; adding one is in ``account``, and so is looking up who holds one."""

from collections.abc import Mapping

import msgspec

from hornada.core.account import ApiKey
from hornada.store.database import Row, Tx
from hornada.store.keyset import Place, behind

_MODELS = msgspec.json.Decoder(frozenset[str])
_COLUMNS = "id, org, member, name, models, requests_per_minute, expires_at, last_used_at, revoked_at, created_at"


def _key(row: Row) -> ApiKey:
    return ApiKey(
        id=row["id"],
        org=row["org"],
        member=row["member"],
        name=row["name"],
        models=None if row["models"] is None else _MODELS.decode(row["models"]),
        requests_per_minute=row["requests_per_minute"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        revoked_at=row["revoked_at"],
        created_at=row["created_at"],
    )


async def get(tx: Tx, org: str | None, key: str) -> ApiKey | None:
    """One key of an organization, revoked ones too; ``org`` None: of any."""
    where = "" if org is None else " AND org = :org"
    row = await tx.row(
        f"SELECT {_COLUMNS} FROM api_key WHERE id = :id{where}",  # noqa: S608
        id=key,
        **({} if org is None else {"org": org}),
    )
    return _key(row) if row else None


async def page(tx: Tx, org: str, after: Place | None, limit: int) -> tuple[ApiKey, ...]:
    """Up to ``limit`` keys of an organization, newest first, revoked ones too."""
    where, params = behind(after)
    rows = await tx.rows(
        f"SELECT {_COLUMNS} FROM api_key WHERE org = :org{where} ORDER BY created_at DESC, id DESC LIMIT :limit",  # noqa: S608
        org=org,
        limit=limit,
        **params,
    )
    return tuple(_key(row) for row in rows)


async def revoke(tx: Tx, key: str, now: int) -> None:
    """Ends a key for good."""
    await tx.run("UPDATE api_key SET revoked_at = coalesce(revoked_at, :now) WHERE id = :id", id=key, now=now)


async def used(tx: Tx, moments: Mapping[str, int]) -> None:
    """Notes when keys were last used; never an earlier moment than the one that stands."""
    await tx.many(
        "UPDATE api_key SET last_used_at = :at WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :at)",
        [{"id": key, "at": at} for key, at in sorted(moments.items())],
    )
