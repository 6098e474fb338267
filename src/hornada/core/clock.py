"""Time as a value that is passed in, so that no rule reads a clock of its own."""

import time
from typing import Protocol

SECOND = 1_000_000
"""Microseconds in a second: every stored time is an integer of microseconds since 1970 (UTC)."""


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


_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
