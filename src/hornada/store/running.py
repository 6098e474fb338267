"""What is looked at while batches run: which model runs them, under which names they ask for it, whose they are."""

import msgspec

from hornada.store.database import Tx

_NAMES = msgspec.json.Decoder(tuple[str, ...])
_OPEN = "SELECT 1 FROM chunk WHERE chunk.batch = batch.id AND chunk.state <> 'done'"
_HERE = "(chunk.state = 'leased' OR chunk.model = batch.model)"


class Asking(msgspec.Struct, frozen=True):
    """A running batch: the model that runs it, and the names under which its lines ask for one.

    ``passed_on``: what is left of it are lines that ask for another model (names of a batch may come apart).
    """

    id: str
    model: str
    names: tuple[str, ...]
    passed_on: bool


async def asking(tx: Tx) -> list[Asking]:
    """What every batch whose lines run asks for."""
    rows = await tx.rows(
        "SELECT id, model, names,"  # noqa: S608
        f" CASE WHEN NOT EXISTS ({_OPEN} AND {_HERE}) AND EXISTS ({_OPEN}) THEN 1 ELSE 0 END AS on_"
        " FROM batch WHERE status = 'in_progress' AND stop IS NULL"
    )
    return [
        Asking(
            row["id"],
            row["model"],
            _NAMES.decode(row["names"]) if row["names"] else (row["model"],),
            bool(row["on_"]),
        )
        for row in rows
    ]


async def unauthorized(tx: Tx, now: int) -> list[str]:
    """Batches whose lines run though their key, its member or its organization has lost its rights."""
    rows = await tx.rows(
        "SELECT batch.id FROM batch LEFT JOIN api_key ON api_key.id = batch.key"
        " LEFT JOIN member ON member.id = api_key.member LEFT JOIN organization ON organization.id = batch.org"
        " WHERE batch.status = 'in_progress' AND batch.stop IS NULL AND (api_key.id IS NULL"
        " OR api_key.revoked_at IS NOT NULL OR api_key.expires_at <= :now OR member.removed_at IS NOT NULL"
        " OR organization.suspended_at IS NOT NULL)",
        now=now,
    )
    return [row["id"] for row in rows]


async def rekey(tx: Tx, batch: str, model: str) -> None:
    """Has what is left of a running batch run by another model.

    Chunks that are held are not written: their holders may wait for this batch's lock. They become the new model's when
    they are handed back.
    """
    await tx.run("UPDATE batch SET model = :model WHERE id = :id AND status = 'in_progress'", id=batch, model=model)
    await tx.run("UPDATE chunk SET model = :model WHERE batch = :id AND state = 'ready'", id=batch, model=model)


async def pause(tx: Tx, batch: str, now: int) -> None:
    """Has no line of a batch started until ``resume``."""
    await tx.run(
        "UPDATE batch SET paused_at = COALESCE(paused_at, :now), updated_at = :now WHERE id = :id", id=batch, now=now
    )


async def resume(tx: Tx, batch: str, now: int) -> None:
    """Lets lines of a batch start again."""
    await tx.run("UPDATE batch SET paused_at = NULL, updated_at = :now WHERE id = :id", id=batch, now=now)
