"""A postman goes where a user sends it, but never into our own network, and no further than it was sent."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_network

import pytest
import trustme
from aiohttp.abc import AbstractResolver, ResolveResult

from hornada.upstream import outward
from hornada.upstream.posted import NOT_PUBLIC
from hornada.upstream.postman import Postman
from tests.engine.receiver import receiving

NO_DATES = [
    ("Thu, 01 Jan 99999999999 00:00:00 GMT", None),
    ("Thu, 01 Jan 2026 00:00:00 +99999999999999", None),
    ("Thu, 01 Jan 2026 99:99:99 GMT", None),
    ("1 2 3 4 5 6", None),
]
REFUSED = f"refused, for {NOT_PUBLIC}"


class Names(AbstractResolver):
    """Leads a name to other addresses at each look-up; the last ones stay."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        found = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [
            ResolveResult(
                hostname=host,
                host=each,
                port=port,
                family=socket.AF_INET6 if ":" in each else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for each in found
        ]

    async def close(self) -> None:
        pass


@asynccontextmanager
async def postman(*networks: str, names: Names | None = None) -> AsyncIterator[Postman]:
    found = Postman([ip_network(each) for each in networks], names)
    try:
        yield found
    finally:
        await found.close()


@asynccontextmanager
async def raw(answer: bytes) -> AsyncIterator[str]:
    """A server that says the same to everybody, whatever it is; its address."""
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())  # type: ignore[arg-type]
        with suppress(OSError):
            await reader.read(65536)
            writer.write(answer)
            await writer.drain()
            await reader.read()
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()
        await asyncio.gather(*serving)
        await server.wait_closed()


async def test_a_message_arrives_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with receiving() as receiver, postman("127.0.0.0/8") as man:
        posted = await man.post(f"{receiver.url}/a%2Fb?c=%20d", b'{"a": 1}', {"webhook-id": "evt_1"}, 5)
    assert (posted.code, posted.error) == (200, None)
    (call,) = receiver.calls
    assert (call.body, call.headers["webhook-id"]) == (b'{"a": 1}', "evt_1")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "127.0.0.2"])  # noqa: S104 - not to bind
async def test_this_machine_is_not_asked(host: str) -> None:
    async with receiving() as receiver, postman() as man:
        posted = await man.post(receiver.url.replace("127.0.0.1", host), b"{}", {}, 5)
    assert receiver.calls == []
    assert (posted.code, posted.error) == (None, REFUSED)


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["::ffff:127.0.0.1"], ["::1", "127.0.0.1"], ["64:ff9b::7f00:1", "127.0.0.1"]], ids=str
)
async def test_a_name_that_leads_to_this_machine_is_not_followed(addresses: list[str]) -> None:
    async with receiving() as receiver, postman(names=Names(addresses)) as man:
        port = receiver.url.rpartition(":")[2]
        posted = await man.post(f"http://hook.example:{port}/", b"{}", {}, 5)
    assert receiver.calls == []
    assert posted.error == REFUSED


async def test_a_name_that_leads_elsewhere_at_its_second_look_up_gains_nothing() -> None:
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    async with receiving() as receiver, postman("127.0.0.1/32", names=names) as man:
        url = f"http://hook.example:{receiver.url.rpartition(':')[2]}/"
        first, second = [await man.post(url, b"{}", {}, 5) for _ in range(2)]
    assert (first.code, second.error, names.asked) == (200, REFUSED, 2)
    assert len(receiver.calls) == 1


async def test_of_several_addresses_only_the_open_ones_are_tried() -> None:
    async with receiving() as receiver, postman("127.0.0.1/32", names=Names(["127.0.0.2", "127.0.0.1"])) as man:
        posted = await man.post(f"http://hook.example:{receiver.url.rpartition(':')[2]}/", b"{}", {}, 5)
    assert posted.code == 200


async def test_a_redirect_is_not_followed() -> None:
    async with receiving() as receiver, postman("127.0.0.0/8") as man:
        for status in (301, 302, 303, 307, 308):
            receiver.answer("/", status, Location=f"{receiver.url}/secret")
            assert (await man.post(receiver.url, b"{}", {}, 5)).code == status
    assert {call.path for call in receiver.calls} == {"/"}


async def test_silence_ends_in_time() -> None:
    async with raw(b"") as url, postman("127.0.0.0/8") as man:
        posted = await man.post(url, b"{}", {}, 0.2)
    assert (posted.code, posted.error) == (None, "no answer within 0.2 s")
    assert 200 <= posted.took_ms < 60_000


async def test_an_endless_answer_is_not_read_to_its_end() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
    async with raw(head + b"x" * 3_000_000) as url, postman("127.0.0.0/8") as man:
        posted = await man.post(url, b"{}", {}, 5)
    assert posted.code == 200


@pytest.mark.parametrize(
    "body",
    [b"Content-Length: 1000\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"],
    ids=["too short", "a piece that never ends"],
)
async def test_a_body_that_never_ends_takes_nothing_from_the_head(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outward, "_READ_S", 0.05)
    async with raw(b"HTTP/1.1 202 Accepted\r\nRetry-After: 7\r\n" + body) as url, postman("127.0.0.0/8") as man:
        posted = await man.post(url, b"{}", {}, 20)
    assert (posted.code, posted.retry_after_s, posted.error) == (202, 7.0, None)


@pytest.mark.parametrize(
    "answer", [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", b"\x00\xff" * 100]
)
async def test_what_is_no_http_is_told_as_such(answer: bytes) -> None:
    async with raw(answer) as url, postman("127.0.0.0/8") as man:
        posted = await man.post(url, b"{}", {}, 5)
    assert (posted.code, posted.error) == (None, "what it answered is no HTTP")


async def test_who_is_not_there_is_told_without_an_address() -> None:
    async with postman("127.0.0.0/8") as man:
        assert (await man.post("http://127.0.0.1:9/", b"{}", {}, 5)).error == "it cannot be reached: Connection refused"
        assert (await man.post("http://no.such.invalid/", b"{}", {}, 10)).error == "its name cannot be looked up"


async def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    async with postman("127.0.0.0/8") as man:
        posted = await man.post(f"https://localhost:{port}/", b"{}", {}, 5)
    server.close()
    assert posted.error == "its certificate or its TLS is not to be trusted"


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("7", 7.0), (" 7 ", 7.0), ("-1", None), ("soon", None), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), *NO_DATES],
)
async def test_a_retry_after_is_read(given: str, seconds: float | None) -> None:
    async with receiving() as receiver, postman("127.0.0.0/8") as man:
        receiver.answer("/", 503, Retry_After=given)
        assert (await man.post(receiver.url, b"{}", {}, 5)).retry_after_s == seconds
