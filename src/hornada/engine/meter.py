"""Requests a minute: one token bucket for each organization, and one for each key that has a limit of its own."""

from msgspec import Struct

from hornada.core.account import Principal, Role
from hornada.core.clock import Clock
from hornada.core.errors import Code, Refusal

_SECOND = 10**9
_MINUTE = 60 * _SECOND
_CALL = _MINUTE
"""What a call uses of its bucket. A nanosecond gives ``limit`` back, so that a minute gives back ``limit`` calls.

Whole numbers: nothing drifts, however long a bucket is in use.
"""
LONGEST_WAIT_S = 60
"""What a caller is told to wait at most."""


class Metered(Struct, frozen=True, kw_only=True):
    """How a call stands to the limit that binds it most.

    ``limit``: calls a minute; ``remaining``: calls that could follow at once; ``reset_s``: seconds, rounded up, until
    none counts any more; ``wait_s``: None when the call may go on, else seconds (1 to 60) until the next one may.
    """

    limit: int
    remaining: int
    reset_s: int
    wait_s: int | None
    of_key: bool

    def check(self) -> None:
        """Raises Refusal RATE_LIMIT_EXCEEDED unless the call may go on."""
        if self.wait_s is None:
            return
        whose = "this key" if self.of_key else "the organization"
        message = (
            f"Rate limit reached: {whose} may make {self.limit:,} requests a minute and has made them. "
            f"Try again in {self.wait_s} s. Lines of batches do not count, all other calls do."
        )
        raise Refusal(Code.RATE_LIMIT_EXCEEDED, message, retry_after=self.wait_s)


class Meter:
    """Counts calls, exactly, within this process. A full bucket is as good as none: idle ones take no memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    async def take(self, principal: Principal) -> Metered | None:
        """Counts a call, unless a limit is reached: then nothing is counted. None for the operator, who has no limit.

        A key with a limit of its own draws on its organization's too, and the lower one holds.
        """
        if principal.role is Role.OPERATOR:
            return None
        now = int(self._clock.monotonic() * _SECOND)
        binding = self._bucket(principal.org, principal.plan.requests_per_minute, now)
        if principal.requests_per_minute is None:
            granted = _take(binding)
        else:
            own = self._bucket("key:" + principal.key, principal.requests_per_minute, now)
            granted = _take(own, binding)
            binding = own if own.binds(binding, granted=granted) else binding
        self._drop_idle(now)
        return binding.metered(granted=granted, of_key=binding.name != principal.org)

    @property
    def kept(self) -> int:
        """Buckets in memory."""
        return len(self._buckets)

    def _bucket(self, name: str, limit: int, now: int) -> "_Bucket":
        """The bucket as it is now, moved behind all others: those that were not used for longest come first."""
        bucket = self._buckets.pop(name, None) or _Bucket(name, now)
        bucket.refill(max(limit, 1), now)
        self._buckets[name] = bucket
        return bucket

    def _drop_idle(self, now: int) -> None:
        """Drops buckets that nobody used for a minute: they are full. A call makes two at most, so three keep up."""
        for _ in range(3):
            oldest = next(iter(self._buckets.values()))
            if now - oldest.at < _MINUTE:
                return
            del self._buckets[oldest.name]


class _Bucket:
    """``used`` is what calls have used and time has not given back; ``at`` when that was so, in nanoseconds."""

    __slots__ = ("at", "limit", "name", "used")

    def __init__(self, name: str, now: int) -> None:
        self.name = name
        self.at = now
        self.limit = 0
        self.used = 0

    @property
    def room(self) -> int:
        """What is left."""
        return self.limit * _CALL - self.used

    @property
    def wait_s(self) -> int:
        """Seconds until there is room for a call."""
        return _seconds(_CALL - self.room, self.limit)

    def refill(self, limit: int, now: int) -> None:
        """Gives back what time gives back; a limit that has changed holds from now on."""
        self.limit = limit
        self.used = min(max(0, self.used - (now - self.at) * limit), limit * _CALL)
        self.at = now

    def binds(self, other: "_Bucket", *, granted: bool) -> bool:
        """Whether this bucket, rather than the other, is the one to tell the caller about."""
        return self.room <= other.room if granted else self.wait_s > other.wait_s

    def metered(self, *, granted: bool, of_key: bool) -> Metered:
        """What the caller is told."""
        return Metered(
            limit=self.limit,
            remaining=self.room // _CALL,
            reset_s=_seconds(self.used, self.limit),
            wait_s=None if granted else min(max(1, self.wait_s), LONGEST_WAIT_S),
            of_key=of_key,
        )


def _take(*buckets: _Bucket) -> bool:
    """Takes a call from each of the buckets, or from none."""
    if any(bucket.room < _CALL for bucket in buckets):
        return False
    for bucket in buckets:
        bucket.used += _CALL
    return True


def _seconds(amount: int, limit: int) -> int:
    """Seconds, rounded up, in which time gives so much back."""
    return -(-amount // (limit * _SECOND))
