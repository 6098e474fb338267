"""The loop that keeps capacities up to date, with a real server's metrics."""

import logging
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from hornada.core.catalog import Catalog, Model
from hornada.engine.capacity import Gate, Gates
from hornada.engine.gauge import Gauges
from hornada.engine.servers import Servers
from hornada.engine.tuner import Tuner
from hornada.upstream import connect
from tests.conftest import Hands
from tests.engine.simulation import MODEL
from tests.engine.test_gauge import Publisher


class Workshop:
    """A model ``m`` with lines that wait, a server with a gauge, and the tuner between them."""

    def __init__(self, clock: Hands, publisher: Publisher) -> None:
        self.clock = clock
        self.publisher = publisher
        self.servers = Servers(connect, clock)
        self.gates = Gates(clock)
        self.model = replace(MODEL, servers=(publisher.server,))
        self.waiting, self.away = 5, False
        gauges = Gauges(self.servers.upstream, clock)
        self.tuner = Tuner(self._catalog, self.gates, gauges, clock, lambda _: (self.waiting, self.away))

    def _catalog(self) -> Catalog:
        return Catalog(models={"m": self.model}, aliases={})

    @property
    def gate(self) -> Gate:
        return self.gates.of(self.model)

    def serves(self, slots: int) -> None:
        """The server works on so many of the lines that the gate lets through."""
        while self.gate.try_line():
            pass
        working = min(slots, self.gate.lines)
        self.publisher.body = b"llamacpp:requests_processing %d\nllamacpp:requests_deferred %d\n" % (
            working,
            self.gate.lines - working,
        )

    async def run(self, seconds: float, slots: int) -> None:
        for _ in range(round(seconds * 2)):
            self.serves(slots)
            await self.tuner.once()
            self.clock.advance(0.5)
            while not self.gate.keep_line():
                self.gate.line_done()


@pytest.fixture
async def workshop(clock: Hands) -> AsyncIterator[Workshop]:
    async with Publisher() as publisher:
        workshop = Workshop(clock, publisher)
        yield workshop
        await workshop.servers.close()


async def test_the_capacity_follows_the_servers_own_queue(workshop: Workshop) -> None:
    await workshop.run(10, slots=3)
    assert workshop.gate.capacity in {3, 4}
    await workshop.run(60, slots=40)
    assert workshop.gate.capacity in {40, 41}


@pytest.mark.parametrize(
    "change", [{"auto": False, "capacity": 8}, {"waiting": 0}, {"away": True}], ids=["fixed", "idle", "away"]
)
async def test_a_server_is_asked_only_for_a_capacity_that_is_learned_and_used(
    workshop: Workshop, change: dict[str, int]
) -> None:
    if "auto" in change:
        workshop.model = replace(workshop.model, **change)
    else:
        for name, value in change.items():
            setattr(workshop, name, value)
    await workshop.tuner.once()
    assert workshop.publisher.asked == []


async def test_what_was_learned_is_kept_while_the_model_is_configured_otherwise(workshop: Workshop) -> None:
    await workshop.run(20, slots=16)
    learned = workshop.gate.capacity
    assert learned > 12
    auto = workshop.model
    for model in (Model(name="m", servers=auto.servers, capacity=2, batch_slots=2), auto):
        workshop.gates.resize(model)
    assert workshop.gate.capacity == learned


async def test_changes_are_told_in_the_log_twice_a_minute_at_most(
    workshop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hornada")
    await workshop.run(61, slots=20)
    said = [record.getMessage() for record in caplog.records if record.getMessage().startswith("model m:")]
    assert len(said) in {2, 3}
    assert said[-1].startswith(f"model m: auto: {workshop.gate.capacity} slots")
