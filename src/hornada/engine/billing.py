"""What organizations have left and have used: shown, credited, and proved against results."""

from collections.abc import Collection

from msgspec import Struct

from hornada.core.account import AuditEntry
from hornada.core.clock import SECOND, Clock
from hornada.core.errors import Code, Refusal
from hornada.core.ids import new_id
from hornada.store import audit, balance, ledger, organization, reconcile
from hornada.store.database import Database
from hornada.store.ledger import LedgerEntry, Used
from hornada.store.reconcile import Difference

MOST = 10**15
"""The largest credit at once, in micro-units."""
DAY = 86_400 * SECOND


class Standing(Struct, frozen=True):
    """What an organization has left in micro-units, None for unlimited, and the newest entry of its ledger."""

    left: int | None
    last: LedgerEntry | None


class Billing:
    """Reads and credits balances. Amounts are micro-units."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def standing(self, org: str) -> Standing:
        """How an organization stands."""
        async with self._db.read() as tx:
            return Standing(await balance.left(tx, org), await ledger.last_event(tx, org))

    async def standing_of(self, org: str) -> Standing:
        """The same, for operators; raises Refusal ORGANIZATION_NOT_FOUND."""
        async with self._db.read() as tx:
            if await organization.get(tx, org) is None:
                raise _unknown(org)
        return await self.standing(org)

    async def credit(self, org: str, amount: int, *, note: str | None, actor: str = "operator") -> int:
        """Gives an organization credit; what it has left then. Its first credit ends that it is unlimited.

        Raises Refusal ORGANIZATION_NOT_FOUND; INVALID_VALUE for less than 0 or more than ``MOST``.
        """
        if not 0 <= amount <= MOST:
            message = f"Invalid 'amount': expected 0 to {MOST} micro-units, but got {amount}."
            raise Refusal(Code.INVALID_VALUE, message, "amount")
        async with self._db.write() as tx:
            if await organization.get(tx, org, lock=True) is None:
                raise _unknown(org)
            left = await balance.credit(tx, org, amount)
            entry = AuditEntry(
                id=new_id(),
                at=self._clock.now(),
                actor=actor,
                action="credit.add",
                org=org,
                target=org,
                detail={"amount": amount, "note": note},
            )
            await audit.insert(tx, entry)
        return left

    async def used(self, org: str, first: int, last: int, by: Collection[str]) -> list[Used]:
        """What an organization used from the day ``first`` through ``last`` (UTC, counted from 1970-01-01)."""
        async with self._db.read() as tx:
            return await ledger.used(tx, org, first * DAY, (last + 1) * DAY, by)

    async def differences(self) -> list[Difference]:
        """Where the ledger disagrees with results and balances; none when all is well."""
        async with self._db.read() as tx:
            return await reconcile.differences(tx)

    async def named(self, name: str) -> str:
        """The id of the organization with this id or name; raises Refusal ORGANIZATION_NOT_FOUND."""
        async with self._db.read() as tx:
            if await organization.get(tx, name) is not None:
                return name
            found = await organization.named(tx, name)
        if found is None:
            raise _unknown(name)
        return found


def _unknown(org: str) -> Refusal:
    return Refusal(Code.ORGANIZATION_NOT_FOUND, f"No organization found with id '{org[:100]}'.", "id")
