"""What a batch says that it waits for."""

import pytest
from msgspec.structs import replace

from hornada.engine.outlook import Outlook
from tests.engine.house import ANA, House, texts
from tests.engine.model_server import ModelServer, Say


@pytest.fixture
def outlook(house: House) -> Outlook:
    return Outlook(lambda: house.catalog, house.gates, house.dispatcher, house.clock)


async def test_a_fresh_batch_waits_for_its_file_to_be_checked(house: House, outlook: Outlook) -> None:
    batch = await house.fresh("a")
    assert outlook.waiting_for(batch) == "checking the file"
    assert outlook.waiting_for(await house.batches.cancel(ANA, batch.id)) is None


async def test_a_batch_whose_lines_run_waits_for_nothing(house: House, outlook: Outlook, server: ModelServer) -> None:
    server.holding = True
    batch = await house.accepted(*texts(6))
    assert outlook.waiting_for(batch) is None
    await house.dispatcher.once()
    await server.arrived(4)
    assert house.gate.lines == 4
    assert outlook.waiting_for(batch) is None


async def test_a_batch_behind_another_waits_for_slots(house: House, outlook: Outlook, server: ModelServer) -> None:
    server.holding = True
    await house.accepted(*texts(8))
    await house.dispatcher.once()
    await server.arrived(4)
    other = await house.accepted("x")
    assert outlook.waiting_for(other) == "capacity: 4 of 4 slots busy"


async def test_regular_calls_and_what_is_kept_for_them_are_named(house: House, outlook: Outlook) -> None:
    batch = await house.accepted("a")
    for _ in range(3):
        house.gate.enter()
    assert outlook.waiting_for(batch) == "capacity: 3 of 4 slots busy (3 regular), 1 reserved"


async def test_a_batch_whose_model_is_away_says_since_when(house: House, outlook: Outlook, server: ModelServer) -> None:
    server.script = lambda text, nth: Say(status=503)
    batch = await house.accepted(*texts(40))
    while not house.dispatcher.away:
        await house.dispatcher.once()
        await house.pause()
    house.clock.advance(61)
    said = outlook.waiting_for(batch)
    assert said is not None
    assert said.startswith("model m is away since 2025-10-09T08:53:")


async def test_pauses_are_named(house: House, outlook: Outlook) -> None:
    batch = await house.accepted("a")
    assert outlook.waiting_for(replace(batch, paused=True)) == "paused"
    house.catalog = replace(house.catalog, paused=frozenset({"m"}))
    assert outlook.waiting_for(batch) == "model m is paused"
