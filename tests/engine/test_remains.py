"""Slots of a worker that fell silent, freed by what the model's own server says it still has to do."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from hornada.core.catalog import Catalog
from hornada.engine.gauge import Gauges, Load
from hornada.engine.remains import APART_S, Remains
from hornada.engine.servers import Servers
from hornada.engine.sharing import TTL_S
from hornada.engine.tuner import Tuner
from hornada.store.grant import SlotGrant
from hornada.upstream import connect
from tests.conftest import Hands
from tests.engine.test_gauge import Publisher
from tests.engine.test_sharing import CALLS_S, MODEL, Process, Yard, yard

__all__ = ["yard"]


class Site:
    """Workers on a model whose server says what it is at."""

    def __init__(self, yard: Yard, publisher: Publisher, servers: Servers) -> None:
        self.yard, self.publisher = yard, publisher
        yard.model = replace(MODEL, servers=(publisher.server,))
        self.gauges = Gauges(servers.upstream, yard.clock)

    def busy(self, running: int, waiting: int = 0) -> None:
        self.publisher.status = 200
        self.publisher.body = b"vllm:num_requests_running %d.0\nvllm:num_requests_waiting %d.0\n" % (running, waiting)

    def tuner(self, process: Process) -> Tuner:
        catalog = Catalog(models={"m": self.yard.model}, aliases={})
        return Tuner(lambda: catalog, process.gates, self.gauges, self.yard.clock, lambda _: (process.waiting, False))

    async def pass_by(self, seconds: float, process: Process) -> int:
        """The lines that a process has under way after a time in which it does what it does."""
        tuner = self.tuner(process)
        for _ in range(round(2 * seconds)):
            await self.yard.turns(process)
            await tuner.once()
        return (await self.yard.turns(process))[0]


@pytest.fixture
async def site(yard: Yard) -> AsyncIterator[Site]:
    servers = Servers(connect, yard.clock)
    async with Publisher() as publisher:
        yield Site(yard, publisher, servers)
    await servers.close()


async def gone(yard: Yard) -> Process:
    """A worker with every slot fell silent as long ago as its lease lasts; another has lines."""
    dead, alive = await yard.process("a", waiting=500), await yard.process("b", waiting=500)
    assert await yard.turns(dead) == [8]
    yard.clock.advance(TTL_S)
    return alive


async def test_what_the_server_is_not_at_is_free_and_the_rest_as_it_ends(site: Site) -> None:
    alive = await gone(site.yard)
    site.busy(3, waiting=1)
    assert await site.pass_by(APART_S - 1, alive) == 0
    assert await site.pass_by(2, alive) == 4
    site.busy(4 + 4)  # those of the one that is alive count as if they were the other's
    assert await site.pass_by(2 * APART_S, alive) == 4
    assert await site.yard.granted() == {"a": 4, "b": 4}
    alive.end(4)
    site.busy(1)
    assert await site.pass_by(2 * APART_S, alive) == 7


async def test_of_all_readings_the_highest_counts(site: Site) -> None:
    alive = await gone(site.yard)
    site.busy(0)
    await site.pass_by(APART_S / 2, alive)
    site.busy(8)
    await site.pass_by(1, alive)
    site.busy(0)
    assert await site.pass_by(APART_S / 2, alive) == 0


async def test_a_server_that_says_nothing_frees_nothing(site: Site) -> None:
    alive = await gone(site.yard)
    site.publisher.status = 404
    assert await site.pass_by(3 * APART_S, alive) == 0
    site.yard.clock.advance(CALLS_S)
    assert await site.pass_by(1, alive) == 8


async def test_a_worker_that_comes_back_has_what_it_had_under_way(site: Site) -> None:
    alive = await gone(site.yard)
    site.busy(2)
    assert await site.pass_by(APART_S + 1, alive) == 6
    late = await site.yard.process("a")
    for _ in range(2):
        late.gate.lines += 1
    await site.yard.turns(late, alive)
    assert await site.yard.granted() == {"a": 2, "b": 6}


async def test_a_server_is_asked_of_them_only_while_there_are_any(site: Site) -> None:
    alive = await site.yard.process("b", waiting=500)
    await site.pass_by(APART_S, alive)
    assert site.publisher.asked == []


def test_readings_from_before_another_fell_silent_say_nothing_of_him(clock: Hands) -> None:
    remains = Remains(clock)
    remains.hear([kept("a")])
    for _ in range(2):
        remains.read(Load(running=1))
        clock.advance(APART_S)
    assert [each.slots for each in remains.trimmed([kept("a")])] == [1]
    remains.hear([kept("a"), kept("b")])
    assert remains.trimmed([kept("a"), kept("b")]) == [kept("a"), kept("b")]


@pytest.mark.parametrize("load", [None, Load(silent=True), Load(partly=True)])
def test_a_server_that_did_not_answer_may_be_at_any_number_of_calls(clock: Hands, load: Load | None) -> None:
    remains = Remains(clock)
    remains.hear([kept("a")])
    remains.read(Load())
    clock.advance(APART_S)
    remains.read(load)
    remains.read(Load())
    assert remains.most is None


def kept(worker: str) -> SlotGrant:
    """Eight slots of a worker that fell silent."""
    return SlotGrant(model="m", worker=worker, slots=8, in_use=8, demand=8, more=False, live=False)
