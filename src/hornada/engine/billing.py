"""What organizations have left and have used: shown, credited, and proved against results."""

from collections.abc import Awaitable, Callable, Collection

from msgspec import Struct

from hornada.core.account import Principal
from hornada.core.clock import DAY, Clock
from hornada.core.errors import Code, Refusal
from hornada.core.money import MOST_CREDITED
from hornada.engine.administration import reached_organization
from hornada.engine.audit import note
from hornada.engine.rights import check_admin, check_operator
from hornada.store import balance, ledger, reconcile
from hornada.store.database import Database
from hornada.store.ledger import LedgerEntry, Used
from hornada.store.reconcile import Difference


class Standing(Struct, frozen=True):
    """What an organization has left in micro-units, None for unlimited, and the newest entry of its ledger."""

    left: int | None
    last: LedgerEntry | None


class Billing:
    """Reads and credits balances. Amounts are micro-units.

    ``book`` writes what regular calls have used until now, True if that was not all: whoever has made a call and asks
    for the balance finds it there.
    """

    def __init__(self, db: Database, clock: Clock, book: Callable[[], Awaitable[bool]]) -> None:
        self._db = db
        self._clock = clock
        self._book = book

    async def standing(self, org: str) -> Standing:
        """How an organization stands."""
        await self._booked()
        async with self._db.read() as tx:
            return Standing(await balance.left(tx, org), await ledger.last_event(tx, org))

    async def standing_of(self, by: Principal, organization: str) -> Standing:
        """The same of any organization that an operator or admin reaches.

        Raises Refusal PERMISSION_DENIED or ORGANIZATION_NOT_FOUND.
        """
        check_admin(by)
        async with self._db.read() as tx:
            found = await reached_organization(tx, by, organization)
        return await self.standing(found.id)

    async def credit(self, by: Principal, organization: str, amount: int, reason: str | None) -> Standing:
        """Gives an organization credit. Its first credit ends that it is unlimited.

        Raises Refusal PERMISSION_DENIED, ORGANIZATION_NOT_FOUND, ORGANIZATION_ERASED, INTEGER_ABOVE_MAX_VALUE.
        """
        check_operator(by)
        async with self._db.write() as tx:
            found = await reached_organization(tx, by, organization, lock=True)
            if found.erasing_at is not None:
                raise Refusal(Code.ORGANIZATION_ERASED, f"The organization '{organization[:100]}' is erased.", "id")
            given = await balance.credited(tx, found.id)
            if given + amount > MOST_CREDITED:
                message = (
                    f"Invalid 'amount': an organization may be given at most {MOST_CREDITED} micro-units in all; it was"
                    f" given {given}, and this is {amount} more."
                )
                raise Refusal(Code.INTEGER_ABOVE_MAX_VALUE, message, "amount")
            await balance.credit(tx, found.id, amount)
            now = self._clock.now()
            await note(tx, by, "credit.add", now=now, org=found.id, target=found.id, amount=amount, note=reason)
        return await self.standing(found.id)

    async def used(self, org: str, first: int, last: int, by: Collection[str]) -> list[Used]:
        """What an organization used from the day ``first`` through ``last`` (UTC, counted from 1970-01-01)."""
        await self._booked()
        async with self._db.read() as tx:
            return await ledger.used(tx, org, first * DAY, (last + 1) * DAY, by)

    async def differences(self, by: Principal) -> list[Difference]:
        """Where the ledger disagrees with results and balances; none when all is well. For the operator."""
        check_operator(by)
        async with self._db.read() as tx:
            return await reconcile.differences(tx)

    async def _booked(self) -> None:
        while await self._book():
            pass
