"""Rows of ``idempotency``: what a call with an ``Idempotency-Key`` was answered, for 24 hours."""

from msgspec import Struct

from hornada.core.clock import DAY
from hornada.store.database import Tx, Value

_LIFETIME = DAY
_KEEP = (
    "INSERT INTO idempotency (org, route, key, digest, answer, created_at)"
    " VALUES (:org, :route, :key, :digest, :answer, {now}) ON CONFLICT (org, route, key) DO UPDATE"
    " SET digest = excluded.digest, answer = excluded.answer, created_at = excluded.created_at"
)


class Remembered(Struct, frozen=True):
    """``digest`` of the call's body, to tell a repetition from another call; ``answer`` as the caller stored it."""

    digest: str
    answer: str


async def recall(tx: Tx, org: str, route: str, key: str) -> Remembered | None:
    """What the same key was answered on this route."""
    row = await tx.row(
        "SELECT digest, answer FROM idempotency WHERE org = :org AND route = :route AND key = :key"
        " AND created_at > {now} - :lifetime",
        org=org,
        route=route,
        key=key,
        lifetime=_LIFETIME,
    )
    return Remembered(row["digest"], row["answer"]) if row else None


async def remember(tx: Tx, org: str, route: str, key: str, remembered: Remembered) -> bool:
    """Keeps an answer; False if another call with this key was faster, whose answer stands."""
    old = " WHERE idempotency.created_at <= excluded.created_at - :lifetime"
    return await tx.run(_KEEP + old, lifetime=_LIFETIME, **_row(org, route, key, remembered)) == 1


async def replace(tx: Tx, org: str, route: str, key: str, remembered: Remembered) -> None:
    """Keeps an answer in place of an earlier one."""
    await tx.run(_KEEP, **_row(org, route, key, remembered))


def _row(org: str, route: str, key: str, remembered: Remembered) -> dict[str, Value]:
    return {"org": org, "route": route, "key": key, "digest": remembered.digest, "answer": remembered.answer}


async def sweep(tx: Tx, limit: int) -> int:
    """Removes up to ``limit`` answers that are too old; how many."""
    return await tx.run(
        "DELETE FROM idempotency WHERE (org, route, key) IN (SELECT org, route, key FROM idempotency"
        " WHERE created_at <= {now} - :lifetime ORDER BY created_at LIMIT :limit)",
        lifetime=_LIFETIME,
        limit=limit,
    )
