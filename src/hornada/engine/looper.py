"""The lifecycle that all loops share: bounded steps, a bell, a pause between, and patience when storage is away."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from hornada.core.errors import Unavailable

log = logging.getLogger("hornada")

_PATIENCE_S = 5.0
"""The longest pause of a loop that storage lets down again and again."""


class Looper:
    """Runs ``once`` until told to stop.

    ``once`` does one bounded piece of work that it finds by asking the ledger and answers whether there may be more.
    Between pieces the loop waits ``every`` seconds or until somebody rings; ``pause``, when it is set, says otherwise.
    ``patience_s``: it waits longer and longer while storage is away, but never longer than this.
    """

    def __init__(
        self, name: str, once: Callable[[], Awaitable[bool]], every: float, *, patience_s: float = _PATIENCE_S
    ) -> None:
        self.pause: Callable[[], float] | None = None
        self.name = name
        self._once = once
        self._every = every
        self._patience_s = patience_s
        self._bell = asyncio.Event()
        self._stopping = False
        self.trouble: str | None = None
        """Why the last piece came to nothing, in words for people; None when it did not."""

    def ring(self) -> None:
        """There is work: do not wait."""
        self._bell.set()

    def stop(self) -> None:
        """Ends the loop after the piece it is at."""
        self._stopping = True
        self._bell.set()

    async def run(self) -> None:
        """Loops until ``stop``. Unavailable is logged once a streak and waited out; anything else is a bug."""
        away = 0
        while not self._stopping:
            self._bell.clear()
            try:
                more = await self._once()
                away, self.trouble = 0, None
            except Unavailable as error:
                away += 1
                if away == 1:
                    log.warning("%s waits: %s", self.name, error)
                more, self.trouble = False, f"{self.name}: {error}"
            except Exception as error:
                log.exception("%s failed; it tries again", self.name)
                away, more, self.trouble = away + 1, False, f"{self.name}: {type(error).__name__}"
            if not more:
                every = self._every if self.pause is None else self.pause()
                await self._wait(min(self._patience_s, every * (1 + away)))

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._bell.wait()
