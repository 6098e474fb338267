"""Lines are not started while somebody holds the brake."""

from pathlib import Path

import pytest

from hornada.core.batch import Status
from hornada.core.errors import Unavailable
from hornada.engine.brake import Brake
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.failing import FullDisk
from tests.engine.house import House, folder, opened, people
from tests.engine.model_server import ModelServer


def test_it_is_on_for_as_long_as_anybody_holds_it_and_until_what_is_held_was_looked_at() -> None:
    brake, heard = Brake(), list[str]()
    brake.on_released = lambda: heard.append("released")
    brake.hold("one", "first")
    brake.hold("other", "second")
    brake.hold("other", "third")
    assert brake.reasons == ["no line is started: first", "no line is started: third"]
    brake.release("one")
    assert (brake.on, heard, brake.looked()) == (True, [], False)
    brake.release("other")
    brake.release("nobody")
    assert (brake.on, heard) == (True, ["released"])
    assert (brake.looked(), brake.on, brake.looked()) == (True, False, False)


async def test_no_chunk_is_claimed_while_it_is_on(house: House, server: ModelServer) -> None:
    batch = await house.accepted("a", "b")
    house.dispatcher.brake.hold("test", "why")
    await house.dispatcher.once()
    assert (house.dispatcher.held, server.total) == (0, 0)
    house.dispatcher.brake.release("test")
    assert (await house.finish(batch)).status is Status.COMPLETED


async def test_no_line_starts_while_results_find_no_room_and_none_is_asked_twice(
    db: Database, tmp_path: Path, clock: Hands, url: str, server: ModelServer
) -> None:
    await people(db, clock)
    disk = FullDisk(folder(tmp_path))
    async with opened(db, disk, clock, url, slots=1) as house:
        batch = await house.accepted("a", "b", "c")
        disk.full.add("append")
        server.holding = True
        await house.dispatcher.once()
        await server.arrived(1)
        server.release("a")
        await server.arrived(2)
        house.clock.advance(1)
        with pytest.raises(Unavailable):
            await house.dispatcher.once()
        assert house.dispatcher.brake.reasons == ["no line is started: the disk is full"]
        server.release("b")
        await server.gone("b")
        for _ in range(3):
            house.pass_time(1)
            with pytest.raises(Unavailable):
                await house.dispatcher.once()
        assert server.total == 2
        server.holding = False
        disk.full.clear()
        house.pass_time(1)
        assert (await house.finish(batch)).status is Status.COMPLETED
        assert server.calls == {"a": 1, "b": 1, "c": 1}
        assert not house.dispatcher.brake.on
