"""Rows of ``slot_grant`` and ``capacity``: which worker may use how many slots of a model (PostgreSQL only).

A worker renews its grants every half second or so; nothing is lost when the database forgets the last of it, unless a
grant has grown. So these transactions need not wait for the disk (``write(durable=False)``), but for those in which one
does: ``outlast``.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct

from hornada.store.database import Tx
from hornada.store.listed import listed


class Capacity(Struct, frozen=True):
    """What has been learned of a model, and why it is not more."""

    slots: int
    reason: str


class SlotGrant(Struct, frozen=True, kw_only=True):
    """What a worker holds and says of itself.

    ``demand``: lines in flight and waiting there; ``more``: the ledger has more for it. ``live``: its lease runs; if
    not, its slots are kept for calls that it may have under way. ``ground``: which process it is on
    its machine. ``refused_at``, ``late_at``: when it last saw the model's servers refuse a request, or leave one
    unanswered.
    """

    model: str
    worker: str
    ground: str = ""
    slots: int
    in_use: int
    demand: int
    more: bool
    refused_at: int = 0
    late_at: int = 0
    live: bool = True


class Ailing(Struct, frozen=True, kw_only=True):
    """What is amiss with a model: since when it is away, and since when no call is answered; None: neither.

    In microseconds since 1970.
    """

    away_at: int | None = None
    silent_at: int | None = None


WELL = Ailing()


class Renewal(Struct, frozen=True, kw_only=True):
    """What a worker writes: ``refused`` and ``late``: it has seen that since the last time."""

    model: str
    slots: int
    in_use: int
    demand: int
    more: bool
    refused: bool
    late: bool
    ailing: Ailing = WELL


async def lock(tx: Tx, models: Collection[str], start: Sequence[tuple[str, int]]) -> dict[str, Capacity]:
    """Keeps everybody else from granting slots of these models until the end of this transaction.

    ``start``: with what to begin for models of which nothing is known yet.
    """
    known = await _locked(tx, models)
    missing = [(model, slots) for model, slots in start if model in models and model not in known]
    if missing:
        await tx.many(
            "INSERT INTO capacity (model, slots, reason) VALUES (:model, :slots, '') ON CONFLICT (model) DO NOTHING",
            [{"model": model, "slots": slots} for model, slots in sorted(missing)],
        )
        known = await _locked(tx, models)
    return known


async def _locked(tx: Tx, models: Collection[str]) -> dict[str, Capacity]:
    names, params = listed("m", models)
    rows = await tx.rows(
        f"SELECT model, slots, reason FROM capacity WHERE model IN ({names}) ORDER BY model {{for_update}}",  # noqa: S608
        **params,
    )
    return {row["model"]: Capacity(row["slots"], row["reason"]) for row in rows}


async def known(tx: Tx, models: Collection[str]) -> dict[str, Capacity]:
    """What has been learned of these models."""
    names, params = listed("m", models)
    rows = await tx.rows(f"SELECT model, slots, reason FROM capacity WHERE model IN ({names})", **params)  # noqa: S608
    return {row["model"]: Capacity(row["slots"], row["reason"]) for row in rows}


async def learn(tx: Tx, model: str, capacity: Capacity) -> None:
    """Notes what has been learned of a model."""
    await tx.run(
        "UPDATE capacity SET slots = :slots, reason = :reason WHERE model = :model",
        model=model,
        slots=capacity.slots,
        reason=capacity.reason,
    )


async def of_models(tx: Tx, models: Collection[str]) -> list[SlotGrant]:
    """Every grant of these models that is not free again, by worker."""
    names, params = listed("m", models)
    rows = await tx.rows(
        "SELECT model, worker, ground, slots, in_use, demand, more, refused_at, late_at,"  # noqa: S608
        " CASE WHEN lease_until > {now} THEN 1 ELSE 0 END AS live FROM slot_grant"
        f" WHERE model IN ({names}) AND reserved_until > {{now}} ORDER BY worker",
        **params,
    )
    return [
        SlotGrant(
            model=row["model"],
            worker=row["worker"],
            ground=row["ground"],
            slots=row["slots"],
            in_use=row["in_use"],
            demand=row["demand"],
            more=bool(row["more"]),
            refused_at=row["refused_at"],
            late_at=row["late_at"],
            live=bool(row["live"]),
        )
        for row in rows
    ]


async def renew(tx: Tx, worker: str, renewals: Sequence[Renewal], *, ttl: int, calls: int, ground: str = "") -> None:
    """Writes a worker's grants, for ``ttl`` microseconds; ``calls``: how much longer its calls may take then."""
    await tx.many(
        "INSERT INTO slot_grant (model, worker, ground, slots, in_use, demand, more, refused_at, late_at, lease_until,"
        " reserved_until, away_at, silent_at) VALUES (:model, :worker, :ground, :slots, :in_use, :demand, :more,"
        " :refused * {now}, :late * {now}, {now} + :ttl, {now} + :ttl + :calls, :away_at, :silent_at)"
        " ON CONFLICT (model, worker) DO UPDATE SET slots = excluded.slots, in_use = excluded.in_use,"
        " demand = excluded.demand, more = excluded.more,"
        " refused_at = CASE WHEN excluded.refused_at > 0 THEN excluded.refused_at ELSE slot_grant.refused_at END,"
        " late_at = CASE WHEN excluded.late_at > 0 THEN excluded.late_at ELSE slot_grant.late_at END,"
        " lease_until = excluded.lease_until, reserved_until = excluded.reserved_until,"
        " away_at = excluded.away_at, silent_at = excluded.silent_at",
        [
            {
                "worker": worker,
                "ground": ground,
                "model": each.model,
                "slots": each.slots,
                "in_use": each.in_use,
                "demand": each.demand,
                "more": int(each.more),
                "refused": int(each.refused),
                "late": int(each.late),
                "away_at": each.ailing.away_at,
                "silent_at": each.ailing.silent_at,
                "ttl": ttl,
                "calls": calls,
            }
            for each in renewals
        ],
    )


async def ailing(tx: Tx) -> dict[str, Ailing]:
    """What workers that are alive say is amiss, by model."""
    rows = await tx.rows(
        "SELECT model, MIN(away_at) AS away_at, MIN(silent_at) AS silent_at FROM slot_grant"
        " WHERE (away_at IS NOT NULL OR silent_at IS NOT NULL) AND lease_until > {now} GROUP BY model ORDER BY model"
    )
    return {row["model"]: Ailing(away_at=row["away_at"], silent_at=row["silent_at"]) for row in rows}


async def outlast(tx: Tx) -> None:
    """Has this transaction wait for the disk after all."""
    await tx.run("SET LOCAL synchronous_commit = on")


async def cut(tx: Tx, model: str, worker: str, slots: int) -> None:
    """Has a silent worker's grant of a model be no more than ``slots``; no more calls of it can be under way."""
    await tx.run(
        "UPDATE slot_grant SET slots = :slots, in_use = CASE WHEN in_use < :slots THEN in_use ELSE :slots END"
        " WHERE model = :model AND worker = :worker AND lease_until <= {now}",
        model=model,
        worker=worker,
        slots=slots,
    )


async def give_back(tx: Tx, worker: str, models: Collection[str]) -> None:
    """Frees a worker's slots of these models; it has no call to them under way."""
    if not models:
        return
    names, params = listed("m", models)
    sql = f"DELETE FROM slot_grant WHERE worker = :worker AND model IN ({names})"  # noqa: S608
    await tx.run(sql, worker=worker, **params)


async def leave(tx: Tx, worker: str) -> None:
    """Frees all slots of a worker that has no call under way any more."""
    await tx.run("DELETE FROM slot_grant WHERE worker = :worker", worker=worker)


async def sweep(tx: Tx) -> int:
    """Removes grants of workers that went without a word, once no call of theirs can be under way; how many."""
    return await tx.run("DELETE FROM slot_grant WHERE reserved_until <= {now}")
