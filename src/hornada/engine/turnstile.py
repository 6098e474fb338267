"""Keeps each turn of the event loop short, however many lines end in it."""

import asyncio
from collections import deque

from hornada.upstream.protocol import Answer, Failure

A_TURN = 16
"""Lines that may hear of their answers in one turn of the loop."""

_Waiter = asyncio.Future[Answer | Failure]


class Turnstile:
    """Lets so many lines go on in one turn of the event loop; the others go on in the next ones, in order.

    A control call or a streamed token needs a handful of turns. With hundreds of lines that end at once, each turn
    would be as long as all of them take; so it is as long as a few, and as many lines get done.
    """

    def __init__(self) -> None:
        self._told = 0
        self._turning = False
        self._waiting: deque[tuple[_Waiter, Answer]] = deque()

    def tell(self, waiter: _Waiter, answer: Answer) -> None:
        """Gives a line its answer: now if few others had theirs in this turn."""
        if not self._turning:
            self._turning = True
            waiter.get_loop().call_soon(self._turn)
        if self._told < A_TURN and not self._waiting:
            self._told += 1
            waiter.set_result(answer)
        else:
            self._waiting.append((waiter, answer))

    def _turn(self) -> None:
        """The next turn has come."""
        self._told, told, waiting = 0, 0, self._waiting
        while waiting and told < A_TURN:
            waiter, answer = waiting.popleft()
            if not waiter.done():
                waiter.set_result(answer)
                told += 1
        self._told = told
        self._turning = told > 0
        if self._turning:
            asyncio.get_running_loop().call_soon(self._turn)
