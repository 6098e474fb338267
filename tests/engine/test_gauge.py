"""What a server's metrics say of its queue, and when it is asked."""

import asyncio
from collections.abc import AsyncIterator
from typing import Self

import pytest

from hornada.core.catalog import Server
from hornada.engine.gauge import Gauges, Load, read_gauge
from hornada.engine.servers import Servers
from hornada.upstream import connect
from tests.conftest import Hands

VLLM = b"""# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m {x} 9"} 8.0
vllm:num_requests_running{engine="1",model_name="m"} 6.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 15.0
vllm:num_requests_waiting_by_reason{reason="capacity"} 99.0
"""
LLAMA = b"""# HELP llamacpp:requests_processing Number of requests processing.
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 2
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred 1e+01
"""


@pytest.mark.parametrize(
    ("body", "load"),
    [
        (VLLM, Load(14, 15)),
        (LLAMA, Load(2, 10)),
        (LLAMA.replace(b"\n", b"\r\n"), Load(2, 10)),
        (b"", None),
        (b"# HELP vllm:num_requests_running Number 5\nprocess_cpu_seconds_total 3\n", None),
        (b"vllm:num_requests_running{} NaN\n", None),
    ],
)
def test_running_and_waiting_requests_are_read_and_summed(body: bytes, load: Load | None) -> None:
    assert read_gauge(body) == load


class Publisher:
    """A server whose ``/metrics`` answers with what the test says; counts how often it is asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body = LLAMA
        self.asked = list[str]()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1")
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    @property
    def server(self) -> Server:
        return Server(url=f"http://127.0.0.1:{self.port}/v1")

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.asked.append(head.split(b" ")[1].decode())
        writer.write(b"HTTP/1.1 %d X\r\nConnection: close\r\n" % self.status)
        writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(self.body), self.body))
        await writer.drain()
        writer.close()


@pytest.fixture
async def gauges(clock: Hands) -> AsyncIterator[Gauges]:
    servers = Servers(connect, clock)
    yield Gauges(servers.upstream, clock)
    await servers.close()


async def test_several_servers_are_asked_below_their_root_and_add_up(gauges: Gauges) -> None:
    async with Publisher() as one, Publisher() as other:
        other.body = VLLM
        assert await gauges.load([one.server, other.server]) == Load(16, 25)
        assert one.asked == ["/metrics"]


@pytest.mark.parametrize("status", [404, 401, 501])
async def test_a_server_without_a_gauge_is_left_alone_for_five_minutes(
    gauges: Gauges, clock: Hands, status: int
) -> None:
    async with Publisher() as one:
        one.status = status
        for _ in range(5):
            assert await gauges.load([one.server]) is None
            clock.advance(30)
        assert len(one.asked) == 1
        one.status = 200
        clock.advance(151)
        assert await gauges.load([one.server]) == Load(2, 10)


async def test_one_server_without_a_gauge_leaves_the_whole_unknown(gauges: Gauges) -> None:
    async with Publisher() as one, Publisher() as other:
        other.body = b"nothing 1\n"
        assert await gauges.load([one.server, other.server]) is None


async def test_a_gauge_that_was_there_and_answers_with_errors_is_silent(gauges: Gauges) -> None:
    async with Publisher() as one:
        await gauges.load([one.server])
        one.status = 503
        assert await gauges.load([one.server]) == Load(silent=True)


async def test_a_server_that_is_gone_has_no_load(gauges: Gauges) -> None:
    async with Publisher() as one, Publisher() as other:
        await gauges.load([one.server, other.server])
        other._server.close()
        await other._server.wait_closed()
        assert await gauges.load([one.server, other.server]) == Load(2, 10, partly=True)
