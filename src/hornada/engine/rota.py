"""Whose turn it is to do what one of many processes must do for all, at the same cost for any number of them."""

from collections.abc import Callable

from hornada.core.clock import Clock


class Rota:
    """``due`` is true each time for the first of the workers, and now and then for the others, should that one hang.

    All others together do it about as often as the first. ``first`` and ``workers``: as the process knows them now.
    """

    def __init__(
        self,
        clock: Clock,
        every_s: float,
        first: Callable[[], bool] = lambda: True,
        workers: Callable[[], int] = lambda: 1,
    ) -> None:
        self._clock = clock
        self._every_s = every_s
        self._first = first
        self._workers = workers
        self._at = clock.monotonic()

    def due(self) -> bool:
        """Whether it is this process's turn."""
        now = self._clock.monotonic()
        if not self._first() and now < self._at:
            return False
        self._at = now + self._every_s * max(2, self._workers())
        return True
