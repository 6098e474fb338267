"""Keeps the capacities in force up to date: asks gauges, hands what it hears to the gates, says what has changed."""

import asyncio
import logging
from collections.abc import Callable

from hornada.core.catalog import Catalog, Model
from hornada.core.clock import Clock
from hornada.engine.capacity import Gate, Gates
from hornada.engine.gauge import Gauges

log = logging.getLogger("hornada")

EVERY_S = 0.5
_SAY_EVERY_S = 30.0


class Tuner:
    """``state``: how many lines of a model wait here, and whether the model is away."""

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        gates: Gates,
        gauges: Gauges,
        clock: Clock,
        state: Callable[[str], tuple[int, bool]],
    ) -> None:
        self._catalog = catalog
        self._gates = gates
        self._gauges = gauges
        self._clock = clock
        self._state = state
        self._said: dict[str, tuple[float, tuple[int, int]]] = {}

    async def once(self) -> bool:
        """Looks at every model; never more to do at once."""
        await asyncio.gather(*(self._look(model) for model in self._catalog().models.values()))
        return False

    async def _look(self, model: Model) -> None:
        gate = self._gates.of(model)
        waiting, away = self._state(model.name)
        load = None
        if gate.leads and gate.remains.silent:
            load = await self._gauges.load(model.servers)
            gate.remains.read(load)
        if model.auto and gate.leads and not away and (waiting or gate.lines):
            load = load or await self._gauges.load(model.servers)
            waiting, away = self._state(model.name)
        else:
            load = None
        gate.tick(waiting=waiting > 0 and not away, load=load)
        self._say(model.name, gate)

    def _say(self, name: str, gate: Gate) -> None:
        """A line in the log when something is otherwise than it was said to be, twice a minute at most."""
        now, stands = self._clock.monotonic(), (gate.capacity, gate.harm.reserve)
        said_at, said = self._said.setdefault(name, (now - _SAY_EVERY_S, stands))
        if stands != said and now - said_at >= _SAY_EVERY_S:
            self._said[name] = (now, stands)
            log.info("model %s: %s", name, gate.why)
