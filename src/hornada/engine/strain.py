"""How hard this process works: when its event loop is full, more lines in flight only make everybody wait."""

import asyncio
import time
from collections.abc import Callable

from hornada.core.clock import Clock

FLOOR = 24
"""Lines in flight that are always allowed: enough to fill a loop, few enough to leave each turn of it short."""
_FULL = 0.9
_EASY = 0.75
_EVERY_S = 0.25
_UNBOUNDED = 1 << 30


class Strain:
    """Bounds the lines in flight of all models while the loop's thread uses more than nine tenths of a core.

    A turn of a full loop serves every connection that has something to say, and a control call needs a handful of
    turns: with 256 lines in flight it waits for several times 256 answers, with 24 for a tenth of that, while the loop
    gets as many lines done. ``on_room`` is called when more lines may be in flight than before.
    """

    def __init__(self, clock: Clock, on_room: Callable[[], None]) -> None:
        self._clock = clock
        self._on_room = on_room
        self._limit = _UNBOUNDED
        self._at = 0.0
        self._used = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._lines = 0

    def try_line(self) -> bool:
        """Counts one more line in flight if there may be one."""
        if self._lines >= self._limit:
            return False
        self._lines += 1
        if self._timer is None:
            self._begin()
        return True

    def keep_line(self) -> bool:
        """Whether a line that has just ended may be followed by another."""
        return self._lines <= self._limit

    def line_done(self) -> None:
        """One line fewer is in flight."""
        self._lines -= 1

    def _begin(self) -> None:
        self._at, self._used = self._clock.monotonic(), time.thread_time()
        self._timer = asyncio.get_running_loop().call_later(_EVERY_S, self._measure)

    def _measure(self) -> None:
        """Looks at what the thread has used since the last time."""
        self._timer = None
        now, used = self._clock.monotonic(), time.thread_time()
        self.judge((used - self._used) / max(now - self._at, 0.001))
        if self._lines:
            self._begin()

    def judge(self, share: float) -> None:
        """Draws the bound in or out; ``share`` is the part of a core that the thread has used."""
        if share > _FULL:
            self._limit = max(FLOOR, min(self._limit, self._lines) // 4)
        elif share < _EASY and self._limit < _UNBOUNDED:
            self._limit *= 2
            self._on_room()
