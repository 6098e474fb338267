"""The life of files from upload to the last byte, on a clock that is set by hand."""

from pathlib import Path

import pytest

from hornada.core.batch import Batch, Status
from hornada.core.clock import SECOND
from hornada.core.errors import Code, Refusal
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.house import ANA, House, folder, opened, people, texts

MONTH_S = 30 * 86_400


async def visible(house: House) -> set[str]:
    return {file.id for file in (await house.files.page(ANA)).items}


async def bytes_kept(house: House) -> set[str]:
    return {key async for key, _ in house.blobs.keys()}  # noqa: SIM118 - no dictionary


async def tidied(house: House) -> None:
    while await house.reaper.tidy():
        pass


def files_of(batch: Batch) -> list[str]:
    assert batch.output_file is not None
    return [batch.input_file, batch.output_file]


async def test_input_and_results_live_thirty_days_and_go_with_their_bytes(house: House, clock: Hands) -> None:
    batch = await house.finish(await house.accepted("a", "b"))
    for file_id in files_of(batch):
        file = await house.files.get(ANA, file_id)
        assert file.expires_at == file.created_at + MONTH_S * SECOND
    await tidied(house)
    clock.advance(MONTH_S - 1)
    await tidied(house)
    assert await visible(house) == set(files_of(batch))
    clock.advance(1)
    assert await visible(house) == set()
    for file_id in files_of(batch):
        with pytest.raises(Refusal) as gone:
            await house.files.get(ANA, file_id)
        assert gone.value.code is Code.FILE_NOT_FOUND
    assert await bytes_kept(house) != set()
    await tidied(house)
    assert await bytes_kept(house) == set()
    assert await house.rows("SELECT id FROM file") == []
    assert (await house.see(batch)).output_file == batch.output_file, "the batch still tells what there was"


async def test_results_live_as_long_as_the_batch_was_told(house: House, clock: Hands) -> None:
    source = await house.upload(b"".join(b'{"broken": 1}\n' for _ in range(1)))
    assert source.expires_at is not None
    data = await house.fresh("a")
    batch, _ = await house.create(data.input_file, metadata={"n": "2"}, output_lifetime_s=3600)
    await house.check()
    ended = await house.finish(batch)
    assert ended.output_file is not None
    clock.advance(3599)
    assert (await house.files.get(ANA, ended.output_file)).bytes > 0
    clock.advance(1)
    await tidied(house)
    assert ended.output_file not in await visible(house)
    assert ended.input_file in await visible(house)


async def test_the_input_of_a_live_batch_outlives_its_date_until_the_batch_has_ended(
    house: House, clock: Hands
) -> None:
    batch = await house.accepted(*texts(3))
    file = await house.files.get(ANA, batch.input_file)
    await house.change("UPDATE file SET expires_at = :at", at=clock.now() + SECOND)
    clock.advance(2)
    await tidied(house)
    assert await visible(house) == {file.id}
    ended = await house.finish(batch)
    assert ended.counts.completed == 3
    await tidied(house)
    assert await visible(house) == {ended.output_file}


async def test_a_start_waits_while_the_folder_is_away_and_goes_on_when_it_is_back(
    db: Database, tmp_path: Path, clock: Hands, url: str
) -> None:
    await people(db, clock)
    async with opened(db, folder(tmp_path), clock, url) as house:
        batch = await house.fresh("a", "b")
        path = house.blobs.path(f"input/{batch.input_file}")
        assert path is not None
        away = path.with_name("away")
        path.rename(away)
        for _ in range(20):
            await house.check()
            clock.advance(60)
            assert (await house.see(batch)).status is Status.VALIDATING
        again, earlier = await house.create(batch.input_file)
        assert (again.id, earlier) == (batch.id, True)
        away.rename(path)
        await house.check()
        assert (await house.finish(batch)).status is Status.COMPLETED


async def test_a_start_fails_when_the_folder_stays_away_for_half_an_hour(
    db: Database, tmp_path: Path, clock: Hands, url: str
) -> None:
    await people(db, clock)
    async with opened(db, folder(tmp_path), clock, url) as house:
        batch = await house.fresh("a")
        path = house.blobs.path(f"input/{batch.input_file}")
        assert path is not None
        path.unlink()
        began = clock.now()
        while (seen := await house.see(batch)).status is Status.VALIDATING:
            await house.check()
            clock.advance(5)
        assert [finding.code for finding in seen.errors] == [Code.INTERNAL_ERROR]
        assert "30 minutes" in seen.errors[0].message
        assert 30 * 60 <= (clock.now() - began) / SECOND <= 33 * 60
