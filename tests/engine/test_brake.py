"""Lines are not started while somebody holds the brake."""

import asyncio
from pathlib import Path

import pytest

from hornada.core.batch import RequestCounts, Status
from hornada.core.errors import Unavailable
from hornada.engine import brake as brakes
from hornada.engine.brake import Brake
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.failing import FullDisk
from tests.engine.house import ANA, House, folder, opened, people, texts
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


async def test_no_line_starts_while_storage_keeps_the_tick_waiting_that_looks_what_was_stopped(
    db: Database, tmp_path: Path, clock: Hands, url: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await people(db, clock)
    disk, hangs = FullDisk(folder(tmp_path)), asyncio.Event()
    async with opened(db, disk, clock, url, slots=1) as house, opened(db, disk, clock, url, owner="other") as other:
        batch = await house.accepted(*texts(6))
        server.holding = True
        await house.dispatcher.once()
        await server.arrived(1)
        server.release("t0000")
        await server.arrived(2)
        monkeypatch.setattr(brakes, "SLOW_S", 0.01)
        disk.meanwhile = hangs.wait
        house.clock.advance(1)
        tick = asyncio.create_task(house.dispatcher.once())
        async with asyncio.timeout(60):
            while not house.dispatcher.brake.on:
                await asyncio.sleep(0.001)
        await other.batches.cancel(ANA, batch.id)
        server.holding = False
        server.release()
        await server.gone("t0001")
        monkeypatch.undo()
        hangs.set()
        await tick
        assert (await house.finish(batch)).counts == RequestCounts(6, 2, 4)
        assert server.total == 2
        assert not house.dispatcher.brake.on
