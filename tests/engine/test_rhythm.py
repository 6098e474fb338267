"""How long results wait to be written to a bucket: a put costs the same however small it is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hornada.core.batch import Status
from hornada.engine.flushing import BUCKET
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.failing import FullDisk
from tests.engine.house import House, folder, opened, people, texts
from tests.engine.model_server import ModelServer, Say
from tests.engine.test_dispatcher import in_flight, let_go, started, tick


@pytest.fixture
async def far(db: Database, tmp_path: Path, clock: Hands, url: str) -> AsyncIterator[tuple[House, FullDisk]]:
    """A house with the rhythm of a bucket, and its bytes, whose appends are counted."""
    await people(db, clock)
    disk = FullDisk(folder(tmp_path))
    async with opened(db, disk, clock, url) as house:  # type: ignore[arg-type]
        house.dispatcher._rhythm = BUCKET
        yield house, disk


async def test_results_of_a_batch_that_goes_on_wait_for_five_seconds(
    far: tuple[House, FullDisk], server: ModelServer
) -> None:
    house, disk = far
    batch = await started(house, server, *texts(300))
    await tick(house, 5)
    for at in range(9):
        server.release(*list(server.open)[:1])
        await server.arrived(5 + at)
        await tick(house)
    assert (disk.appended, (await house.see(batch)).counts.completed) == (0, 0)
    await tick(house)
    assert (disk.appended, (await house.see(batch)).counts.completed) == (1, 9)


async def test_results_of_a_mebibyte_wait_no_longer(far: tuple[House, FullDisk], server: ModelServer) -> None:
    house, disk = far
    server.script = lambda text, nth: Say(body=b'{"text": "' + b"x" * 400_000 + b'"}')
    await started(house, server, *texts(300))
    await tick(house, 5)
    for at, appended in enumerate((0, 0, 1)):
        server.release(*list(server.open)[:1])
        await server.arrived(5 + at)
        await tick(house)
        assert disk.appended == appended


async def test_a_short_batch_ends_at_once_beside_a_long_one(far: tuple[House, FullDisk], server: ModelServer) -> None:
    house, _ = far
    house.gates.resize(replace(house.model, capacity=50, batch_slots=50))
    long = await started(house, server, *texts(20), calls=20)
    await tick(house, 5)
    short = await house.accepted("short")
    while await house.dispatcher.once():
        pass
    await server.arrived(21)
    server.release("short")
    await in_flight(house, 20)
    await tick(house, 0.5)
    assert (await house.see(short)).status is Status.FINALIZING
    assert (await house.see(long)).status is Status.IN_PROGRESS


async def test_the_end_of_all_work_is_written_at_once(far: tuple[House, FullDisk], server: ModelServer) -> None:
    house, disk = far
    batch = await started(house, server, "a")
    await let_go(house, server)
    await house.dispatcher.once()
    assert (disk.appended, (await house.see(batch)).status) == (1, Status.FINALIZING)
