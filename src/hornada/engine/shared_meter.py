"""Requests a minute over several processes: buckets in the ledger, from which each takes a few calls at a time."""

import asyncio

from hornada.core.account import Principal, Role
from hornada.core.clock import SECOND, Clock
from hornada.engine.meter import LONGEST_WAIT_S, Metered
from hornada.store import rate
from hornada.store.database import Database
from hornada.store.rate import CALL

KEPT_S = 1.0
"""How long calls that were taken from a bucket may be used. What is left of them then is lost."""
_A_MOMENT_S = 0.1
_PART = 240
"""At most this part of a minute's calls are taken at a time: those of a quarter of a second."""
_OFTEN_S, _SELDOM_S = 0.25, 0.5
_IDLE_S = 60.0
_SWEEP_S = 60.0


class SharedMeter:
    """Counts calls so that in total, over all processes, no more than a limit and what time gives back is granted.

    What is taken may be used up to a second later; a bucket from which several calls are taken at a time is smaller by
    what it gets back in that second, so that it holds for the moment of use as well. Buckets with less than 480 calls a
    minute are asked for each call.
    """

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._pockets: dict[str, _Pocket] = {}
        self._swept_at = clock.monotonic()
        self.asked = 0
        """How often a bucket was asked for calls."""

    async def take(self, principal: Principal) -> Metered | None:
        """Counts a call, unless a limit is reached: then nothing is counted. None for the operator, who has no limit.

        A key with a limit of its own draws on its organization's too, and the lower one holds. Raises Unavailable.
        """
        if principal.role is Role.OPERATOR:
            return None
        await self._tidy()
        pockets = [self._pocket(principal.org, principal.plan.requests_per_minute)]
        if principal.requests_per_minute is not None:
            pockets.insert(0, self._pocket("key:" + principal.key, principal.requests_per_minute))
        granted = await self._fill(pockets)
        now = self._clock.monotonic()
        if granted:
            for pocket in pockets:
                pocket.left -= 1
        binding = pockets[-1]
        if len(pockets) > 1 and pockets[0].binds(binding, now, granted=granted):
            binding = pockets[0]
        return binding.metered(now, granted=granted, of_key=binding.name != principal.org)

    @property
    def kept(self) -> int:
        """Buckets in memory."""
        return len(self._pockets)

    def _pocket(self, name: str, limit: int) -> "_Pocket":
        pocket = self._pockets.pop(name, None) or _Pocket(name)
        pocket.adopt(min(max(limit, 1), rate.MOST), self._clock.monotonic())
        self._pockets[name] = pocket
        return pocket

    async def _fill(self, pockets: "list[_Pocket]") -> bool:
        """Whether there is a call in each of them; what is empty is filled first."""
        while True:
            now = self._clock.monotonic()
            if any(pocket.closed(now) for pocket in pockets):
                return False
            empty = next((pocket for pocket in pockets if not pocket.ready(now)), None)
            if empty is None:
                return True
            empty.waiting += 1
            try:
                async with empty.turn:
                    if not empty.ready(self._clock.monotonic()) and not empty.closed(self._clock.monotonic()):
                        await self._take_some(empty)
            finally:
                empty.waiting -= 1

    async def _take_some(self, pocket: "_Pocket") -> None:
        now = self._clock.monotonic()
        n = pocket.next_block(now)
        self.asked += 1
        async with self._db.write(durable=False) as tx:
            taken = await rate.take(tx, pocket.name, n, limit=pocket.limit, size=pocket.size)
        pocket.took(taken.calls, taken.used, now)

    async def _tidy(self) -> None:
        """Forgets what nobody used for a minute, here and in the ledger: it is full."""
        now = self._clock.monotonic()
        if now - self._swept_at < _SWEEP_S:
            return
        self._swept_at = now
        for pocket in [each for each in self._pockets.values() if now - each.at >= _IDLE_S and not each.waiting]:
            del self._pockets[pocket.name]
        async with self._db.write(durable=False) as tx:
            await rate.sweep(tx, round(2 * _IDLE_S * SECOND))


class _Pocket:
    """``left`` calls that this process has taken from a bucket, and what it knows of that: ``used`` as of ``at``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.limit = 0
        self.left = 0
        self.used = 0
        self.at = float("-inf")
        self.waiting = 0
        """Calls that wait for the next block."""
        self.turn = asyncio.Lock()
        self._block = 1
        self._taken = 0
        self._closed_until = float("-inf")

    @property
    def most(self) -> int:
        """The most calls that are taken at a time, but for those that wait already."""
        return max(1, self.limit // _PART)

    @property
    def size(self) -> int:
        """What the bucket holds."""
        return self.limit * CALL - (round(KEPT_S * SECOND) * self.limit if self.most > 1 else 0)

    def adopt(self, limit: int, now: float) -> None:
        """Takes over a limit that has changed."""
        if limit != self.limit:
            self.used = min(self.level(now), limit * CALL) if self.limit else 0
            self.limit, self.left, self._closed_until = limit, 0, float("-inf")

    def ready(self, now: float) -> bool:
        """Whether there is a call that may still be used."""
        if self.left and now - self.at >= (KEPT_S if self.most > 1 else _A_MOMENT_S):
            self._block, self.left = max(1, self._taken - self.left), 0
        return self.left > 0

    def closed(self, now: float) -> bool:
        """Whether the bucket is known to be empty: only time fills it."""
        return not self.left and now < self._closed_until

    def next_block(self, now: float) -> int:
        """How many calls to take: about those of a quarter of a second."""
        if now - self.at < _OFTEN_S:
            self._block *= 2
        elif now - self.at > _SELDOM_S:
            self._block = max(1, self._block // 2)
        self._block = min(self._block, self.most)
        return max(self._block, self.waiting)

    def took(self, calls: int, used: int, now: float) -> None:
        """The bucket gave so many calls and is used so far."""
        self.left = self._taken = calls
        self.used, self.at = used, now
        if not calls:
            self._closed_until = now + (used + CALL - self.size) / (self.limit * SECOND)

    def level(self, now: float) -> int:
        """What is used of the bucket by now, as far as it is known here; calls that are left here are not used."""
        back = 0 if self.at < 0 else round((now - self.at) * SECOND) * self.limit
        return max(0, self.used - back - self.left * CALL)

    def room(self, now: float) -> int:
        """What is left of the bucket."""
        return self.size - self.level(now)

    def wait_s(self, now: float) -> int:
        """Seconds, rounded up, until there is room for a call."""
        return -(-(CALL - self.room(now)) // (self.limit * SECOND))

    def binds(self, other: "_Pocket", now: float, *, granted: bool) -> bool:
        """Whether this bucket, rather than the other, is the one to tell the caller about."""
        if granted:
            return self.room(now) <= other.room(now)
        return self.wait_s(now) > other.wait_s(now)

    def metered(self, now: float, *, granted: bool, of_key: bool) -> Metered:
        """What the caller is told."""
        return Metered(
            limit=self.limit,
            remaining=max(0, self.room(now) // CALL),
            reset_s=-(-self.level(now) // (self.limit * SECOND)),
            wait_s=None if granted else min(max(1, self.wait_s(now)), LONGEST_WAIT_S),
            of_key=of_key,
        )
