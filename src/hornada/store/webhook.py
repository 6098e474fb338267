"""Rows of ``webhook_endpoint``: where the events of an organization go."""

import msgspec

from hornada.core.webhook import Endpoint, EndpointStatus, WhyDisabled
from hornada.store.database import Row, Tx, Value
from hornada.store.keyset import Place, behind

_COLUMNS = (
    "id, org, name, url, events, secret, old_secret, old_secret_until, status, why_disabled, failing_since,"
    " last_failed_at, created_at, updated_at"
)
_EVENTS = msgspec.json.Decoder(frozenset[str])


def _endpoint(row: Row) -> Endpoint:
    return Endpoint(
        id=row["id"],
        org=row["org"],
        name=row["name"],
        url=row["url"],
        events=_EVENTS.decode(row["events"]),
        secret=row["secret"],
        old_secret=row["old_secret"],
        old_secret_until=row["old_secret_until"],
        status=EndpointStatus(row["status"]),
        why_disabled=WhyDisabled(row["why_disabled"]) if row["why_disabled"] else None,
        failing_since=row["failing_since"],
        last_failed_at=row["last_failed_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _values(endpoint: Endpoint) -> dict[str, Value]:
    return {
        "id": endpoint.id,
        "name": endpoint.name,
        "url": endpoint.url,
        "events": msgspec.json.encode(sorted(endpoint.events)).decode(),
        "secret": endpoint.secret,
        "old_secret": endpoint.old_secret,
        "old_secret_until": endpoint.old_secret_until,
        "status": endpoint.status,
        "why_disabled": endpoint.why_disabled,
        "failing_since": endpoint.failing_since,
        "updated_at": endpoint.updated_at,
    }


async def insert(tx: Tx, endpoint: Endpoint) -> None:
    """Adds an endpoint."""
    await tx.run(
        f"INSERT INTO webhook_endpoint ({_COLUMNS}, not_before)"  # noqa: S608
        " VALUES (:id, :org, :name, :url, :events, :secret, :old_secret, :old_secret_until, :status, :why_disabled,"
        " :failing_since, NULL, :created_at, :updated_at, 0)",
        org=endpoint.org,
        created_at=endpoint.created_at,
        **_values(endpoint),
    )


async def update(tx: Tx, endpoint: Endpoint) -> None:
    """Writes all that its owner may change; what was to wait is tried at once."""
    await tx.run(
        "UPDATE webhook_endpoint SET name = :name, url = :url, events = :events, secret = :secret,"
        " old_secret = :old_secret, old_secret_until = :old_secret_until, status = :status,"
        " why_disabled = :why_disabled, failing_since = :failing_since, updated_at = :updated_at, not_before = 0"
        " WHERE id = :id",
        **_values(endpoint),
    )


async def get(tx: Tx, org: str | None, endpoint: str, *, lock: bool = False) -> Endpoint | None:
    """One endpoint of an organization (None: of any); ``lock``: nobody else changes it before this (writing) ends."""
    whose = "" if org is None else " AND org = :org"
    row = await tx.row(
        f"SELECT {_COLUMNS} FROM webhook_endpoint WHERE id = :id{whose}" + (" {for_update}" if lock else ""),  # noqa: S608
        id=endpoint,
        **({} if org is None else {"org": org}),
    )
    return _endpoint(row) if row else None


async def page(tx: Tx, org: str, after: Place | None, limit: int) -> tuple[Endpoint, ...]:
    """Up to ``limit`` endpoints of an organization, newest first."""
    where, params = behind(after)
    rows = await tx.rows(
        f"SELECT {_COLUMNS} FROM webhook_endpoint WHERE org = :org{where}"  # noqa: S608
        " ORDER BY created_at DESC, id DESC LIMIT :limit",
        org=org,
        limit=limit,
        **params,
    )
    return tuple(_endpoint(row) for row in rows)


async def of_org(tx: Tx, org: str) -> tuple[Endpoint, ...]:
    """All endpoints of an organization; the operator limits how many there are."""
    rows = await tx.rows(f"SELECT {_COLUMNS} FROM webhook_endpoint WHERE org = :org ORDER BY id", org=org)  # noqa: S608
    return tuple(_endpoint(row) for row in rows)


async def disable(tx: Tx, endpoint: str, why: WhyDisabled, now: int) -> bool:
    """Sends nothing more to an endpoint; False if it was disabled or deleted meanwhile."""
    return (
        await tx.run(
            "UPDATE webhook_endpoint SET status = 'disabled', why_disabled = :why, updated_at = :now"
            " WHERE id = :id AND status = 'enabled'",
            id=endpoint,
            why=why,
            now=now,
        )
        == 1
    )


async def works(tx: Tx, endpoint: str) -> None:
    """Something was delivered: it is not failing."""
    await tx.run(
        "UPDATE webhook_endpoint SET failing_since = NULL, last_failed_at = NULL, not_before = 0"
        " WHERE id = :id AND (failing_since IS NOT NULL OR not_before > 0)",
        id=endpoint,
    )


async def fails(tx: Tx, endpoint: str, now: int, *, forget: int, not_before: int) -> int | None:
    """Something was not delivered; since when nothing was. None: it is gone.

    ``forget``: a failure longer ago (microseconds) began another streak. ``not_before``: nothing is sent until then.
    """
    row = await tx.row(
        "UPDATE webhook_endpoint SET failing_since = CASE WHEN failing_since IS NULL OR last_failed_at < :long_ago"
        " THEN CAST(:now AS BIGINT) ELSE failing_since END, last_failed_at = :now,"
        " not_before = CASE WHEN not_before > :not_before THEN not_before ELSE CAST(:not_before AS BIGINT) END"
        " WHERE id = :id RETURNING failing_since",
        id=endpoint,
        now=now,
        long_ago=now - forget,
        not_before=not_before,
    )
    return row["failing_since"] if row else None


async def delete(tx: Tx, endpoint: str) -> None:
    """Removes an endpoint, which is locked, with all its deliveries."""
    await tx.run("DELETE FROM webhook_delivery WHERE endpoint = :id", id=endpoint)
    await tx.run("DELETE FROM webhook_endpoint WHERE id = :id", id=endpoint)


async def delete_all(tx: Tx, org: str) -> int:
    """Removes every endpoint and delivery of an organization; how many endpoints there were."""
    await tx.rows("SELECT id FROM webhook_endpoint WHERE org = :org ORDER BY id {for_update}", org=org)
    await tx.run("DELETE FROM webhook_delivery WHERE org = :org", org=org)
    return await tx.run("DELETE FROM webhook_endpoint WHERE org = :org", org=org)
