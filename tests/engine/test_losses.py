"""Bytes that are gone for good do not hold a batch for ever, and an outage throws nothing away."""

import asyncio
from pathlib import Path

import pytest

from hornada.core.batch import Batch, RequestCounts, Status, StopReason, Usage
from hornada.core.errors import Code
from hornada.engine.joining import Joining, Wanted
from hornada.engine.losses import LEAST, PATIENCE_S
from hornada.store import balance
from hornada.store.database import Database
from hornada.store.reconcile import differences
from tests.conftest import Hands
from tests.engine.failing import FullDisk
from tests.engine.house import ANA, House, folder, line, opened, people, texts
from tests.engine.model_server import ModelServer

A_TRY_S = 60


async def drained(house: House, *asked: str) -> Batch:
    batch = await house.accepted(*asked)
    await house.work()
    return await house.see(batch)


async def tried(house: House, clock: Hands, seconds: float) -> None:
    """Lets the finalizer try again for so long."""
    for _ in range(round(seconds / A_TRY_S) + 1):
        await house.finalizer.once()
        clock.advance(A_TRY_S)


async def flushed_apart(house: House, server: ModelServer, first: str, second: str) -> Batch:
    """A drained batch whose two answers lie in two segments."""
    server.holding = True
    batch = await house.accepted(first, second)
    while await house.dispatcher.once():
        pass
    await server.arrived(2)
    for n, text in enumerate((first, second), 1):
        server.release(text)
        async with asyncio.timeout(20):
            while len(await house.rows("SELECT 1 FROM segment")) < n:
                await house.pause()
                house.pass_time(0.5)
                await house.dispatcher.once()
    server.holding = False
    return await house.see(batch)


async def spoil(house: House) -> None:
    """A bit of the second segment flips."""
    *_, row = await house.rows("SELECT object, byte_off, byte_len FROM segment ORDER BY seq")
    data = bytearray(await house.blobs.read(row["object"], 0, row["byte_off"] + row["byte_len"]))
    data[row["byte_off"] + 30] ^= 1
    await house.overwrite(row["object"], bytes(data))


async def cut(house: House) -> None:
    *_, row = await house.rows("SELECT object, byte_off, byte_len FROM segment ORDER BY seq")
    data = await house.blobs.read(row["object"], 0, row["byte_off"] + row["byte_len"])
    await house.overwrite(row["object"], data[:-1])


@pytest.mark.parametrize("damage", [spoil, cut])
async def test_a_batch_with_a_corrupt_segment_ends_with_all_other_answers(
    house: House, server: ModelServer, clock: Hands, damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    async with house.db.write() as tx:
        await balance.credit(tx, "org", 1_000_000)
    batch = await flushed_apart(house, server, "a", "b")
    await damage(house)  # type: ignore[operator]
    await tried(house, clock, PATIENCE_S - A_TRY_S * 2)
    assert (await house.see(batch)).status is Status.FINALIZING
    await tried(house, clock, A_TRY_S * 3)
    ended = await house.see(batch)
    assert (ended.status, ended.counts) == (Status.COMPLETED, RequestCounts(2, 1, 1))
    output, errors = await house.results(ended)
    assert [each["custom_id"] for each in output] == ["a"]
    assert [(each["custom_id"], each["response"], each["error"]["code"]) for each in errors] == [
        ("b", None, Code.INTERNAL_ERROR)
    ]
    (told,) = ended.errors
    assert (told.code, told.line) == (Code.INTERNAL_ERROR, None)
    assert "1 of its lines" in told.message
    assert ended.failures == {"internal_error": 1}
    assert "bytes were lost" in caplog.text
    assert house.finalizer._tally.lost == 1
    async with house.db.read() as tx:
        assert await differences(tx) == []
        assert await balance.left(tx, "org") == 1_000_000 - (ended.cost or 0)
    (paid,) = await house.rows("SELECT CAST(SUM(lines) AS BIGINT) AS lines FROM ledger_entry")
    assert paid["lines"] == 1, "nobody pays for an answer that he cannot have"


async def test_a_batch_without_any_of_its_answers_ends_too(house: House, clock: Hands) -> None:
    batch = await drained(house, *texts(120))
    for row in await house.rows("SELECT DISTINCT object FROM segment"):
        await house.blobs.delete(row["object"])
    await house.blobs.append("other", [b"another batch's"])
    await tried(house, clock, PATIENCE_S + A_TRY_S)
    ended = await house.see(batch)
    assert (ended.status, ended.counts, ended.output_file) == (Status.COMPLETED, RequestCounts(120, 0, 120), None)
    assert (ended.usage, ended.cost) == (Usage(), 0)
    _, errors = await house.results(ended)
    assert [each["custom_id"] for each in errors] == texts(120)


async def test_lines_whose_request_is_lost_are_told_by_their_number(house: House, clock: Hands) -> None:
    batch = await house.accepted("a", "b", "c")
    await house.change("UPDATE chunk SET state = 'done'")
    await house.change("UPDATE batch SET status = 'finalizing', stop = :stop", stop=StopReason.EXPIRED)
    await lose_the_input(house)
    await tried(house, clock, PATIENCE_S + A_TRY_S)
    ended = await house.see(batch)
    assert (ended.status, ended.counts) == (Status.EXPIRED, RequestCounts(3, 0, 3))
    _, errors = await house.results(ended)
    assert [(each["id"][-5:], each["custom_id"]) for each in errors] == [("00000", ""), ("00001", ""), ("00002", "")]
    assert {each["error"]["code"] for each in errors} == {Code.BATCH_EXPIRED}
    assert "3 of its lines" in ended.errors[0].message


async def lose_the_input(house: House) -> None:
    await house.upload(line("a file that is still there"))
    (row,) = await house.rows("SELECT file.object FROM file JOIN batch ON batch.input_file = file.id")
    await house.blobs.delete(row["object"])


async def test_a_running_batch_whose_input_is_lost_ends_with_what_it_has(house: House, clock: Hands) -> None:
    asked = texts(250)
    batch = await house.accepted(*asked)
    async with house.db.write() as tx:  # two of its three chunks are another's for now
        await tx.run("UPDATE chunk SET state = 'leased', owner = 'another' WHERE idx > 0")
    await house.work()
    await lose_the_input(house)
    await house.change("UPDATE chunk SET state = 'ready', owner = NULL WHERE state = 'leased'")
    for _ in range(round(PATIENCE_S / A_TRY_S) + 2):
        await house.dispatcher.once()
        clock.advance(A_TRY_S)
    assert (await house.see(batch)).status is Status.FINALIZING
    await tried(house, clock, PATIENCE_S + A_TRY_S)
    ended = await house.see(batch)
    assert (ended.status, ended.counts) == (Status.COMPLETED, RequestCounts(250, 100, 150))
    output, errors = await house.results(ended)
    assert [each["custom_id"] for each in output] == asked[:100]
    assert {each["error"]["code"] for each in errors} == {Code.INTERNAL_ERROR}
    async with Joining(house.db, house.blobs, house.batches).open(ANA, ended.id, Wanted()) as pieces:
        joined = b"".join([piece async for piece in pieces])
    assert joined.count(b"\n") == 250, "they can be read though what was asked cannot be shown beside them"


async def test_of_a_short_input_every_line_runs_that_is_there(house: House, clock: Hands) -> None:
    asked = texts(250)
    batch = await house.accepted(*asked)
    (row,) = await house.rows("SELECT object, bytes FROM file")
    data = await house.blobs.read(row["object"], 0, row["bytes"])
    await house.overwrite(row["object"], data[:-1])
    await house.upload(line("a file that is still there"))
    for _ in range(round(PATIENCE_S / A_TRY_S) + 2):
        await house.dispatcher.once()
        while house.dispatcher.held:
            await house.pause()
            await house.dispatcher.once()
        clock.advance(A_TRY_S)
    await tried(house, clock, PATIENCE_S + A_TRY_S)
    ended = await house.see(batch)
    assert (ended.status, ended.counts) == (Status.COMPLETED, RequestCounts(250, 200, 50))
    output, _ = await house.results(ended)
    assert [each["custom_id"] for each in output] == asked[:200]


async def test_an_input_that_is_missing_now_and_then_is_not_lost(house: House, clock: Hands) -> None:
    """A store that sometimes says that it has no such object, though it does."""
    await house.upload(line("a file that is always there"))
    batch = await house.accepted(*texts(700))
    (row,) = await house.rows("SELECT object, bytes FROM file JOIN batch ON batch.input_file = file.id")
    data = await house.blobs.read(row["object"], 0, row["bytes"])
    await house.change("UPDATE chunk SET state = 'leased', owner = 'another'")
    for idx in range(7):
        await house.change("UPDATE chunk SET state = 'ready', owner = NULL WHERE idx = :idx", idx=idx)
        await house.blobs.delete(row["object"])
        await house.dispatcher.once()
        clock.advance(A_TRY_S * 2)
        await house.overwrite(row["object"], data)
        await house.work()
        clock.advance(A_TRY_S)
    await tried(house, clock, A_TRY_S)
    ended = await house.see(batch)
    assert (ended.status, ended.counts) == (Status.COMPLETED, RequestCounts(700, 700, 0))


async def test_bytes_that_come_back_in_time_cost_nothing(house: House, clock: Hands) -> None:
    batch = await drained(house, "a", "b")
    (row,) = await house.rows("SELECT object, byte_off, byte_len FROM segment")
    data = await house.blobs.read(row["object"], 0, row["byte_off"] + row["byte_len"])
    await house.blobs.delete(row["object"])
    await tried(house, clock, PATIENCE_S - A_TRY_S * 2)
    await house.overwrite(row["object"], data)
    await tried(house, clock, A_TRY_S)
    ended = await house.see(batch)
    assert (ended.status, ended.counts, ended.errors) == (Status.COMPLETED, RequestCounts(2, 2, 0), ())


async def test_a_folder_that_is_away_for_a_day_costs_nothing(
    db: Database, tmp_path: Path, clock: Hands, url: str
) -> None:
    await people(db, clock)
    async with opened(db, folder(tmp_path), clock, url) as house:
        batch = await drained(house, "a", "b")
        results = tmp_path / "blobs" / "seg"
        results.rename(tmp_path / "away")
        await tried(house, clock, 86_400)
        assert (await house.see(batch)).status is Status.FINALIZING
        (tmp_path / "away").rename(results)
        await tried(house, clock, A_TRY_S)
        assert (await house.see(batch)).counts == RequestCounts(2, 2, 0)


async def test_a_store_in_the_place_of_another_costs_nothing(house: House, clock: Hands) -> None:
    """An empty bucket, a disk that was not mounted: it takes bytes, and has none of those that it was given."""
    elder = await house.accepted("an earlier one")
    await house.finish(elder)
    clock.advance(1)
    batch = await drained(house, "a", "b")
    kept = {row["object"]: row for row in await house.rows("SELECT object, bytes FROM file")}
    (row,) = await house.rows("SELECT object, byte_off + byte_len AS bytes FROM segment WHERE batch = :b", b=batch.id)
    kept[row["object"]] = row
    data = {key: await house.blobs.read(key, 0, row["bytes"]) for key, row in kept.items()}
    for key in data:
        await house.blobs.delete(key)
    await house.blobs.append("other", [b"another batch's"])
    await tried(house, clock, 86_400)
    assert (await house.see(batch)).status is Status.FINALIZING
    for key, value in data.items():
        await house.overwrite(key, value)
    await tried(house, clock, A_TRY_S)
    assert (await house.see(batch)).counts == RequestCounts(2, 2, 0)


async def test_an_outage_in_between_has_it_wait_as_long_again(
    db: Database, tmp_path: Path, clock: Hands, url: str
) -> None:
    await people(db, clock)
    disk = FullDisk(folder(tmp_path))
    async with opened(db, disk, clock, url) as house:  # type: ignore[arg-type]
        batch = await drained(house, "a", "b")
        await spoil(house)
        await tried(house, clock, PATIENCE_S - A_TRY_S)
        disk.full = {"read"}
        await tried(house, clock, A_TRY_S)
        disk.full = set()
        await tried(house, clock, PATIENCE_S - A_TRY_S * 2)
        assert (await house.see(batch)).status is Status.FINALIZING
        await tried(house, clock, A_TRY_S * 3)
        assert (await house.see(batch)).status is Status.COMPLETED


async def test_a_long_sleep_is_no_patience(house: House, clock: Hands) -> None:
    batch = await drained(house, "a")
    await spoil(house)
    for _ in range(LEAST * 3):
        await house.finalizer.once()
        clock.advance(PATIENCE_S + 1)
    assert (await house.see(batch)).status is Status.FINALIZING
