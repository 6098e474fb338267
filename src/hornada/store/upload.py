"""Rows of ``upload`` and ``upload_part``. Bytes of a part go before its row does, and parts before their upload."""

from collections.abc import Collection, Sequence

from hornada.core.upload import Part, Upload, UploadStatus
from hornada.store import file as files
from hornada.store.database import Row, Tx
from hornada.store.listed import listed

_COLUMNS = "id, org, member, key, name, bytes, lifetime_s, status, file, created_at, expires_at"
_PART = "id, upload, org, bytes, object, created_at"


def _upload(row: Row) -> Upload:
    return Upload(
        id=row["id"],
        org=row["org"],
        member=row["member"],
        key=row["key"],
        name=row["name"],
        bytes=row["bytes"],
        lifetime_s=row["lifetime_s"],
        status=UploadStatus(row["status"]),
        file=row["file"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )


def _part(row: Row) -> Part:
    return Part(
        id=row["id"],
        upload=row["upload"],
        org=row["org"],
        bytes=row["bytes"],
        object=row["object"],
        created_at=row["created_at"],
    )


async def insert(tx: Tx, upload: Upload) -> None:
    """Adds an upload without parts."""
    await tx.run(
        f"INSERT INTO upload ({_COLUMNS})"  # noqa: S608
        " VALUES (:id, :org, :member, :key, :name, :bytes, :lifetime_s, :status, :file, :created_at, :expires_at)",
        id=upload.id,
        org=upload.org,
        member=upload.member,
        key=upload.key,
        name=upload.name,
        bytes=upload.bytes,
        lifetime_s=upload.lifetime_s,
        status=upload.status,
        file=upload.file,
        created_at=upload.created_at,
        expires_at=upload.expires_at,
    )


async def get(tx: Tx, org: str, upload: str, *, lock: bool = False) -> Upload | None:
    """One upload of an organization; ``lock``: it does not end before this (writing) transaction does."""
    row = await tx.row(
        f"SELECT {_COLUMNS} FROM upload WHERE id = :id AND org = :org" + (" {for_update}" if lock else ""),  # noqa: S608
        id=upload,
        org=org,
    )
    return _upload(row) if row else None


async def end(tx: Tx, upload: str, status: UploadStatus, now: int, file: str | None = None) -> bool:
    """Moves a pending upload into its last status; False if it was not pending any more."""
    changed = await tx.run(
        "UPDATE upload SET status = :status, file = :file, ended_at = :now WHERE id = :id AND status = 'pending'",
        id=upload,
        status=status,
        file=file,
        now=now,
    )
    return changed == 1


async def cancel_all(tx: Tx, org: str, now: int) -> int:
    """Cancels every pending upload of an organization; how many."""
    return await tx.run(
        "UPDATE upload SET status = 'cancelled', ended_at = :now WHERE org = :org AND status = 'pending'",
        org=org,
        now=now,
    )


async def expire(tx: Tx, now: int) -> int:
    """Ends the pending uploads that have run out; how many."""
    return await tx.run(
        "UPDATE upload SET status = 'expired', ended_at = :now WHERE status = 'pending' AND expires_at <= :now", now=now
    )


async def forget(tx: Tx, ended_before: int, limit: int) -> int:
    """Removes up to ``limit`` uploads that ended before then and have no parts left; how many."""
    return await tx.run(
        "DELETE FROM upload WHERE id IN (SELECT id FROM upload WHERE ended_at < :before"
        " AND NOT EXISTS (SELECT 1 FROM upload_part WHERE upload_part.upload = upload.id) LIMIT :limit)",
        before=ended_before,
        limit=limit,
    )


async def add(tx: Tx, part: Part) -> None:
    """Adds a part whose bytes are durable."""
    await tx.run(
        f"INSERT INTO upload_part ({_PART}) VALUES (:id, :upload, :org, :bytes, :object, :created_at)",  # noqa: S608
        id=part.id,
        upload=part.upload,
        org=part.org,
        bytes=part.bytes,
        object=part.object,
        created_at=part.created_at,
    )


async def parts(tx: Tx, upload: str) -> Sequence[Part]:
    """All parts of an upload, in no order."""
    rows = await tx.rows(f"SELECT {_PART} FROM upload_part WHERE upload = :upload", upload=upload)  # noqa: S608
    return [_part(row) for row in rows]


async def count(tx: Tx, upload: str) -> int:
    """How many parts an upload has."""
    row = await tx.row("SELECT count(*) AS n FROM upload_part WHERE upload = :upload", upload=upload)
    return int(row["n"]) if row else 0


async def stored_bytes(tx: Tx, org: str) -> int:
    """Bytes of all parts of an organization whose bytes have not gone."""
    row = await tx.row(
        "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS stored FROM upload_part WHERE org = :org", org=org
    )
    return int(row["stored"]) if row else 0


async def taken_up(tx: Tx, org: str) -> int:
    """Bytes of all that an organization stores, parts of uploads included."""
    return await files.stored_bytes(tx, org) + await stored_bytes(tx, org)


async def garbage(tx: Tx, limit: int) -> Sequence[tuple[str, str]]:
    """(id, object) of parts whose upload is not pending any more."""
    rows = await tx.rows(
        "SELECT upload_part.id, upload_part.object FROM upload_part JOIN upload ON upload.id = upload_part.upload"
        " WHERE upload.status <> 'pending' LIMIT :limit",
        limit=limit,
    )
    return [(row["id"], row["object"]) for row in rows]


async def remove(tx: Tx, part: str) -> None:
    """Removes the row of a part whose bytes are gone."""
    await tx.run("DELETE FROM upload_part WHERE id = :id", id=part)


async def known(tx: Tx, objects: Collection[str]) -> set[str]:
    """Which of these objects belong to a part."""
    if not objects:
        return set()
    names, params = listed("o", objects)
    rows = await tx.rows(f"SELECT object FROM upload_part WHERE object IN ({names})", **params)  # noqa: S608
    return {row["object"] for row in rows}
