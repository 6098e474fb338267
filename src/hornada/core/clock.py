"""Time as a value that is passed in, so that no rule reads a clock of its own."""

import time
from typing import Protocol

SECOND = 1_000_000
"""Microseconds in a second: every stored time is an integer of microseconds since 1970 (UTC)."""
DAY = 86_400 * SECOND


class Clock(Protocol):
    """Two clocks: one that people read and one that only measures spans."""

    def now(self) -> int:
        """Microseconds since 1970, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; goes on while the machine is suspended."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> int:
        """Microseconds since 1970, UTC."""
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        """Seconds since boot, suspended time included (CLOCK_BOOTTIME)."""
        return time.clock_gettime(_BOOTTIME)


class SharedClock(SystemClock):
    """The machine's clocks, the one for people set by what all processes of a ledger agree on: the ledger's time.

    A deadline is then the same moment on every machine. Below ``TOLERANCE_S`` the machine's own clock stands, so that
    the time it takes to ask does not make it jitter.
    """

    TOLERANCE_S = 0.5

    def __init__(self) -> None:
        self.ahead = 0
        """Microseconds by which the ledger's clock is ahead of the machine's."""

    def now(self) -> int:
        """Microseconds since 1970, UTC, as the ledger would say."""
        return super().now() + self.ahead

    def agree(self, told: int, asked: int) -> bool:
        """The ledger ``told`` its time after it was ``asked`` at this time of ours; whether that changes ours."""
        differs = told - (asked + self.now()) // 2
        if abs(differs) < self.TOLERANCE_S * SECOND:
            return False
        self.ahead += differs
        return True


_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
