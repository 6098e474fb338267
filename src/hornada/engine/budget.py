"""What organizations have left, kept at hand so that a call or a line can be let in or held back at once.

Overshoot: an organization's last micro-unit may be spent by everything that is in flight at that moment, no more. In
this process that is its regular calls under way and its lines in flight (at most the batch slots of their models);
what other processes spend is known here within half a second.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from hornada.core.batch import StopReason
from hornada.core.clock import Clock
from hornada.core.errors import Code, Refusal
from hornada.engine.rota import Rota
from hornada.store import balance
from hornada.store import batch as batches
from hornada.store.database import Database

log = logging.getLogger("hornada")

REFRESH_S = 0.5
"""How old what is known of a balance may be, in seconds."""
_IDLE_S = 30.0
_AT_ONCE = 100

Spendings = Callable[[], Iterable[tuple[str, int]]]
"""Gives (organization, micro-units) of what is used and not yet in the ledger."""


class Purse:
    """What one organization has left, as far as this process knows. ``left`` None: unlimited."""

    __slots__ = ("_on_empty", "left", "used_at")

    def __init__(self, left: int | None, on_empty: Callable[[], None], now: float) -> None:
        self.left = left
        self.used_at = now
        self._on_empty = on_empty

    @property
    def empty(self) -> bool:
        """Whether nothing may start any more."""
        return self.left is not None and self.left <= 0

    def spend(self, amount: int) -> None:
        """Takes away what a line or a call has just cost."""
        if self.left is not None and amount:
            before, self.left = self.left, self.left - amount
            if self.left <= 0 < before:
                self._on_empty()


class Budget:
    """Purses of the organizations that are active here; ``once`` refreshes them and stops batches without credit.

    ``rota``: whose turn it is to look at organizations with running batches that are not active here.
    """

    def __init__(
        self, db: Database, clock: Clock, *, on_stopped: Callable[[str, StopReason], None], rota: Rota | None = None
    ) -> None:
        self._rota = rota or Rota(clock, 0.0)
        self._db = db
        self._clock = clock
        self._on_stopped = on_stopped
        self._purses: dict[str, Purse] = {}
        self._sources: list[Spendings] = []
        self._booking = asyncio.Lock()
        self._bell: Callable[[], None] = lambda: None
        self.on_used: Callable[[], None] = lambda: None
        """Whom to tell that a purse is used that was not: it is to be kept up to date."""
        self.quiet = False
        """No batch runs, or it is another process's to look at those that do."""
        self.gone = False
        """Some purse has just become empty, and the batches that live on it are not stopped yet."""

    def bell(self, ring: Callable[[], None]) -> None:
        """Whom to wake when a purse becomes empty."""
        self._bell = ring

    def source(self, spendings: Spendings) -> None:
        """Whoever holds costs that are not yet in the ledger."""
        self._sources.append(spendings)

    @asynccontextmanager
    async def booking(self) -> AsyncIterator[None]:
        """Around a transaction that writes ledger entries: none may become durable while balances are being read.

        Its costs must have left their source before anything else is awaited.
        """
        async with self._booking:
            yield

    async def admit(self, org: str) -> None:
        """Lets a regular call start; raises Refusal INSUFFICIENT_CREDITS, Unavailable."""
        if (await self.purse(org)).empty:
            message = "The organization's balance is used up. Add credit; GET /billing/balance shows what is left."
            raise Refusal(Code.INSUFFICIENT_CREDITS, message, should_retry=False)

    async def purse(self, org: str) -> Purse:
        """The purse of an organization, to be asked as long as it is in use; raises Unavailable."""
        found = self._purses.get(org)
        if found is None:
            left = (await self._read({org})).get(org)
            found = self._purses.setdefault(org, Purse(left, self._emptied, 0))
            if found.empty:
                self._emptied()
            self.on_used()
        found.used_at = self._clock.monotonic()
        return found

    @property
    def used(self) -> bool:
        """Whether lines run or calls are answered here, or did a moment ago."""
        return bool(self._purses)

    def spend(self, org: str, amount: int) -> None:
        """Notes what a regular call has just cost."""
        purse = self._purses.get(org)
        if purse is not None:
            purse.spend(amount)

    async def once(self) -> bool:
        """Looks at every balance that matters now; never more to do at once."""
        mine = self._rota.due() or self.gone
        self.gone = False
        self._forget_idle()
        running: set[str] = set()
        if mine:
            async with self._db.read() as tx:
                running = await balance.running(tx)
        self.quiet = not running
        asked = running | self._purses.keys()
        left = await self._read(asked)
        for org in asked & self._purses.keys():
            self._purses[org].left = left.get(org)
        for org in sorted(running):
            if left.get(org, 1) <= 0:
                await self._stop(org)
        return False

    async def _read(self, orgs: set[str]) -> dict[str, int]:
        """What is left by the ledger, less what is used and not there yet."""
        if not orgs:
            return {}
        async with self._booking:
            async with self._db.read() as tx:
                left = await balance.left_of(tx, orgs)
            for org, amount in self._unbooked().items():
                if org in left:
                    left[org] -= amount
        return left

    def _unbooked(self) -> Counter[str]:
        now, unbooked = self._clock.monotonic(), Counter[str]()
        for source in self._sources:
            for org, amount in source():
                unbooked[org] += amount
                if (purse := self._purses.get(org)) is not None:
                    purse.used_at = now
        return unbooked

    async def _stop(self, org: str) -> None:
        """Ends the remaining lines of an organization's running batches; they drain and complete."""
        async with self._db.read() as tx:
            found = await balance.batches(tx, org, _AT_ONCE)
        for batch in found:
            async with self._db.write() as tx:
                halted = await batches.halt(tx, batch, StopReason.NO_CREDIT, self._clock.now())
            if halted:
                log.info("batch_%s: the balance is used up, its remaining lines end", batch)
                self._on_stopped(batch, StopReason.NO_CREDIT)

    def _emptied(self) -> None:
        self.gone = True
        self._bell()

    def _forget_idle(self) -> None:
        now = self._clock.monotonic()
        for org in [org for org, purse in self._purses.items() if now - purse.used_at > _IDLE_S]:
            del self._purses[org]
