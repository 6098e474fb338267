"""Rows of ``balance``: what organizations with limited credit have left, in micro-units.

A balance is its row's ``amount`` minus the ledger entries that are not yet folded into it, so that writing an entry
touches no row that others wait for. An entry is folded once: ``folded`` 1 when it was taken from a balance, 2 when its
organization had unlimited credit; 3 and 4 are sums of such entries over a day (``store.condense``).
"""

from collections import Counter
from collections.abc import Collection

from hornada.store.database import Tx
from hornada.store.listed import listed
from hornada.store.summing import MOST_ENTRY, MOST_SUM, summed

_LEFT = (
    f"SELECT balance.org, balance.amount - (SELECT {summed('entry.amount')} FROM ledger_entry AS entry"  # noqa: S608
    " WHERE entry.org = balance.org AND entry.folded = 0) AS remaining FROM balance"
)
_LEAST = -MOST_ENTRY
"""An amount does not fall below this, however much is used."""


async def left(tx: Tx, org: str) -> int | None:
    """What an organization has left, below zero if it ran over; None when its credit is unlimited."""
    row = await tx.row(f"{_LEFT} WHERE balance.org = :org", org=org)
    return int(row["remaining"]) if row else None


async def left_of(tx: Tx, orgs: Collection[str]) -> dict[str, int]:
    """The same of several organizations; those with unlimited credit are not among the answers."""
    if not orgs:
        return {}
    names, params = listed("o", orgs)
    rows = await tx.rows(f"{_LEFT} WHERE balance.org IN ({names})", **params)
    return {row["org"]: int(row["remaining"]) for row in rows}


async def running(tx: Tx) -> set[str]:
    """Organizations with limited credit that have batches in progress which nothing has stopped."""
    rows = await tx.rows(
        "SELECT DISTINCT balance.org FROM balance JOIN batch ON batch.org = balance.org"
        " WHERE batch.status = 'in_progress' AND batch.stop IS NULL"
    )
    return {row["org"] for row in rows}


async def batches(tx: Tx, org: str, limit: int) -> list[str]:
    """Up to ``limit`` such batches of an organization."""
    rows = await tx.rows(
        "SELECT id FROM batch WHERE org = :org AND status = 'in_progress' AND stop IS NULL LIMIT :limit",
        org=org,
        limit=limit,
    )
    return [row["id"] for row in rows]


async def credited(tx: Tx, org: str) -> int:
    """What an organization has been given in all."""
    row = await tx.row("SELECT credited FROM balance WHERE org = :org", org=org)
    return int(row["credited"]) if row else 0


async def credit(tx: Tx, org: str, amount: int) -> int:
    """Gives an organization ``amount`` micro-units; what it has left then.

    The first credit makes its balance limited: what it used before is not taken from it.
    """
    if await left(tx, org) is None:
        await tx.run("UPDATE ledger_entry SET folded = 2 WHERE org = :org AND folded = 0", org=org)
    await tx.run(
        "INSERT INTO balance (org, amount, credited) VALUES (:org, :amount, :amount) ON CONFLICT (org) DO UPDATE"
        " SET amount = balance.amount + excluded.amount, credited = balance.credited + excluded.credited",
        org=org,
        amount=amount,
    )
    return await left(tx, org) or 0


async def fold(tx: Tx, limit: int) -> int:
    """Takes up to ``limit`` entries from their organizations' balances; how many."""
    rows = await tx.rows(
        "WITH picked AS MATERIALIZED (SELECT id FROM ledger_entry WHERE folded = 0 LIMIT :limit {skip_locked})"
        " UPDATE ledger_entry SET folded = CASE WHEN EXISTS"
        " (SELECT 1 FROM balance WHERE balance.org = ledger_entry.org) THEN 1 ELSE 2 END"
        " WHERE folded = 0 AND id IN (SELECT id FROM picked) RETURNING org, amount, folded",
        limit=limit,
    )
    sums: Counter[str] = Counter()
    for row in rows:
        if row["folded"] == 1:
            sums[row["org"]] += row["amount"]
    for org in sorted(sums):  # in the same order in every process, so that none waits for the other
        await tx.run(
            f"UPDATE balance SET amount = CASE WHEN amount - :sum < {_LEAST} THEN {_LEAST} ELSE amount - :sum END"  # noqa: S608
            " WHERE org = :org",
            org=org,
            sum=min(sums[org], MOST_SUM),
        )
    return len(rows)
