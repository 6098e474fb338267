"""What the lean client does on its own account."""

import asyncio

from hornada.core.catalog import Server
from hornada.upstream.lean import Lean
from hornada.upstream.protocol import Answer, Failure, Fault, Timeouts
from tests.upstream.conftest import Visit, serving


async def answer_all(visit: Visit) -> None:
    while await visit.request() is not None:
        await visit.answer(b"ok")


async def test_an_idle_connection_is_closed_before_the_server_would(patient: Timeouts):
    gone = asyncio.get_running_loop().create_future()

    async def handler(visit: Visit) -> None:
        await answer_all(visit)
        gone.set_result(None)

    async with serving(handler) as server:
        client = Lean(Server(url=f"http://127.0.0.1:{server.port}/v1"), keepalive=0.05)
        await client.send("/x", b"", patient, max_bytes=9)
        await asyncio.wait_for(gone, 60)
        await client.close()


async def test_an_idle_connection_that_is_too_old_is_not_used(patient: Timeouts):
    async with serving(answer_all) as server:
        client = Lean(Server(url=f"http://127.0.0.1:{server.port}/v1"), keepalive=0)
        for _ in range(3):
            assert isinstance(await client.send("/x", b"", patient, max_bytes=9), Answer)
        await client.close()
    assert len(server.visits) == 3


async def test_the_connection_that_was_used_last_is_used_first(patient: Timeouts):
    async with serving(answer_all) as server:
        client = Lean(Server(url=f"http://127.0.0.1:{server.port}/v1"))
        await asyncio.gather(*(client.send("/x", b"", patient, max_bytes=9) for _ in range(4)))
        for _ in range(5):
            await client.send("/y", b"", patient, max_bytes=9)
        await client.close()
    assert len(server.visits) == 4
    assert sorted(len(visit.seen) for visit in server.visits) == [1, 1, 1, 6]


async def test_a_call_under_way_when_the_client_is_closed_is_a_reset(patient: Timeouts):
    asked = asyncio.Event()

    async def handler(visit: Visit) -> None:
        await visit.request()
        asked.set()
        await visit.gone()

    async with serving(handler) as server:
        client = Lean(Server(url=f"http://127.0.0.1:{server.port}/v1"))
        call = asyncio.create_task(client.send("/x", b"", patient, max_bytes=9))
        await asked.wait()
        await client.close()
        answer = await call
    assert isinstance(answer, Failure)
    assert answer.fault is Fault.RESET


async def test_an_answer_in_an_encoding_that_nobody_asked_for_is_garbled(patient: Timeouts):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")

    async with serving(handler) as server:
        client = Lean(Server(url=f"http://127.0.0.1:{server.port}/v1"))
        answer = await client.send("/x", b"", patient, max_bytes=9)
        await client.close()
    assert isinstance(answer, Failure)
    assert answer.fault is Fault.GARBLED


async def test_trailers_without_end_are_garbled(patient: Timeouts):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: ")
        while True:
            await visit.say(b"a" * 10_000)

    async with serving(handler) as server:
        client = Lean(Server(url=f"http://127.0.0.1:{server.port}/v1"))
        answer = await client.send("/x", b"", patient, max_bytes=9)
        await client.close()
    assert isinstance(answer, Failure)
    assert answer.fault is Fault.GARBLED
