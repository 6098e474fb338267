"""Ledger entries of regular calls: gathered, and written together in one transaction."""

import asyncio
import logging
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from hornada.core.account import Principal
from hornada.core.catalog import Model
from hornada.core.clock import SECOND, Clock
from hornada.core.ids import new_id
from hornada.core.money import Charge
from hornada.engine.budget import Budget
from hornada.store import ledger
from hornada.store.database import Database

log = logging.getLogger("hornada")

MOST = 100_000
"""Entries kept while the ledger is away; when there are more, those of one kind are summed into one."""
_AT_ONCE = 5_000


class UsageRecord(Struct, frozen=True):
    """One regular call that was answered, and what it is charged for."""

    principal: Principal
    model: Model
    endpoint: str
    charge: Charge


class UsageLog:
    """``record`` costs nothing; ``once`` writes what has gathered, also at the end of the process.

    What was recorded less than half a second before a crash is lost, and so is what could not be written until then.
    """

    def __init__(self, db: Database, clock: Clock, budget: Budget) -> None:
        self._db = db
        self._clock = clock
        self._budget = budget
        self._entries: list[ledger.LedgerEntry] = []
        self._tried = 0
        self._most = MOST
        self._writing = asyncio.Lock()
        budget.source(self._unbooked)

    def record(self, record: UsageRecord) -> None:
        """Notes a call; it is in the ledger within a moment."""
        entry, charge = new_id(), record.charge
        self._entries.append(
            ledger.LedgerEntry(
                id=entry,
                source=entry,
                org=record.principal.org,
                key=record.principal.key,
                batch=None,
                model=record.model.name,
                endpoint=record.endpoint,
                lines=1,
                usage=charge.usage,
                amount=charge.amount,
                estimated=charge.estimated,
                created_at=self._clock.now(),
            )
        )
        self._budget.spend(record.principal.org, charge.amount)
        if len(self._entries) >= self._most:
            self._sum_up()

    async def once(self) -> bool:
        """Writes what has gathered, True if that was not all; it stays noted if the database is away."""
        async with self._writing:
            entries = self._entries[:_AT_ONCE]  # others are noted meanwhile
            if entries:
                self._tried = len(entries)
                async with self._budget.booking(), self._db.write() as tx:
                    await ledger.insert(tx, entries)
                del self._entries[: len(entries)]
                self._tried, self._most = 0, MOST
            return bool(self._entries) and len(entries) == _AT_ONCE

    def _unbooked(self) -> Iterable[tuple[str, int]]:
        return ((entry.org, entry.amount) for entry in self._entries)

    def _sum_up(self) -> None:
        """Keeps memory bounded: one entry for an hour's calls of a key to a model.

        Those that were being written stay as they are: they may be in the ledger although nobody said so.
        """
        head, tail = self._entries[: self._tried], self._entries[self._tried :]
        sums: dict[tuple[str, str, str, str, int], ledger.LedgerEntry] = {}
        for entry in tail:
            kind = (entry.org, entry.key, entry.model, entry.endpoint, entry.created_at // _HOUR)
            known = sums.get(kind)
            sums[kind] = entry if known is None else _sum(known, entry)
        self._entries = head + list(sums.values())
        self._most = max(MOST, 2 * len(self._entries))
        log.warning("usage of %d regular calls waits for the ledger, summed in %d entries", len(tail), len(sums))


_HOUR = 3600 * SECOND


def _sum(one: ledger.LedgerEntry, other: ledger.LedgerEntry) -> ledger.LedgerEntry:
    return replace(
        one,
        lines=one.lines + other.lines,
        usage=one.usage + other.usage,
        amount=one.amount + other.amount,
        estimated=one.estimated or other.estimated,
    )
