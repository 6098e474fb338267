"""Holds the ledger against results and balances: every statement answers only what does not agree."""

from msgspec import Struct

from hornada.store.database import Tx
from hornada.store.summing import summed

_ENTRIES = (
    f"(SELECT batch, sum(lines) AS lines, {summed('amount')} AS amount FROM ledger_entry"  # noqa: S608
    " WHERE batch IS NOT NULL GROUP BY batch)"
)
_SEGMENTS = "(SELECT batch, sum(n_ok) AS lines FROM segment GROUP BY batch)"


class Difference(Struct, frozen=True, kw_only=True):
    """Two figures that should be one. ``what`` says which; ``of`` names the batch or the organization."""

    what: str
    of: str
    ledger: int
    found: int


async def differences(tx: Tx) -> list[Difference]:
    """Everything in which the ledger disagrees with the rest, in one consistent view.

    For a batch with segments the lines of its entries are the segments' good lines; for an ended batch they are its
    ``request_counts.completed`` and their amounts its cost; for an organization with limited credit the folded
    entries are what its balance has moved since its credits. Entries outlive the batches of erased organizations.
    """
    return [
        *await _found(
            tx,
            "lines billed and good lines of segments",
            "SELECT batch.id AS id, coalesce(e.lines, 0) AS ledger, coalesce(s.lines, 0) AS found FROM batch"  # noqa: S608
            f" JOIN {_SEGMENTS} s ON s.batch = batch.id LEFT JOIN {_ENTRIES} e ON e.batch = batch.id",
        ),
        *await _found(
            tx,
            "lines billed and completed requests",
            "SELECT batch.id AS id, coalesce(e.lines, 0) AS ledger, batch.n_ok AS found FROM batch"  # noqa: S608
            f" LEFT JOIN {_ENTRIES} e ON e.batch = batch.id"
            " WHERE batch.status IN ('completed', 'cancelled', 'expired', 'failed')",
        ),
        *await _found(
            tx,
            "amount billed and cost of the batch",
            "SELECT batch.id AS id, coalesce(e.amount, 0) AS ledger, batch.cost AS found FROM batch"  # noqa: S608
            f" LEFT JOIN {_ENTRIES} e ON e.batch = batch.id WHERE batch.cost IS NOT NULL",
        ),
        *await _found(
            tx,
            "amounts folded and movement of the balance",
            f"SELECT balance.org AS id, (SELECT {summed('amount')} FROM ledger_entry"  # noqa: S608
            " WHERE ledger_entry.org = balance.org AND folded IN (1, 3)) AS ledger,"
            " balance.credited - balance.amount AS found FROM balance",
        ),
    ]


async def _found(tx: Tx, what: str, pairs: str) -> list[Difference]:
    rows = await tx.rows(f"SELECT id, ledger, found FROM ({pairs}) AS pairs WHERE ledger <> found ORDER BY id")  # noqa: S608
    return [Difference(what=what, of=row["id"], ledger=int(row["ledger"]), found=int(row["found"])) for row in rows]
