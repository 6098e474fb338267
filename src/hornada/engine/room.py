"""Room on the disks that hold ledger and bytes: uploads are refused, then lines wait, before one is full."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from hornada.core.errors import Code, Refusal, Unavailable
from hornada.core.limits import Limits
from hornada.engine.brake import Brake

log = logging.getLogger("hornada")

EVERY_S = 1.0
_LEAST = 1 << 30
_PART = 50
_RETRY_S = 60
_NAME = "disk"

Measure = Callable[[Path], tuple[int, int, int]]
"""Total, used and free bytes of the disk that a path lies on."""


class Room:
    """``once`` measures. Below ``limits.min_free_bytes`` nothing is taken in; below half of it no line is started.

    Lines go on when all of it is free again. Results of lines in flight, and result files, are written all the same.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        limits: Limits,
        brake: Callable[[], Brake],
        measure: Measure = shutil.disk_usage,
    ) -> None:
        self._folders = folders
        self._limits = limits
        self._brake = brake
        self._measure = measure
        self._low: str | None = None

    def adopt(self, limits: Limits) -> None:
        """Takes over changed limits."""
        self._limits = limits

    async def once(self) -> bool:
        """Measures; raises Unavailable when a folder cannot be asked."""
        try:
            found = [await asyncio.to_thread(self._measure, folder) for folder in self._folders]
        except OSError as error:
            raise Unavailable(f"the room on the disk: {error.strerror}") from error
        short = [(free / least, free, least) for total, _, free in found if free < (least := self._least(total))]
        if not short:
            if self._low is not None:
                log.info("the disk has room again")
            self._low = None
            self._brake().release(_NAME)
            return False
        share, free, least = min(short)
        words = f"the disk is almost full: {free:,} bytes are free, {least:,} bytes are to be kept free"
        if self._low is None:
            log.warning("%s; uploads are refused", words)
        self._low = words
        if share < 1 / 2:
            self._brake().hold(_NAME, words)
        return False

    def check(self) -> None:
        """Raises Refusal STORAGE_LOW while nothing is taken in."""
        if self._low is not None:
            raise Refusal(Code.STORAGE_LOW, f"Nothing was stored: {self._low}. Try later.", retry_after=_RETRY_S)

    @property
    def reasons(self) -> list[str]:
        """Why uploads are refused, in words for people."""
        return [f"uploads are refused: {self._low}"] if self._low is not None else []

    def _least(self, total: int) -> int:
        asked = self._limits.min_free_bytes
        return max(_LEAST, total // _PART) if asked is None else asked
