"""Rows of ``worker``: processes that share a ledger, each alive until a time that it moves on again and again."""

from collections.abc import Sequence

from msgspec import Struct

from hornada.core.clock import SECOND
from hornada.store.database import Tx
from hornada.store.listed import NOT_ENDED

REMEMBERED = 600 * SECOND
"""For so long an ended worker's row stays: much longer than a transaction of it can be under way."""
_ALIVE = "ended_at IS NULL AND lease_until > {now}"


class Crew(Struct, frozen=True):
    """Who is alive: how many processes of each role, and which of those that run batches began first."""

    roles: dict[str, int]
    first: str | None


class Ended(Struct, frozen=True):
    """A worker that did not renew its lease in time."""

    id: str
    role: str
    host: str


async def now(tx: Tx) -> int:
    """The ledger's time, in microseconds since 1970."""
    row = await tx.row("SELECT {now} AS told")
    assert row is not None
    told: int = row["told"]
    return told


async def join(tx: Tx, worker: str, role: str, host: str, ttl: int) -> None:
    """Adds a process that is alive for ``ttl`` microseconds from now."""
    await tx.run(
        "INSERT INTO worker (id, role, host, started_at, lease_until) VALUES (:id, :role, :host, {now}, {now} + :ttl)",
        id=worker,
        role=role,
        host=host,
        ttl=ttl,
    )


async def renew(tx: Tx, worker: str, ttl: int) -> bool:
    """Is alive for ``ttl`` microseconds from now; False when it was ended. Being late alone loses nothing."""
    return (
        await tx.run(
            "UPDATE worker SET lease_until = {now} + :ttl WHERE id = :id AND ended_at IS NULL", id=worker, ttl=ttl
        )
        == 1
    )


async def leave(tx: Tx, worker: str) -> None:
    """Ends a process by its own wish; what it could not let go is freed as that of a dead one, and not held against it.

    Whoever leaves has let go of its chunks, as a rule.
    """
    await tx.run("UPDATE worker SET ended_at = {now} WHERE id = :id AND ended_at IS NULL", id=worker)


async def end_late(tx: Tx, limit: int) -> list[Ended]:
    """Ends those whose lease ran out: what they hold is anybody's from now on."""
    rows = await tx.rows(
        "UPDATE worker SET ended_at = {now} WHERE ended_at IS NULL AND lease_until <= {now} AND id IN (SELECT id"
        " FROM worker WHERE ended_at IS NULL AND lease_until <= {now} ORDER BY id LIMIT :limit {skip_locked})"
        " RETURNING id, role, host",
        limit=limit,
    )
    return [Ended(row["id"], row["role"], row["host"]) for row in rows]


async def ended(tx: Tx) -> Sequence[str]:
    """Whose work is free to be taken: those that have ended a while ago at most."""
    rows = await tx.rows("SELECT id FROM worker WHERE ended_at IS NOT NULL ORDER BY id")
    return [row["id"] for row in rows]


async def strangers(tx: Tx) -> Sequence[str]:
    """Who holds something and has no row: it took that after it had been ended, and forgotten, without knowing."""
    known = "NOT IN (SELECT id FROM worker)"
    rows = await tx.rows(
        f"SELECT owner AS id FROM chunk WHERE state = 'leased' AND owner IS NOT NULL AND owner {known}"  # noqa: S608
        f" UNION SELECT stage_owner FROM batch WHERE {NOT_ENDED}"
        f" AND stage_until > {{now}} AND stage_owner IS NOT NULL AND stage_owner {known} ORDER BY id LIMIT 100"
    )
    return [row["id"] for row in rows]


async def forget(tx: Tx) -> int:
    """Removes rows of those that ended long ago."""
    return await tx.run("DELETE FROM worker WHERE ended_at < {now} - :age", age=REMEMBERED)


async def clear(tx: Tx) -> None:
    """Removes every row: only where no other process can be alive."""
    await tx.run("DELETE FROM worker")


async def crew(tx: Tx) -> Crew:
    """Who is alive now."""
    rows = await tx.rows(f"SELECT role, COUNT(*) AS n FROM worker WHERE {_ALIVE} GROUP BY role")  # noqa: S608
    first = await tx.row(
        f"SELECT id FROM worker WHERE {_ALIVE} AND role <> 'api' ORDER BY started_at, id LIMIT 1"  # noqa: S608
    )
    return Crew({row["role"]: row["n"] for row in rows}, first["id"] if first else None)
