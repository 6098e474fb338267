"""What a plan bounds beside requests a minute, while batches run: exact whoever asks at the same time."""

import asyncio
from pathlib import Path

import pytest

from hornada.core.account import Plan
from hornada.core.batch import Batch, Status
from hornada.core.errors import Code, Refusal
from hornada.core.file import File
from hornada.store import batch, connect
from hornada.store import file as rows
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.house import House, caller, folder, opened, people, texts


async def queued(house: House) -> int:
    async with house.db.read() as tx:
        return await batch.queued_lines(tx, "org")


async def stored(house: House) -> int:
    async with house.db.read() as tx:
        return await rows.stored_bytes(tx, "org")


async def causes(house: House, made: Batch) -> list[Code]:
    return [finding.code for finding in (await house.see(made)).errors]


async def test_lines_are_queued_from_acceptance_until_the_end(house: House) -> None:
    first = await house.fresh(*texts(3))
    assert await queued(house) == 0
    await house.check()
    assert await queued(house) == 3
    await house.accepted(*texts(2, "u"))
    assert await queued(house) == 5
    await house.finish(first)
    assert await queued(house) == 0


async def test_lines_of_a_batch_that_is_being_cancelled_are_given_back_when_it_has_ended(house: House) -> None:
    house.plans["default"] = Plan(queued_lines=4)
    running = await house.accepted(*texts(3))
    await house.batches.cancel(caller(), running.id)
    assert await queued(house) == 3
    refused = await house.fresh(*texts(2, "u"))
    await house.check()
    assert await causes(house, refused) == [Code.ENQUEUED_REQUEST_LIMIT_EXCEEDED]
    assert (await house.finish(running)).status is Status.CANCELLED
    assert await queued(house) == 0
    await house.accepted(*texts(4, "v"))


async def test_a_refused_file_is_not_queued(house: House) -> None:
    await house.fresh(b"{broken\n")
    await house.check()
    assert await queued(house) == 0


async def test_lines_of_another_organization_do_not_count(house: House) -> None:
    house.plans["default"] = Plan(queued_lines=3)
    await house.accepted(*texts(3))
    await house.accepted(*texts(3, "u"), who=caller("eve", org="foreign"))


async def test_the_limit_of_queued_lines_is_exact_when_several_processes_accept(
    database_url: str, db: Database, tmp_path: Path, clock: Hands, url: str
) -> None:
    await people(db, clock)
    async with opened(db, folder(tmp_path), clock, url) as house:
        house.plans["default"] = Plan(queued_lines=7)
        made = [await house.fresh(*texts(3, f"u{n}")) for n in range(6)]
        others = [await connect(database_url, clock) for _ in range(2)]
        try:
            async with (
                opened(others[0], folder(tmp_path), clock, url, owner="b") as second,
                opened(others[1], folder(tmp_path), clock, url, owner="c") as third,
            ):
                for peer in (second, third):
                    peer.plans["default"] = Plan(queued_lines=7)
                await asyncio.gather(house.check(), second.check(), third.check())
        finally:
            for other in others:
                await other.close()
        statuses = [(await house.see(each)).status for each in made]
        assert (statuses.count(Status.IN_PROGRESS), statuses.count(Status.FAILED)) == (2, 4)
        assert await queued(house) == 6


async def test_results_count_though_storage_is_full_and_space_is_freed_by_deletion(house: House) -> None:
    full = caller(storage_bytes=0)
    made = await house.finish(await house.accepted("a", "b"))
    assert made.output_file is not None
    results = await house.files.get(caller(), made.output_file)
    source = await house.files.get(caller(), made.input_file)
    assert await stored(house) == source.bytes + results.bytes
    with pytest.raises(Refusal) as refused:
        await house.upload(b"x", full)
    assert refused.value.code is Code.STORAGE_QUOTA_EXCEEDED
    await house.files.delete(caller(), source.id)
    assert await stored(house) == results.bytes
    await house.files.delete(caller(), results.id)
    assert await stored(house) == 0


async def test_storage_is_exact_under_uploads_deletions_and_results_at_the_same_time(house: House) -> None:
    running = await house.accepted(*texts(4))
    await house.work()
    before = await stored(house)
    old = [await house.upload(b"o" * 10 + b"%d" % n) for n in range(3)]
    who = caller(storage_bytes=before + 100)

    async def attempt(n: int) -> File | None:
        try:
            return await house.upload(b"n" * 19 + b"%d" % n, who)
        except Refusal as refused:
            assert refused.code is Code.STORAGE_QUOTA_EXCEEDED
            return None

    outcomes = await asyncio.gather(*(attempt(n) for n in range(8)), *(house.files.delete(caller(), f.id) for f in old))
    taken = [file for file in outcomes[:8] if file is not None]
    assert 3 <= len(taken) <= 5
    assert await stored(house) == before + 20 * len(taken)
    ended, _ = await asyncio.gather(house.finish(running), attempt(9))
    assert ended.output_file is not None
    async with house.db.read() as tx:
        listed = await rows.page(tx, "org", None, 100)
    assert await stored(house) == sum(file.bytes for file in listed)


async def test_a_file_that_has_run_out_takes_no_storage_before_it_is_swept(house: House, clock: Hands) -> None:
    await house.upload(b"x" * 50)
    clock.advance(house.limits.file_lifetime_s)
    assert await stored(house) == 0
    assert (await house.upload(b"y" * 50, caller(storage_bytes=50))).bytes == 50
