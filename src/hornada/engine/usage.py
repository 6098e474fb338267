"""Ledger entries of regular calls: gathered, and written together in one transaction."""

from msgspec import Struct

from hornada.core.account import Principal
from hornada.core.batch import Usage
from hornada.core.catalog import Model
from hornada.core.clock import Clock
from hornada.core.ids import new_id
from hornada.core.money import amount
from hornada.store import ledger
from hornada.store.database import Database


class UsageRecord(Struct, frozen=True):
    """One regular call that was answered; ``usage`` None when the model server reported none."""

    principal: Principal
    model: Model
    endpoint: str
    usage: Usage | None


class UsageLog:
    """``record`` costs nothing; ``once`` writes what has gathered."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._entries: list[ledger.LedgerEntry] = []

    def record(self, record: UsageRecord) -> None:
        """Notes a call; it is in the ledger within a moment."""
        entry, usage = new_id(), record.usage or Usage()
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
                usage=usage,
                amount=amount(record.model.price, usage),
                estimated=record.usage is None,
                created_at=self._clock.now(),
            )
        )

    async def once(self) -> bool:
        """Writes what has gathered; it stays noted if the database is away."""
        entries = self._entries.copy()  # others are noted meanwhile
        if entries:
            async with self._db.write() as tx:
                await ledger.insert(tx, entries)
            del self._entries[: len(entries)]
        return False
