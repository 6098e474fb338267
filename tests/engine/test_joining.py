"""Results in input order beside their input: while a batch runs, after its end, and when files are gone."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from hornada.blobs.protocol import Blobs
from hornada.core.batch import Batch, Status
from hornada.core.errors import Broken, Code, Refusal
from hornada.core.line import Reply
from hornada.core.written import number_of, prefix_of
from hornada.dialects import DIALECTS
from hornada.engine import joining, linewise
from hornada.engine.joining import Joining, Wanted
from hornada.engine.linewise import Results
from tests.engine.house import ANA, House, caller, line, texts
from tests.engine.model_server import ModelServer, Say

BAD = b'{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"bad"}}'


@pytest.fixture
def reading(house: House) -> Joining:
    return Joining(house.db, house.blobs, house.batches)


async def seen(reading: Joining, batch: Batch, **wanted: Any) -> list[dict[str, Any]]:
    async with reading.open(caller(org=batch.org), batch.id, Wanted(**wanted)) as pieces:
        data = b"".join([piece async for piece in pieces])
    assert data.endswith(b"\n") or not data
    return [msgspec.json.decode(each) for each in data.splitlines()]


def some_fail(server: ModelServer) -> None:
    server.script = lambda text, nth: Say(400, body=BAD) if text.endswith(("3", "7")) else Say()


async def test_an_ended_batch_gives_both_files_in_input_order_beside_the_input(
    house: House, reading: Joining, server: ModelServer
) -> None:
    some_fail(server)
    batch = await house.finish(await house.accepted(*texts(250)))
    found = await seen(reading, batch)
    assert [each["custom_id"] for each in found] == texts(250)
    assert [each["line"] for each in found] == list(range(1, 251))
    assert all(each["input"]["messages"][0]["content"] == each["custom_id"] for each in found)
    output, error = await house.results(batch)
    failed = {each["custom_id"] for each in error}
    assert {each["custom_id"] for each in found if each["status"] == "failed"} == failed
    keys = ("id", "custom_id", "response", "error")
    assert sorted((each["id"], {key: each[key] for key in keys}) for each in found) == sorted(
        (each["id"], each) for each in output + error
    )


async def test_a_running_batch_gives_what_there_is(house: House, reading: Joining, server: ModelServer) -> None:
    some_fail(server)
    batch = await house.accepted(*texts(8))
    assert await seen(reading, batch) == []
    server.holding = True
    await house.dispatcher.once()
    await server.arrived(4)
    server.release("t0001", "t0003")
    await server.gone("t0001")
    await server.gone("t0003")
    for _ in range(3):
        await house.pause()
        house.pass_time(1)
        await house.dispatcher.once()
    found = await seen(reading, batch)
    assert [(each["line"], each["status"]) for each in found] == [(2, "succeeded"), (4, "failed")]
    assert [each["input"]["messages"][0]["content"] for each in found] == ["t0001", "t0003"]
    assert [each["line"] for each in await seen(reading, batch, ok=False)] == [4]
    server.holding = False
    server.release()


async def test_a_batch_that_was_never_run_has_none(house: House, reading: Joining) -> None:
    assert await seen(reading, await house.fresh("a")) == []
    refused = await house.fresh(b"{\n")
    await house.check()
    assert (await house.see(refused)).status is Status.FAILED
    assert await seen(reading, refused) == []


@pytest.mark.parametrize("ended", [False, True])
async def test_pages_meet_without_gap_or_overlap(
    house: House, reading: Joining, server: ModelServer, ended: bool
) -> None:
    some_fail(server)
    batch = await house.accepted(*texts(230))
    await house.work()
    if ended:
        batch = await house.finish(batch)
    for ok in (None, True, False):
        whole = await seen(reading, batch, ok=ok)
        pages, after = [], 0
        while page := await seen(reading, batch, ok=ok, after=after, limit=17):
            pages += page
            after = page[-1]["line"]
        assert pages == whole


async def test_ids_are_found_by_how_they_begin(house: House, reading: Joining) -> None:
    ids = ['a"1', "a\u20282", 'a"3', "b\\4", "ä5"]
    lines = [line("x", custom_id=each) for each in ids]
    batch = await house.accepted(*lines)
    await house.work()
    for state in (batch, await house.finish(batch)):
        for prefix, wanted in (('a"', ['a"1', 'a"3']), ("a\u2028", ["a\u20282"]), ("b\\", ["b\\4"]), ("c", [])):
            assert [each["custom_id"] for each in await seen(reading, state, prefix=prefix_of(prefix))] == wanted
        assert [each["custom_id"] for each in await seen(reading, state, prefix=prefix_of("a"), limit=2)] == ids[:2]


async def test_lines_come_as_in_the_files_where_nothing_is_to_be_added(house: House, reading: Joining) -> None:
    batch = await house.finish(await house.accepted(*texts(3)))
    output, _ = await house.results(batch)
    assert await seen(reading, batch, own=False) == output
    assert "input" not in (await seen(reading, batch, input=False))[0]


async def test_the_input_is_as_it_was_written_but_for_what_weak_readers_take_for_line_ends(
    house: House, reading: Joining
) -> None:
    body = (
        '{"model":"m",  "n":1.50,"big":123456789012345678901234567890,"messages":[{"role":"user","content":"\u2028"}]}'
    )
    data = b"\xef\xbb\xbf\r\n" + b'{"custom_id":"a","body":' + body.encode() + b"}\r\n \n" + line("b").rstrip(b"\n")
    batch = await house.accepted(data)
    await house.work()
    for state in (batch, await house.finish(batch)):
        async with reading.open(ANA, state.id, Wanted(limit=1)) as pieces:
            only = b"".join([piece async for piece in pieces])
        assert body.replace("\u2028", "\\u2028").encode() in only
        assert [each["custom_id"] for each in await seen(reading, state)] == ["a", "b"]


async def test_without_the_input_file_there_are_results_without_input(house: House, reading: Joining) -> None:
    batch = await house.finish(await house.accepted(*texts(3)))
    await house.files.delete(ANA, batch.input_file)
    found = await seen(reading, batch)
    assert [(each["custom_id"], each["input"]) for each in found] == [(each, None) for each in texts(3)]


class Meanwhile:
    """A blob store in which something happens just before an input is read."""

    def __init__(self, blobs: Blobs, happens: Callable[[], Awaitable[object]]) -> None:
        self._blobs = blobs
        self._happens = happens

    async def stream(self, key: str, offset: int, length: int) -> AsyncIterator[bytes]:
        if key.startswith("input/"):
            await self._happens()
        async for piece in self._blobs.stream(key, offset, length):
            yield piece

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blobs, name)


async def test_an_input_file_that_goes_while_it_is_read_takes_no_result_along(house: House) -> None:
    batch = await house.finish(await house.accepted(*texts(3)))
    source = await house.files.get(ANA, batch.input_file)

    async def lost() -> None:
        await house.blobs.delete(source.object)

    async def deleted() -> None:
        await house.files.delete(ANA, batch.input_file)

    with pytest.raises(Broken):
        await seen(meeting(house, lost), batch)
    found = await seen(meeting(house, deleted), batch)
    assert [(each["custom_id"], each["input"]) for each in found] == [(each, None) for each in texts(3)]


def meeting(house: House, happens: Callable[[], Awaitable[object]]) -> Joining:
    return Joining(house.db, cast("Blobs", Meanwhile(house.blobs, happens)), house.batches)


async def test_results_that_are_gone_are_refused_in_words(house: House, reading: Joining, server: ModelServer) -> None:
    some_fail(server)
    batch = await house.finish(await house.accepted(*texts(5)))
    assert batch.output_file is not None
    await house.files.delete(ANA, batch.output_file)
    with pytest.raises(Refusal) as refused:
        await seen(reading, batch)
    assert refused.value.code is Code.FILE_NOT_FOUND
    assert "status=failed" in refused.value.message
    assert [each["line"] for each in await seen(reading, batch, ok=False)] == [4]


async def test_nobody_sees_the_results_of_another_organization(house: House, reading: Joining) -> None:
    batch = await house.finish(await house.accepted("a"))
    with pytest.raises(Refusal) as refused:
        await seen(reading, replace(batch, org="foreign"))
    assert refused.value.code is Code.BATCH_NOT_FOUND


async def test_an_organization_has_so_many_readers_at_once(house: House) -> None:
    reading = Joining(house.db, house.blobs, house.batches, most=2)
    batch, other = [await house.finish(await house.accepted("a")) for _ in range(2)]
    async with AsyncExitStack() as stack:
        for each in (batch, other):
            await stack.enter_async_context(reading.open(ANA, each.id, Wanted()))
        with pytest.raises(Refusal) as refused:
            await seen(reading, batch)
        assert (refused.value.code, "2 results being read" in refused.value.message) == (Code.RATE_LIMIT_EXCEEDED, True)
        with pytest.raises(Refusal) as refused:
            await seen(reading, replace(batch, org="foreign"))
        assert refused.value.code is Code.BATCH_NOT_FOUND
    assert len(await seen(reading, batch)) == 1


async def test_a_batch_that_ends_while_it_is_read_is_read_on_from_its_files(
    house: House, reading: Joining, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "_PIECE_BYTES", 1)
    monkeypatch.setattr(joining, "_CHUNKS_AT_ONCE", 1)
    batch = await house.accepted(*texts(250))
    await house.work()
    async with reading.open(ANA, batch.id, Wanted()) as pieces:
        found = [await anext(pieces)]
        await house.finish(batch)
        await house.reaper.tidy()
        found += [piece async for piece in pieces]
    assert [msgspec.json.decode(each)["custom_id"] for each in found] == texts(250)


async def test_a_chunk_with_large_results_is_read_line_by_line(
    house: House, reading: Joining, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = await house.accepted(*texts(120))
    await house.work()
    whole = await seen(reading, batch)
    monkeypatch.setattr(joining, "_WHOLE_BYTES", 0)
    assert await seen(reading, batch) == whole
    assert len(whole) == 120


async def test_a_line_is_found_by_halving(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linewise, "_NEAR_BYTES", 64)
    monkeypatch.setattr(linewise, "_BLOCK", 100)
    numbers = [2, 3, 5, 70_000, 70_001, 1_100_000]
    for name in DIALECTS:
        spelled = [
            DIALECTS[name].lines.reply("abcd", each, "x" * each, Reply(ok=True, status=200, body=b"{}"))
            if each < 100
            else DIALECTS[name].lines.reply("abcd", each, "y" * 400, Reply(ok=True, status=200, body=b"{}"))
            for each in numbers
        ]
        assert [number_of(each, "abcd") for each in spelled] == numbers
        file = await house.upload(b"".join(spelled))
        for sought in (0, 1, 2, 3, 4, 5, 6, 69_999, 70_000, 70_001, 70_002, 1_100_000, 1_100_001):
            head = Results(house.blobs, replace(file), "abcd", ok=True)
            await head.seek(sought)
            assert head.number == next((each for each in numbers if each >= sought), None)
            await head.close()
