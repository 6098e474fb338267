"""Regular calls among several servers, against real sockets."""

import json

import pytest

from bench.process import free_port
from hornada.core.errors import Code
from hornada.engine.declined import Declined
from hornada.engine.gateway import Called, CalledStream
from tests.engine.test_gateway import ANSWER, BODY, Front, Open, answering, front, refused
from tests.upstream.conftest import Handler, Visit, serving

__all__ = ["front"]
STREAM = BODY.replace(b'"x": 1e2', b'"stream": true')
EVENTS = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n'


def breaking() -> Handler:
    async def handler(visit: Visit) -> None:
        await visit.request()

    return handler


def streaming() -> Handler:
    return answering(EVENTS, headers=b"Content-Type: text/event-stream\r\n")


async def whole(called: object) -> bytes:
    assert isinstance(called, CalledStream)
    pieces = [piece async for piece in called]
    await called.aclose()
    return b"".join(pieces)


async def served(front: Front, calls: int = 4) -> None:
    for _ in range(calls):
        called = await front.call()
        assert isinstance(called, Called)


@pytest.mark.parametrize("status", ["429 Too Many", "502 Bad Gateway", "503 Busy"])
async def test_a_busy_server_s_call_is_taken_by_another(front: Open, status: str) -> None:
    async with serving(answering(b"", status)) as busy, serving(answering()) as free:
        opened = front(busy.port, free.port)
        await served(opened)
    assert len(free.seen) == 4
    assert busy.seen


async def test_a_busy_server_s_stream_is_taken_by_another_before_its_first_byte(front: Open) -> None:
    async with serving(answering(b"", "503 Busy")) as busy, serving(streaming()) as free:
        opened = front(busy.port, free.port)
        got = [await whole(await opened.call(STREAM)) for _ in range(2)]
    assert got == [EVENTS, EVENTS]
    assert len(busy.seen) == 1


async def test_where_every_server_is_busy_the_call_is_refused_once_each_has_said_so(front: Open) -> None:
    busy = answering(b"", "429 Too Many", b"Retry-After: 7\r\n")
    async with serving(busy) as one, serving(busy) as two:
        refusal = await refused(front(one.port, two.port))
    assert (refusal.code, refusal.retry_after) == (Code.MODEL_OVERLOADED, 7)
    assert (len(one.seen), len(two.seen)) == (1, 1)


async def test_the_word_of_a_busy_server_stands_when_the_other_one_is_gone(front: Open) -> None:
    async with serving(answering(b"", "429 Too Many", b"Retry-After: 3\r\n")) as busy:
        refusal = await refused(front(busy.port, free_port()))
    assert (refusal.code, refusal.retry_after) == (Code.MODEL_OVERLOADED, 3)


async def test_a_refusal_of_the_call_itself_is_not_asked_elsewhere(front: Open) -> None:
    async with serving(answering(b'{"error":{"message":"no"}}', "400 Bad")) as one, serving(answering()) as two:
        called = await front(one.port, two.port).call()
    assert isinstance(called, Declined)
    assert not two.seen


async def test_a_server_that_breaks_calls_off_is_left_out_after_three(front: Open) -> None:
    async with serving(breaking()) as broken, serving(answering()) as well:
        opened = front(broken.port, well.port)
        codes = []
        for _ in range(12):
            try:
                await opened.call()
            except Exception as refusal:  # noqa: BLE001 - counted
                codes.append(refusal.code)  # type: ignore[attr-defined]
    assert codes == [Code.UPSTREAM_ERROR] * 3
    assert len(broken.seen) == 3
    assert len(well.seen) == 9


async def test_a_stream_that_breaks_off_counts_against_its_server(front: Open) -> None:
    async def half(visit: Visit) -> None:
        while await visit.request() is not None:
            await visit.say(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99\r\n\r\ndata: {}\n\n"
            )
            return

    async with serving(half) as server:
        opened = front(server.port)
        for _ in range(3):
            called = await opened.call(STREAM)
            with pytest.raises(Exception, match="closed the connection"):
                await whole(called)
            await called.aclose()  # type: ignore[union-attr]
        assert opened.servers.health(opened.model) == {f"127.0.0.1:{server.port}": False}


async def test_a_refusal_names_no_host(front: Open) -> None:
    port = free_port()
    refusal = await refused(front(port))
    assert refusal.message == "The model server could not be reached."


async def test_each_server_gets_the_call_under_its_own_name_of_the_model(front: Open) -> None:
    async with serving(answering(b"", "503 Busy")) as busy, serving(answering(ANSWER)) as free:
        await front(busy.port, free.port, model="org/m-7b").call()
    assert [json.loads(each.partition(b"\r\n\r\n")[2])["model"] for each in (*busy.seen, *free.seen)] == [
        "org/m-7b"
    ] * 2
