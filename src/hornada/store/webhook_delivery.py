"""Rows of ``webhook_delivery``: the outbox while they are pending, the log afterwards."""

from collections.abc import Sequence

from msgspec import Struct

from hornada.core.webhook import Delivery, DeliveryStatus
from hornada.store.database import Row, Tx
from hornada.store.keyset import Place, behind

_COLUMNS = (
    "id, org, endpoint, event, type, subject, body, status, attempts, next_at, until, tried_at, code, took_ms, error,"
    " created_at, ended_at, trial"
)
_DUE = "status = 'pending' AND next_at <= {now}"


class Due(Struct, frozen=True):
    """An enabled endpoint for which something is to be sent now."""

    endpoint: str
    org: str
    failing: bool


class Backlog(Struct, frozen=True):
    """What waits for enabled endpoints: how many deliveries, and when the oldest was made."""

    pending: int
    oldest: int | None


def _delivery(row: Row) -> Delivery:
    return Delivery(
        id=row["id"],
        org=row["org"],
        endpoint=row["endpoint"],
        event=row["event"],
        type=row["type"],
        subject=row["subject"],
        body=row["body"],
        status=DeliveryStatus(row["status"]),
        attempts=row["attempts"],
        next_at=row["next_at"],
        until=row["until"],
        tried_at=row["tried_at"],
        code=row["code"],
        took_ms=row["took_ms"],
        error=row["error"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
        trial=bool(row["trial"]),
    )


async def insert(tx: Tx, deliveries: Sequence[Delivery]) -> None:
    """Adds deliveries on which nothing has been reported."""
    await tx.many(
        f"INSERT INTO webhook_delivery ({_COLUMNS})"  # noqa: S608
        " VALUES (:id, :org, :endpoint, :event, :type, :subject, :body, :status, :attempts, :next_at, :until,"
        " :tried_at, NULL, NULL, NULL, :created_at, NULL, :trial)",
        [
            {
                "id": each.id,
                "org": each.org,
                "endpoint": each.endpoint,
                "event": each.event,
                "type": each.type,
                "subject": each.subject,
                "body": each.body,
                "status": each.status,
                "attempts": each.attempts,
                "next_at": each.next_at,
                "until": each.until,
                "tried_at": each.tried_at,
                "created_at": each.created_at,
                "trial": int(each.trial),
            }
            for each in deliveries
        ],
    )


async def get(tx: Tx, org: str | None, delivery: str, *, lock: bool = False) -> Delivery | None:
    """One delivery of an organization (None: of any); ``lock``: nobody else moves it before this (writing) ends."""
    whose = "" if org is None else " AND org = :org"
    row = await tx.row(
        f"SELECT {_COLUMNS} FROM webhook_delivery WHERE id = :id{whose}" + (" {for_update}" if lock else ""),  # noqa: S608
        id=delivery,
        **({} if org is None else {"org": org}),
    )
    return _delivery(row) if row else None


async def page(
    tx: Tx, endpoint: str, after: Place | None, limit: int, status: DeliveryStatus | None
) -> tuple[Delivery, ...]:
    """Up to ``limit`` deliveries to an endpoint, newest first; ``status``: only those."""
    where, params = behind(after)
    only = "" if status is None else " AND status = :status"
    rows = await tx.rows(
        f"SELECT {_COLUMNS} FROM webhook_delivery WHERE endpoint = :endpoint{only}{where}"  # noqa: S608
        " ORDER BY created_at DESC, id DESC LIMIT :limit",
        endpoint=endpoint,
        limit=limit,
        **params,
        **({} if status is None else {"status": status}),
    )
    return tuple(_delivery(row) for row in rows)


async def due(tx: Tx, after: str, limit: int) -> list[Due]:
    """Up to ``limit`` enabled endpoints with something to send now, by id, behind the last one seen."""
    rows = await tx.rows(
        "SELECT id, org, failing_since FROM webhook_endpoint AS e WHERE status = 'enabled' AND not_before <= {now}"  # noqa: S608
        f" AND id > :after AND EXISTS (SELECT 1 FROM webhook_delivery AS d WHERE d.endpoint = e.id AND d.{_DUE}"
        " AND d.until > {now}) ORDER BY id LIMIT :limit",
        after=after,
        limit=limit,
    )
    return [Due(row["id"], row["org"], row["failing_since"] is not None) for row in rows]


async def claim(tx: Tx, endpoint: str, limit: int, lease: int) -> tuple[Delivery, ...]:
    """Takes up to ``limit`` deliveries that are due to an endpoint, the oldest first, for ``lease`` microseconds.

    Each counts as an attempt from now on: who comes back with another number of attempts has lost it.
    """
    rows = await tx.rows(
        "UPDATE webhook_delivery SET attempts = attempts + 1, tried_at = {now}, next_at = {now} + :lease"  # noqa: S608
        f" WHERE id IN (SELECT id FROM webhook_delivery WHERE endpoint = :endpoint AND {_DUE} AND until > {{now}}"
        f" ORDER BY next_at LIMIT :limit {{skip_locked}}) RETURNING {_COLUMNS}",
        endpoint=endpoint,
        limit=limit,
        lease=lease,
    )
    return tuple(sorted((_delivery(row) for row in rows), key=lambda each: each.created_at))


async def report(tx: Tx, tried: Delivery) -> bool:
    """Writes what came of an attempt; False if it was not this one's to say any more."""
    return (
        await tx.run(
            "UPDATE webhook_delivery SET status = :status, next_at = :next_at, code = :code, took_ms = :took_ms,"
            " error = :error, ended_at = :ended_at WHERE id = :id AND attempts = :attempts AND status = 'pending'",
            id=tried.id,
            attempts=tried.attempts,
            status=tried.status,
            next_at=tried.next_at,
            code=tried.code,
            took_ms=tried.took_ms,
            error=tried.error,
            ended_at=tried.ended_at,
        )
        == 1
    )


async def renew(tx: Tx, delivery: str, now: int, until: int) -> None:
    """Has a delivery sent again, as if it were new; its attempts go on counting."""
    await tx.run(
        "UPDATE webhook_delivery SET status = 'pending', next_at = :now, until = :until, ended_at = NULL,"
        " error = NULL WHERE id = :id",
        id=delivery,
        now=now,
        until=until,
    )


async def give_up(tx: Tx, limit: int) -> int:
    """Ends deliveries whose time is over and that nobody is trying; how many."""
    return await tx.run(
        "UPDATE webhook_delivery SET status = 'failed', ended_at = {now},"
        " error = COALESCE(error, 'its time was over before it could be sent')"
        " WHERE id IN (SELECT id FROM webhook_delivery WHERE status = 'pending' AND until <= {now}"
        " AND next_at <= {now} ORDER BY until LIMIT :limit {skip_locked})",
        limit=limit,
    )


async def forget(tx: Tx, age: int, limit: int) -> int:
    """Removes deliveries that ended more than ``age`` microseconds ago; how many."""
    return await tx.run(
        "DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery"
        " WHERE ended_at <= {now} - :age ORDER BY ended_at LIMIT :limit {skip_locked})",
        age=age,
        limit=limit,
    )


async def backlog(tx: Tx) -> Backlog:
    """What waits to be delivered."""
    row = await tx.row(
        "SELECT count(*) AS n, min(d.created_at) AS oldest FROM webhook_delivery AS d"
        " JOIN webhook_endpoint AS e ON e.id = d.endpoint WHERE d.status = 'pending' AND e.status = 'enabled'"
    )
    return Backlog(int(row["n"]), row["oldest"]) if row else Backlog(0, None)
