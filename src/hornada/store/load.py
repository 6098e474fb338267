"""Rows of ``load``: what processes that take regular calls do to each model (PostgreSQL only)."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from hornada.store.database import Tx
from hornada.store.listed import listed


class Load(Struct, frozen=True, kw_only=True):
    """What a process says of one model.

    ``in_flight``: its regular calls under way. ``reserve``: slots that lines must leave free because its calls were
    slower beside them; ``pausing``: that they must not run, so that it can measure. ``live``: heard of within the time
    asked for.
    """

    model: str
    process: str
    in_flight: int
    reserve: int
    pausing: bool
    refused_at: int = 0
    late_at: int = 0
    live: bool = True


class Notice(Struct, frozen=True, kw_only=True):
    """What a process writes: ``refused`` and ``late``: its calls have met with that since the last time.

    ``calls``: how many it has had so far; only for itself.
    """

    model: str
    in_flight: int
    reserve: int
    pausing: bool
    refused: bool
    late: bool
    calls: int = 0

    @property
    def quiet(self) -> bool:
        """Whether it says nothing that anybody must heed."""
        return not (self.in_flight or self.reserve or self.pausing or self.refused or self.late)


async def publish(tx: Tx, process: str, notices: Sequence[Notice]) -> None:
    """Writes what a process has to say of models."""
    await tx.many(
        "INSERT INTO load (model, process, in_flight, reserve, pausing, refused_at, late_at, at) VALUES (:model,"
        " :process, :in_flight, :reserve, :pausing, :refused * {now}, :late * {now}, {now})"
        " ON CONFLICT (model, process) DO UPDATE SET in_flight = excluded.in_flight, reserve = excluded.reserve,"
        " pausing = excluded.pausing, at = excluded.at,"
        " refused_at = CASE WHEN excluded.refused_at > 0 THEN excluded.refused_at ELSE load.refused_at END,"
        " late_at = CASE WHEN excluded.late_at > 0 THEN excluded.late_at ELSE load.late_at END",
        [
            {
                "process": process,
                "model": each.model,
                "in_flight": each.in_flight,
                "reserve": each.reserve,
                "pausing": int(each.pausing),
                "refused": int(each.refused),
                "late": int(each.late),
            }
            for each in notices
        ],
    )


async def of_models(tx: Tx, models: Collection[str], *, ttl: int, recent: int) -> list[Load]:
    """What was said of these models within ``recent`` microseconds; ``live`` if within ``ttl``."""
    names, params = listed("m", models)
    rows = await tx.rows(
        "SELECT model, process, in_flight, reserve, pausing, refused_at, late_at,"  # noqa: S608
        " CASE WHEN at > {now} - :ttl THEN 1 ELSE 0 END AS live FROM load"
        f" WHERE model IN ({names}) AND at > {{now}} - :recent ORDER BY process",
        ttl=ttl,
        recent=recent,
        **params,
    )
    return [
        Load(
            model=row["model"],
            process=row["process"],
            in_flight=row["in_flight"],
            reserve=row["reserve"],
            pausing=bool(row["pausing"]),
            refused_at=row["refused_at"],
            late_at=row["late_at"],
            live=bool(row["live"]),
        )
        for row in rows
    ]


async def leave(tx: Tx, process: str) -> None:
    """Forgets a process that ends."""
    await tx.run("DELETE FROM load WHERE process = :process", process=process)


async def sweep(tx: Tx, age: int) -> int:
    """Removes what was said longer ago than ``age`` microseconds; how many rows."""
    return await tx.run("DELETE FROM load WHERE at <= {now} - :age", age=age)
