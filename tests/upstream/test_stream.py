"""A body in pieces: undelayed, never more of it in memory than a little, and dropped as soon as nobody wants it."""

import asyncio

import pytest

from hornada.upstream.protocol import AnswerStream, Failure, Fault, StreamBroken, Timeouts, Upstream
from tests.upstream.conftest import Connect, Visit, serving

MIB = 1024 * 1024
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def opened(client: Upstream, timeouts: Timeouts) -> AnswerStream:
    stream = await client.stream("/chat/completions", b"{}", timeouts)
    assert not isinstance(stream, Failure), stream
    return stream


async def test_each_piece_arrives_before_the_next_is_sent(connect: Connect, patient: Timeouts):
    more = asyncio.Event()

    async def handler(visit: Visit) -> None:
        while await visit.request() is not None:
            await visit.say(HEAD)
            for number in range(4):
                await more.wait()
                more.clear()
                await visit.say(chunk(b"data: %d\n\n" % number))
            await visit.say(b"0\r\n\r\n")

    async with serving(handler) as server:
        client = connect(server.port)
        for _ in range(2):
            stream = await opened(client, patient)
            assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream")
            pieces = aiter(stream)
            for number in range(4):
                more.set()
                assert await anext(pieces) == b"data: %d\n\n" % number
            with pytest.raises(StopAsyncIteration):
                await anext(pieces)
            await stream.aclose()
    assert len(server.visits) == 1, "a stream read to its end leaves its connection for the next call"


async def test_pieces_that_waited_are_all_there(connect: Connect, patient: Timeouts):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + chunk(b"a") + chunk(b"b"), chunk(b"c") + b"0\r\n\r\n")

    async with serving(handler) as server:
        stream = await opened(connect(server.port), patient)
        await asyncio.sleep(0.05)
        assert b"".join([piece async for piece in stream]) == b"abc"


@pytest.mark.parametrize("head", [b"Content-Length: 6\r\n", b""])
async def test_a_body_with_a_length_or_none_streams_too(connect: Connect, patient: Timeouts, head: bytes):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\n" + head + b"\r\nabc", b"def")

    async with serving(handler) as server:
        stream = await opened(connect(server.port), patient)
        assert b"".join([piece async for piece in stream]) == b"abcdef"


async def test_a_stream_that_is_closed_early_closes_its_connection(connect: Connect, patient: Timeouts):
    gone = asyncio.get_running_loop().create_future()

    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + chunk(b"a"))
        gone.set_result(await visit.gone())

    async with serving(handler) as server:
        stream = await opened(connect(server.port), patient)
        assert await anext(aiter(stream)) == b"a"
        await stream.aclose()
        await stream.aclose()
        assert await asyncio.wait_for(gone, 60)


async def test_a_server_that_falls_silent_breaks_the_stream(connect: Connect):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + chunk(b"a"))
        await visit.gone()

    async with serving(handler) as server:
        stream = await opened(connect(server.port), Timeouts(connect=60, first_byte=1, total=60))
        pieces = aiter(stream)
        assert await anext(pieces) == b"a"
        with pytest.raises(StreamBroken) as broken:
            await anext(pieces)
        await stream.aclose()
    assert broken.value.failure.fault is Fault.TIMEOUT


async def test_a_stream_that_is_cut_off_breaks_after_what_came(connect: Connect, patient: Timeouts):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + chunk(b"a") + b"9\r\nhal")

    async with serving(handler) as server:
        stream = await opened(connect(server.port), patient)
        came = b""
        with pytest.raises(StreamBroken) as broken:
            async for piece in stream:
                came += piece
        await stream.aclose()
    assert came in {b"a", b"ahal"}
    assert broken.value.failure.fault is Fault.RESET


async def test_a_stream_goes_on_past_the_total_of_its_parts_but_not_past_the_total_deadline(connect: Connect):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD)
        while True:
            await visit.say(chunk(b"a"))
            await asyncio.sleep(0.02)

    async with serving(handler) as server:
        stream = await opened(connect(server.port), Timeouts(connect=60, first_byte=60, total=1))
        with pytest.raises(StreamBroken) as broken:
            async for _ in stream:
                pass
        await stream.aclose()
    assert broken.value.failure.fault is Fault.TIMEOUT


async def test_a_reader_that_is_slow_holds_the_server_back(connect: Connect, patient: Timeouts):
    total, sent = 64 * MIB, 0

    async def handler(visit: Visit) -> None:
        nonlocal sent
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
        while sent < total:
            await visit.say(b"x" * 65536)
            sent += 65536

    async with serving(handler) as server:
        stream = await opened(connect(server.port), patient)
        pieces = aiter(stream)
        read = len(await anext(pieces))
        await asyncio.sleep(0.2)
        assert sent < 32 * MIB
        async for piece in pieces:
            read += len(piece)
    assert read == total


async def test_a_failure_before_the_head_is_a_failure(connect: Connect):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.gone()

    async with serving(handler) as server:
        failure = await connect(server.port).stream("/x", b"", Timeouts(connect=5, first_byte=0.05, total=5))
    assert isinstance(failure, Failure)
    assert failure.fault is Fault.TIMEOUT


async def test_cancelling_the_wait_for_the_head_closes_the_connection(connect: Connect, patient: Timeouts):
    asked, gone = asyncio.Event(), asyncio.Event()

    async def handler(visit: Visit) -> None:
        await visit.request()
        asked.set()
        if await visit.gone():
            gone.set()

    async with serving(handler) as server:
        call = asyncio.create_task(connect(server.port).stream("/x", b"", patient))
        await asked.wait()
        call.cancel()
        await asyncio.wait_for(gone.wait(), 60)
        with pytest.raises(asyncio.CancelledError):
            await call
