"""How a batch ends: two files in input order, verified, or none."""

import random
from pathlib import Path

import msgspec
import pytest

from hornada.core.batch import RequestCounts, Status, StopReason
from hornada.core.errors import Code, Unavailable
from hornada.core.file import Purpose
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.failing import Flaky, FullDisk
from tests.engine.house import ANA, INFERNODE, House, folder, line, opened, people, texts
from tests.engine.model_server import ModelServer, Say


async def drained(house: House, *lines: str | bytes) -> str:
    """A batch with every line settled and no file yet; its id."""
    batch = await house.accepted(*lines)
    await house.work()
    assert (await house.see(batch)).status is Status.FINALIZING
    return batch.id


async def outputs(house: House) -> list[str]:
    return sorted([key async for key, _ in house.blobs.keys() if key.startswith("out/")])  # noqa: SIM118


async def test_results_are_in_input_order_whatever_order_they_came_in(house: House, server: ModelServer) -> None:
    house.gates.resize(house.model.__class__(name="m", servers=(), capacity=300, batch_slots=300))
    server.script = lambda text, nth: Say(400) if int(text[1:]) % 3 == 0 else Say()
    server.holding = True
    asked = texts(220)
    batch = await house.accepted(*asked)
    while await house.dispatcher.once():
        pass
    await server.arrived(220)
    shuffled = random.Random(7).sample(asked, 220)
    for at in range(0, 220, 44):
        server.release(*shuffled[at : at + 44])
        for text in shuffled[at : at + 44]:
            await server.gone(text)
        await house.pause()
        house.clock.advance(0.5)
        await house.dispatcher.once()
    ended = await house.finish(batch)
    assert len(await house.rows("SELECT 1 FROM segment")) > 3
    output, errors = await house.results(ended)
    assert [each["custom_id"] for each in output] == [text for text in asked if int(text[1:]) % 3]
    assert [each["custom_id"] for each in errors] == [text for text in asked if int(text[1:]) % 3 == 0]
    assert ended.counts == RequestCounts(220, len(output), len(errors))


async def test_results_of_blank_and_unterminated_lines_keep_the_order(house: House) -> None:
    data = b"\xef\xbb\xbf\n" + line("a") + b" \r\n" + line("b") + b"\n\n" + line("c").rstrip()
    batch, _ = await house.create(await house.upload(data))
    await house.check()
    output, _ = await house.results(await house.finish(batch))
    assert [each["custom_id"] for each in output] == ["a", "b", "c"]


async def test_a_batch_without_failures_has_no_error_file(house: House) -> None:
    await drained(house, "a", "b")
    assert await house.finalizer.once()
    assert not await house.finalizer.once()
    (ended,) = (await house.batches.page(ANA)).items
    assert (ended.status, ended.error_file) == (Status.COMPLETED, None)
    assert ended.output_file is not None
    assert len(await outputs(house)) == 1


async def test_a_batch_without_answers_has_no_output_file(house: House, server: ModelServer) -> None:
    server.script = lambda text, nth: Say(400)
    await drained(house, "a", "b")
    await house.finalizer.once()
    (ended,) = (await house.batches.page(ANA)).items
    assert (ended.status, ended.output_file, ended.counts) == (Status.COMPLETED, None, RequestCounts(2, 0, 2))
    assert len(await outputs(house)) == 1


async def test_result_files_are_the_members_and_say_what_they_are(house: House, clock: Hands) -> None:
    file = await house.upload(line("a"))
    batch, _ = await house.create(file, output_lifetime_s=3600)
    await house.check()
    ended = await house.finish(batch)
    assert ended.output_file is not None
    output = await house.files.get(ANA, ended.output_file)
    assert (output.purpose, output.member, output.requests) == (Purpose.BATCH_OUTPUT, "ana", 1)
    assert output.name == f"batch_{batch.id}_output.jsonl"
    assert output.expires_at == ended.completed_at + 3_600_000_000 if ended.completed_at else False
    data = await house.blobs.read(output.object, 0, output.bytes)
    import hashlib

    assert hashlib.sha256(data).hexdigest() == output.sha256


async def test_stamps_show_the_way_that_a_batch_went(house: House, clock: Hands) -> None:
    ended = await house.finish(await house.accepted("a"))
    stamps = [ended.created_at, ended.in_progress_at, ended.finalizing_at, ended.completed_at]
    assert all(stamps)
    assert stamps == sorted(stamps, key=lambda stamp: stamp or 0)
    assert (ended.failed_at, ended.cancelling_at, ended.cancelled_at, ended.expired_at) == (None, None, None, None)


async def test_what_has_ended_never_changes(house: House, clock: Hands) -> None:
    ended = await house.finish(await house.accepted("a"))
    clock.advance(100_000)
    await house.reaper.once()
    await house.finalizer.once()
    await house.validator.once()
    while await house.reaper.tidy():
        pass
    assert await house.see(ended) == ended


async def spoil_bytes(house: House) -> None:
    (row,) = await house.rows("SELECT object, byte_off, byte_len FROM segment")
    data = bytearray(await house.blobs.read(row["object"], 0, row["byte_off"] + row["byte_len"]))
    data[row["byte_off"] + 30] ^= 1
    await house.overwrite(row["object"], bytes(data))


async def cut_bytes(house: House) -> None:
    (row,) = await house.rows("SELECT object, byte_off, byte_len FROM segment")
    data = await house.blobs.read(row["object"], 0, row["byte_off"] + row["byte_len"])
    await house.overwrite(row["object"], data[:-1])


async def lose_a_segment(house: House) -> None:
    await house.change("DELETE FROM segment")
    await house.change("UPDATE file SET object = 'input/gone' WHERE purpose = 'batch'")


async def lose_a_chunk(house: House) -> None:
    await house.change("DELETE FROM chunk")


async def double_a_segment(house: House) -> None:
    await house.change(
        "INSERT INTO segment SELECT batch, idx, epoch, seq + 1, object, byte_off, byte_len, sha256, model, n_ok,"
        " n_failed, lines FROM segment"
    )


async def spoil_the_index(house: House) -> None:
    await house.change("UPDATE segment SET lines = :lines", lines=b"\xff\xff" + bytes(9))


@pytest.mark.parametrize(
    "damage", [spoil_bytes, cut_bytes, lose_a_segment, lose_a_chunk, double_a_segment, spoil_the_index]
)
async def test_a_batch_is_not_completed_unless_every_line_is_found_once_and_whole(
    house: House, clock: Hands, damage: object
) -> None:
    batch = await drained(house, "a", "b")
    await damage(house)  # type: ignore[operator]
    clock.advance(1)
    good = await drained(house, "c")
    while await house.finalizer.once():
        pass
    assert (await house.batches.get(ANA, batch)).status is Status.FINALIZING
    assert (await house.batches.get(ANA, good)).status is Status.COMPLETED, "it holds up no other"
    assert len(await outputs(house)) == 1
    assert len(await house.rows("SELECT 1 FROM file WHERE purpose = 'batch_output'")) == 1
    clock.advance(60)
    assert await house.finalizer.once(), "it is tried again"


async def test_who_loses_the_stage_leaves_nothing_behind_that_anybody_sees(
    db: Database, tmp_path: Path, clock: Hands, url: str
) -> None:
    await people(db, clock)
    disk = FullDisk(folder(tmp_path))
    async with opened(db, disk, clock, url) as house:  # type: ignore[arg-type]
        batch = await drained(house, "a")

        async def overtake() -> None:
            async with opened(db, disk, clock, url, owner="me") as other:  # type: ignore[arg-type]
                await other.finalizer.once()

        disk.meanwhile = overtake
        assert await house.finalizer.once()
        ended = await house.batches.get(ANA, batch)
        assert ended.status is Status.COMPLETED
        assert ended.output_file is not None
        assert await outputs(house) == [f"out/{batch}/{ended.output_file}"]
        assert len(await house.rows("SELECT 1 FROM file WHERE purpose = 'batch_output'")) == 1


@pytest.mark.parametrize("lost", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 2])
async def test_a_database_that_fails_in_the_middle_of_an_assembly_only_delays_it(
    db: Database, tmp_path: Path, clock: Hands, url: str, lost: str, nth: int
) -> None:
    await people(db, clock)
    flaky = Flaky(db)
    async with opened(flaky, folder(tmp_path), clock, url) as house:
        batch = await drained(house, "a", "b")
        for _ in range(3):
            setattr(flaky, lost, nth)
            with pytest.raises(Unavailable):
                while await house.finalizer.once():
                    pass
                raise Unavailable("ended in spite of it")
        flaky.before = flaky.after = 0
        clock.advance(60)
        while await house.finalizer.once():
            pass
        ended = await house.batches.get(ANA, batch)
        assert ended.status is Status.COMPLETED
        output, _ = await house.results(ended)
        assert [each["custom_id"] for each in output] == ["a", "b"]
        assert len(await house.rows("SELECT 1 FROM file WHERE purpose = 'batch_output'")) == 1


async def test_a_disk_that_is_full_only_delays_an_assembly(
    db: Database, tmp_path: Path, clock: Hands, url: str
) -> None:
    await people(db, clock)
    disk = FullDisk(folder(tmp_path))
    async with opened(db, disk, clock, url) as house:  # type: ignore[arg-type]
        batch = await drained(house, "a")
        disk.full = {"writer"}
        await house.finalizer.once()
        assert (await house.batches.get(ANA, batch)).status is Status.FINALIZING
        disk.full = set()
        clock.advance(60)
        await house.finalizer.once()
        assert (await house.batches.get(ANA, batch)).status is Status.COMPLETED


@pytest.mark.parametrize(
    ("reason", "status", "code"),
    [
        (StopReason.EXPIRED, Status.EXPIRED, Code.BATCH_EXPIRED),
        (StopReason.REVOKED, Status.COMPLETED, Code.AUTHORIZATION_REVOKED),
        (StopReason.NO_CREDIT, Status.COMPLETED, Code.INSUFFICIENT_CREDITS),
    ],
)
async def test_lines_that_never_ran_say_why(house: House, reason: StopReason, status: Status, code: Code) -> None:
    batch = await house.accepted(*texts(120))
    await house.change("UPDATE chunk SET state = 'done'")
    await house.change("UPDATE batch SET status = 'finalizing', stop = :stop", stop=reason)
    await house.finalizer.once()
    ended = await house.see(batch)
    assert (ended.status, ended.counts, ended.output_file) == (status, RequestCounts(120, 0, 120), None)
    _, errors = await house.results(ended)
    assert [each["custom_id"] for each in errors] == texts(120)
    assert {(each["response"], each["error"]["code"]) for each in errors} == {(None, code)}


async def test_a_result_is_spelled_by_the_dialect_that_the_batch_was_created_through(house: House) -> None:
    file = await house.upload(line("a"))
    spelled = {}
    for rules in (INFERNODE, msgspec.structs.replace(INFERNODE, name="novita")):
        batch, _ = await house.create(file, rules=rules)
        await house.check()
        output, _ = await house.results(await house.finish(batch))
        spelled[rules.name] = output[0]["response"]["request_id"]
    assert spelled["novita"] == "a"
    assert spelled["infernode"].startswith("req_")
