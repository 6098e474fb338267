"""Rows to begin with."""

from hornada.core.account import Role
from hornada.core.batch import Batch, Status
from hornada.core.clock import SECOND
from hornada.core.file import File, Purpose
from hornada.core.ids import new_id
from hornada.store import account
from hornada.store.database import Database

NOW = 1_760_000_000 * SECOND
DAY = 86_400 * SECOND


def a_file(
    *,
    org: str = "org",
    sha256: str = "ab",
    purpose: Purpose = Purpose.BATCH,
    size: int = 10,
    created_at: int = NOW,
    expires_at: int | None = NOW + 30 * DAY,
) -> File:
    name = new_id()
    return File(
        id=name,
        org=org,
        member="member",
        key="key",
        purpose=purpose,
        name="in.jsonl",
        bytes=size,
        sha256=sha256,
        object=f"input/{name}",
        requests=2,
        created_at=created_at,
        expires_at=expires_at,
    )


def a_batch(file: File) -> Batch:
    return Batch(
        id=new_id(),
        org=file.org,
        member="member",
        key="key",
        dialect="openai",
        endpoint="/v1/embeddings",
        completion_window="24h",
        model=None,
        input_file=file.id,
        status=Status.VALIDATING,
        stop=None,
        checked=False,
        created_at=NOW,
        expires_at=NOW + DAY,
        updated_at=NOW,
    )


async def a_key(
    db: Database, digest: str, *, expires_at: int | None = None, models: frozenset[str] | None = None
) -> None:
    """An organization ``org`` on the plan ``gold`` with an admin ``member`` and a key ``key``."""
    async with db.write() as tx:
        await account.insert_organization(tx, id="org", name="Acme", plan="gold", now=NOW)
        await account.insert_member(tx, id="member", org="org", name="Ana", role=Role.ADMIN, now=NOW)
        await account.insert_key(
            tx,
            id="key",
            org="org",
            member="member",
            name="k",
            digest=digest,
            now=NOW,
            expires_at=expires_at,
            models=models,
        )
