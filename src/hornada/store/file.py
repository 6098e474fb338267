"""Rows of ``file``. A file is visible until it is deleted or runs out; the input of a live batch does not run out."""

from collections.abc import Collection, Sequence
from typing import Literal

from hornada.core.file import File, Purpose
from hornada.core.page import Period
from hornada.store.database import Row, Tx, Value
from hornada.store.listed import NOT_ENDED, listed
from hornada.store.period import within

Order = Literal["asc", "desc"]
ALWAYS = Period()

_COLUMNS = "id, org, member, key, purpose, name, bytes, sha256, object, requests, created_at, expires_at"
_IN_USE = f"EXISTS (SELECT 1 FROM batch WHERE batch.input_file = file.id AND batch.{NOT_ENDED})"  # noqa: S608
_VISIBLE = f"deleted_at IS NULL AND (expires_at IS NULL OR expires_at > {{now}} OR {_IN_USE})"


def _file(row: Row) -> File:
    return File(
        id=row["id"],
        org=row["org"],
        member=row["member"],
        key=row["key"],
        purpose=Purpose(row["purpose"]),
        name=row["name"],
        bytes=row["bytes"],
        sha256=row["sha256"],
        object=row["object"],
        requests=row["requests"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )


async def insert(tx: Tx, file: File) -> None:
    """Adds a file whose bytes are durable."""
    await tx.run(
        f"INSERT INTO file ({_COLUMNS})"  # noqa: S608
        " VALUES (:id, :org, :member, :key, :purpose, :name, :bytes, :sha256, :object, :requests, :created_at,"
        " :expires_at)",
        id=file.id,
        org=file.org,
        member=file.member,
        key=file.key,
        purpose=file.purpose,
        name=file.name,
        bytes=file.bytes,
        sha256=file.sha256,
        object=file.object,
        requests=file.requests,
        created_at=file.created_at,
        expires_at=file.expires_at,
    )


async def get(tx: Tx, org: str | None, file: str, *, lock: bool = False) -> File | None:
    """One visible file of an organization; ``org`` None: of any.

    ``lock``: nobody else deletes it, or starts a batch on it, before this (writing) transaction ends.
    """
    whose = "" if org is None else " AND org = :org"
    row = await tx.row(
        f"SELECT {_COLUMNS} FROM file WHERE id = :id{whose} AND {_VISIBLE}"  # noqa: S608
        + (" {for_update}" if lock else ""),
        id=file,
        **({} if org is None else {"org": org}),
    )
    return _file(row) if row else None


async def twin(tx: Tx, org: str, sha256: str, purpose: Purpose) -> File | None:
    """The newest visible file with the same bytes and purpose."""
    row = await tx.row(
        f"SELECT {_COLUMNS} FROM file WHERE org = :org AND sha256 = :sha256 AND purpose = :purpose AND {_VISIBLE}"  # noqa: S608
        " ORDER BY created_at DESC, id DESC LIMIT 1",
        org=org,
        sha256=sha256,
        purpose=purpose,
    )
    return _file(row) if row else None


async def renew(tx: Tx, file: str, expires_at: int | None) -> bool:
    """Pushes a file's expiry out, never in; None: it stays for good. False if the file was deleted meanwhile."""
    later = "NULL" if expires_at is None else "CASE WHEN expires_at < :expires_at THEN :expires_at ELSE expires_at END"
    params: dict[str, Value] = {} if expires_at is None else {"expires_at": expires_at}
    changed = await tx.run(
        f"UPDATE file SET expires_at = {later} WHERE id = :id AND deleted_at IS NULL",  # noqa: S608
        id=file,
        **params,
    )
    return changed == 1


async def position(tx: Tx, org: str, file: str) -> tuple[int, str] | None:
    """Where a file stands in the list, also when it was deleted since the page that showed it."""
    row = await tx.row("SELECT created_at, id FROM file WHERE id = :id AND org = :org", id=file, org=org)
    return (row["created_at"], row["id"]) if row else None


async def page(
    tx: Tx,
    org: str,
    after: tuple[int, str] | None,
    limit: int,
    *,
    order: Order = "desc",
    purpose: Purpose | None = None,
    created: Period = ALWAYS,
) -> tuple[File, ...]:
    """Up to ``limit`` visible files behind the (created_at, id) of the last one seen; ``desc``: newest first."""
    times, params = within(created)
    where = ["org = :org", _VISIBLE, *times]
    params.update(org=org, limit=limit)
    if after is not None:
        behind = "<" if order == "desc" else ">"
        where.append(f"(created_at {behind} :at OR (created_at = :at AND id {behind} :id))")
        params.update(at=after[0], id=after[1])
    if purpose is not None:
        where.append("purpose = :purpose")
        params["purpose"] = purpose
    rows = await tx.rows(
        f"SELECT {_COLUMNS} FROM file WHERE {' AND '.join(where)}"  # noqa: S608
        f" ORDER BY created_at {order}, id {order} LIMIT :limit",
        **params,
    )
    return tuple(_file(row) for row in rows)


async def stored_bytes(tx: Tx, org: str) -> int:
    """Bytes of an organization's visible files, results included; one that has run out counts no more, swept or not."""
    row = await tx.row(
        f"SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS stored FROM file WHERE org = :org AND {_VISIBLE}",  # noqa: S608
        org=org,
    )
    return int(row["stored"]) if row else 0


async def reader(tx: Tx, file: str) -> str | None:
    """The oldest live batch that reads this file."""
    row = await tx.row(
        f"SELECT id FROM batch WHERE input_file = :file AND {NOT_ENDED} ORDER BY created_at, id LIMIT 1",  # noqa: S608
        file=file,
    )
    return None if row is None else str(row["id"])


async def mark_deleted(tx: Tx, file: str, now: int) -> bool:
    """Hides a file for good; its bytes go later. False if it was gone already or a live batch reads it.

    Lock it first (``get(lock=True)`` or ``expired``), so that no batch is started on it meanwhile.
    """
    changed = await tx.run(
        f"UPDATE file SET deleted_at = :now WHERE id = :id AND deleted_at IS NULL AND NOT {_IN_USE}",  # noqa: S608
        id=file,
        now=now,
    )
    return changed == 1


async def mark_all_deleted(tx: Tx, org: str, now: int, limit: int) -> int:
    """Hides up to ``limit`` files of an organization for good; how many. Its batches must have ended."""
    return await tx.run(
        "UPDATE file SET deleted_at = :now WHERE id IN (SELECT id FROM file WHERE org = :org AND deleted_at IS NULL"
        " LIMIT :limit)",
        org=org,
        now=now,
        limit=limit,
    )


async def expired(tx: Tx, now: int, limit: int) -> list[str]:
    """Files that have run out, oldest first, locked against a batch that would start on them now."""
    rows = await tx.rows(
        f"SELECT id FROM file WHERE deleted_at IS NULL AND expires_at <= :now AND NOT {_IN_USE}"  # noqa: S608
        " ORDER BY expires_at LIMIT :limit {skip_locked}",
        now=now,
        limit=limit,
    )
    return [row["id"] for row in rows]


async def gone(tx: Tx, limit: int) -> Sequence[tuple[str, str]]:
    """(id, object) of deleted files whose bytes may still be there, the longest deleted first."""
    rows = await tx.rows(
        "SELECT id, object FROM file WHERE deleted_at IS NOT NULL ORDER BY deleted_at, id LIMIT :limit", limit=limit
    )
    return [(row["id"], row["object"]) for row in rows]


async def forget(tx: Tx, file: str) -> None:
    """Removes the row of a deleted file whose bytes are gone."""
    await tx.run("DELETE FROM file WHERE id = :id AND deleted_at IS NOT NULL", id=file)


async def oldest(tx: Tx, limit: int) -> list[tuple[str, int]]:
    """(object, bytes) of the visible files that were made first: a store in the place of another does not have them."""
    rows = await tx.rows(
        f"SELECT object, bytes FROM file WHERE {_VISIBLE} ORDER BY created_at, id LIMIT :limit",  # noqa: S608
        limit=limit,
    )
    return [(row["object"], row["bytes"]) for row in rows]


async def known(tx: Tx, objects: Collection[str]) -> set[str]:
    """Which of these objects belong to a row; bytes without one are garbage."""
    if not objects:
        return set()
    names, params = listed("o", objects)
    rows = await tx.rows(f"SELECT object FROM file WHERE object IN ({names})", **params)  # noqa: S608
    return {row["object"] for row in rows}
