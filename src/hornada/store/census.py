"""How many batches live, for whoever looks at the whole installation."""

from hornada.core.batch import TERMINAL, Status
from hornada.store.database import Tx

LIVE = tuple(status for status in Status if status not in TERMINAL)
_LIVE = ", ".join(f"'{status}'" for status in LIVE)


async def live(tx: Tx) -> dict[Status, int]:
    """The number of batches in each status that is not an end, zeros too."""
    rows = await tx.rows(f"SELECT status, count(*) AS n FROM batch WHERE status IN ({_LIVE}) GROUP BY status")  # noqa: S608
    return dict.fromkeys(LIVE, 0) | {Status(row["status"]): row["n"] for row in rows}
