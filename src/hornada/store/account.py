"""Who holds a key, read at once over ``organization``, ``member``, ``api_key`` and ``plan``; and their first rows."""

import msgspec
from msgspec import Struct

from hornada.core.account import Plan, Role
from hornada.store.database import Row, Tx

_MODELS = msgspec.json.Decoder(frozenset[str])
_SELECT = (
    "SELECT k.id, k.org, k.member, k.models, k.expires_at, k.revoked_at, k.requests_per_minute AS key_requests, m.role,"
    " m.removed_at, o.plan, o.suspended_at, p.name AS plan_name, p.requests_per_minute, p.active_batches,"
    " p.queued_lines, p.storage_bytes, p.weight FROM api_key k JOIN member m ON m.id = k.member"
    " JOIN organization o ON o.id = k.org LEFT JOIN plan p ON p.name = o.plan WHERE "
)


class Credential(Struct, frozen=True, kw_only=True):
    """A key with what its rights hang on. Times in microseconds since 1970; ``models`` None: every model.

    ``plan``: the name of the organization's; ``terms``: what the database says of it, None for nothing.
    ``withdrawn``: the key is revoked, its member removed or its organization suspended.
    """

    key: str
    org: str
    member: str
    role: Role
    plan: str
    terms: Plan | None = None
    models: frozenset[str] | None
    expires_at: int | None
    requests_per_minute: int | None = None
    withdrawn: bool

    def good(self, now: int) -> bool:
        """Whether the key opens anything at ``now``."""
        return not self.withdrawn and (self.expires_at is None or now < self.expires_at)


def _credential(row: Row) -> Credential:
    return Credential(
        key=row["id"],
        org=row["org"],
        member=row["member"],
        role=Role(row["role"]),
        plan=row["plan"],
        terms=_terms(row) if row["plan_name"] is not None else None,
        models=None if row["models"] is None else _MODELS.decode(row["models"]),
        expires_at=row["expires_at"],
        requests_per_minute=row["key_requests"],
        withdrawn=any(row[column] is not None for column in ("revoked_at", "removed_at", "suspended_at")),
    )


def _terms(row: Row) -> Plan:
    return Plan(
        name=row["plan_name"],
        requests_per_minute=row["requests_per_minute"],
        active_batches=row["active_batches"],
        queued_lines=row["queued_lines"],
        storage_bytes=row["storage_bytes"],
        weight=row["weight"],
    )


async def by_hash(tx: Tx, digest: str) -> Credential | None:
    """The key whose text has this SHA-256 (64 hexadecimal digits)."""
    row = await tx.row(_SELECT + "k.hash = :hash", hash=digest)
    return _credential(row) if row else None


async def by_key(tx: Tx, key: str) -> Credential | None:
    """The key with this id."""
    row = await tx.row(_SELECT + "k.id = :key", key=key)
    return _credential(row) if row else None


async def member_name(tx: Tx, member: str) -> str | None:
    """What a member is called."""
    row = await tx.row("SELECT name FROM member WHERE id = :id", id=member)
    return row["name"] if row else None


async def organizations(tx: Tx) -> int:
    """How many organizations there are."""
    row = await tx.row("SELECT count(*) AS n FROM organization")
    return int(row["n"]) if row else 0


async def lock(tx: Tx, org: str) -> bool:
    """Makes other transactions that lock this organization wait until this (writing) one ends; is it suspended?"""
    row = await tx.row("SELECT suspended_at FROM organization WHERE id = :id {for_update}", id=org)
    return row is not None and row["suspended_at"] is not None


async def insert_organization(tx: Tx, *, id: str, name: str, plan: str, now: int) -> bool:  # noqa: A002
    """Adds an organization; False if the name is taken."""
    added = await tx.run(
        "INSERT INTO organization (id, name, plan, created_at) VALUES (:id, :name, :plan, :now)"
        " ON CONFLICT (name) DO NOTHING",
        id=id,
        name=name,
        plan=plan,
        now=now,
    )
    return added == 1


async def insert_member(tx: Tx, *, id: str, org: str, name: str, role: Role, now: int) -> None:  # noqa: A002
    """Adds a member to an organization."""
    await tx.run(
        "INSERT INTO member (id, org, name, role, created_at) VALUES (:id, :org, :name, :role, :now)",
        id=id,
        org=org,
        name=name,
        role=role,
        now=now,
    )


async def insert_key(
    tx: Tx,
    *,
    id: str,  # noqa: A002
    org: str,
    member: str,
    name: str,
    digest: str,
    now: int,
    models: frozenset[str] | None = None,
    expires_at: int | None = None,
    requests_per_minute: int | None = None,
) -> None:
    """Adds a key of which only the SHA-256 is known."""
    await tx.run(
        "INSERT INTO api_key (id, org, member, name, hash, models, expires_at, requests_per_minute, created_at)"
        " VALUES (:id, :org, :member, :name, :hash, :models, :expires_at, :requests_per_minute, :now)",
        id=id,
        org=org,
        member=member,
        name=name,
        hash=digest,
        models=None if models is None else msgspec.json.encode(sorted(models)).decode(),
        expires_at=expires_at,
        requests_per_minute=requests_per_minute,
        now=now,
    )
