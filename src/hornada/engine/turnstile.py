"""Keeps each turn of the event loop short, however many lines end in it."""

import asyncio
from collections import deque

A_TURN = 16
"""Lines that may start in one turn of the loop."""


class Turnstile:
    """Lets so many lines start in one turn of the event loop; the others start in the next ones, in order.

    A control call or a streamed token needs a handful of turns. With hundreds of lines that end at once, each turn
    would be as long as all of them take; so it is as long as a few, and as many lines get done.
    """

    def __init__(self) -> None:
        self._started = 0
        self._turning = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def enter(self) -> asyncio.Future[None] | None:
        """None if a line may start in this turn, else what to wait for."""
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._turn)
        if self._started < A_TURN and not self._waiting:
            self._started += 1
            return None
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        return turn

    def _turn(self) -> None:
        """The next turn has come."""
        self._started = 0
        while self._waiting and self._started < A_TURN:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._started += 1
        self._turning = self._started > 0
        if self._turning:
            asyncio.get_running_loop().call_soon(self._turn)
