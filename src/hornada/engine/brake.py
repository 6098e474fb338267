"""What keeps lines from being started, whoever finds it out; calls in flight go on and their results are kept."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hornada.core.errors import Unavailable

SLOW_S = 5
"""So many seconds storage may keep somebody waiting who should look what was stopped."""


class Brake:
    """On for as long as anybody holds it, and then until somebody has ``looked``; ``on_released`` asks for that.

    What this process holds may have been stopped meanwhile, and nobody could tell it.
    """

    def __init__(self) -> None:
        self._why: dict[str, str] = {}
        self._unsure = False
        self.lapsed: Callable[[], bool] | None = None
        """Holds it too, without a word; asked each time: who slept must know before a line starts."""
        self.on_released: Callable[[], None] = lambda: None

    @property
    def on(self) -> bool:
        """Whether no line may start."""
        return bool(self._why) or self._unsure or (self.lapsed is not None and self.lapsed())

    @property
    def reasons(self) -> list[str]:
        """Why, in words for people."""
        return [f"no line is started: {why}" for why in self._why.values()]

    def hold(self, who: str, why: str) -> None:
        """Starts no line until ``who`` releases."""
        self._why[who] = why

    def release(self, who: str) -> None:
        """``who`` has no objection any more."""
        if self._why.pop(who, None) is not None and not self._why:
            self._unsure = True
            self.on_released()

    @contextmanager
    def unless_stored(self, who: str) -> Iterator[None]:
        """Holds it when storage does not take what the block wants to keep, until a later block comes to its end."""
        try:
            yield
        except Unavailable as error:
            self.hold(who, str(error))
            raise
        self.release(who)

    @contextmanager
    def unless_soon(self, who: str) -> Iterator[None]:
        """Holds it from ``SLOW_S`` after the beginning of the block until its end."""
        late = asyncio.get_running_loop().call_later(SLOW_S, self.hold, who, f"storage keeps it waiting for {SLOW_S} s")
        try:
            yield
        finally:
            late.cancel()
            self.release(who)

    def looked(self) -> bool:
        """Everything that is held was looked at just now; whether lines may start again because of it."""
        sure_now, self._unsure = self._unsure, False
        return sure_now and not self.on
