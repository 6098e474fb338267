"""Rows of ``rate``: token buckets that several processes take from (PostgreSQL only).

A call uses CALL of its bucket, of which a microsecond gives ``limit`` back: ``limit`` calls in a minute.
A crash of the database may forget the last moments; nobody waits for the disk.
"""

from msgspec import Struct

from hornada.core.clock import SECOND
from hornada.store.database import Tx

CALL = 60 * SECOND
MOST = 10**9
"""The highest limit that is counted."""

_LEVEL = (
    f"GREATEST(0, LEAST(rate.used, :size) - GREATEST(0, LEAST(excluded.at - rate.at, {CALL})) * CAST(:limit AS BIGINT))"
)
_FIRST = f"LEAST(CAST(:n AS BIGINT), CAST(:size AS BIGINT) / {CALL})"
_NEXT = f"LEAST(CAST(:n AS BIGINT), GREATEST(0, CAST(:size AS BIGINT) - {_LEVEL}) / {CALL})"


class Taken(Struct, frozen=True):
    """How many calls were taken, and what the bucket is used by then."""

    calls: int
    used: int


async def take(tx: Tx, bucket: str, n: int, *, limit: int, size: int) -> Taken:
    """Takes up to ``n`` calls from a bucket of ``size`` that gets ``limit`` calls a minute back."""
    row = await tx.row(
        f"INSERT INTO rate (bucket, used, at, taken) VALUES (:bucket, {_FIRST} * {CALL}, {{now}}, {_FIRST})"  # noqa: S608
        f" ON CONFLICT (bucket) DO UPDATE SET used = {_LEVEL} + {_NEXT} * {CALL}, taken = {_NEXT},"
        " at = GREATEST(rate.at, excluded.at)"
        " RETURNING taken, used",
        bucket=bucket,
        n=n,
        limit=limit,
        size=size,
    )
    assert row is not None
    return Taken(row["taken"], row["used"])


async def sweep(tx: Tx, age: int) -> int:
    """Removes buckets that nobody took from for ``age`` microseconds, a minute or more: they are full; how many."""
    return await tx.run("DELETE FROM rate WHERE at <= {now} - :age", age=age)
