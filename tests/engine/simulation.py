"""A model server that is only reckoned with, and lines without end that go through a gate to it.

The clock is set by hand, nothing waits and nothing is left to chance: the same story every time.
"""

import heapq
import random
from collections.abc import Callable
from itertools import count

from msgspec.structs import replace

from hornada.core.catalog import MOST_SLOTS, Model, Server
from hornada.core.line import Reply
from hornada.engine.capacity import Gate
from hornada.engine.gauge import Load
from tests.conftest import Hands

MODEL = Model(name="m", servers=(Server(url="http://x"),), auto=True, batch_slots=MOST_SLOTS)
BUSY = Reply(ok=False, status=429, body=b"{}")
LATE = Reply(ok=False, status=504, body=b"{}")
TICK_S = 0.5

Seconds = Callable[[int], float]
"""How long the server works on a call when so many are in work."""


class Story:
    """``slots``: calls that the server works on at once; what is more waits there, or is refused.

    ``gauge``: it says how many wait. ``others``: slots that somebody else uses.
    """

    def __init__(
        self,
        *,
        slots: int,
        seconds: Seconds = lambda _: 1.0,
        refuses: bool = False,
        gauge: bool = False,
        noise: float = 0.0,
        seed: int = 1,
        **model: object,
    ) -> None:
        self.clock = Hands()
        self.gate = Gate(replace(MODEL, **model), self.clock)
        self.slots = slots
        self.seconds = seconds
        self.refuses = refuses
        self.gauge = gauge
        self.noise = noise
        self.away = False
        self.chance = random.Random(seed)
        self.working = 0
        self.queue: list[float] = []
        self.ends: list[tuple[float, int, float, Reply | None]] = []
        self.order = count()
        self.sent = 0
        self.refused = 0
        self.answered = 0
        self.busy_s = 0.0
        self.limits: list[int] = []
        self.waited: list[int] = []
        self.gate.watch(self._fill)

    def run(self, seconds: float) -> "Story":
        """Goes on for so long; keeps what was in force at each tick."""
        self.limits, self.waited, self.sent, self.refused, self.answered, self.busy_s = [], [], 0, 0, 0, 0.0
        end = self.clock.monotonic() + seconds
        tick = self.clock.monotonic() + TICK_S
        self._fill()
        while (now := self.clock.monotonic()) < end:
            at = min(tick, self.ends[0][0] if self.ends else tick)
            self.busy_s += min(self.working, self.slots) * (at - now)
            self.clock.advance(max(0.0, at - now))
            if self.ends and self.ends[0][0] <= at:
                self._end(*heapq.heappop(self.ends)[2:])
            else:
                self._tick()
                tick += TICK_S
        return self

    @property
    def used(self) -> float:
        """Part of the server's slots that was in use on average."""
        return self.busy_s / (len(self.limits) * TICK_S * self.slots)

    def _tick(self) -> None:
        load = Load(self.working, len(self.queue)) if self.gauge else None
        self.gate.tick(waiting=True, load=load)
        self.limits.append(self.gate.capacity)
        self.waited.append(len(self.queue))
        self._fill()

    def _fill(self) -> None:
        while self.gate.try_line():
            self._send()

    def _send(self) -> None:
        now = self.clock.monotonic()
        self.sent += 1
        if self.away or (self.refuses and self.working >= self.slots):
            self.refused += 1
            heapq.heappush(self.ends, (now + 0.002, next(self.order), now, BUSY))
        elif self.working >= self.slots:
            self.queue.append(now)
        else:
            self._work(now)

    def _work(self, began: float) -> None:
        self.working += 1
        took = self.seconds(self.working) * self.chance.lognormvariate(0, self.noise)
        heapq.heappush(self.ends, (self.clock.monotonic() + took, next(self.order), began, None))

    def _end(self, began: float, refusal: Reply | None) -> None:
        if refusal is None:
            self.working -= 1
            if self.queue and self.working < self.slots:
                self._work(self.queue.pop(0))
            self.answered += 1
            self.gate.answered(self.clock.monotonic() - began)
        else:
            self.gate.came_back(refusal)
        if self.gate.keep_line() and refusal is None:
            self._send()
        else:
            self.gate.line_done()
