"""Regular calls through a real server on a real socket, to a model server that answers as the test says."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from hornada.api.call import ClientGone
from hornada.api.regular import Regular
from hornada.core.account import Plan, Principal, Role
from hornada.core.catalog import Catalog, Model, Server
from hornada.core.errors import Refusal
from hornada.core.limits import Limits
from hornada.engine.capacity import Gates
from hornada.engine.gateway import Gateway
from hornada.engine.servers import Servers
from hornada.engine.usage import UsageRecord
from hornada.upstream import connect
from tests.upstream.conftest import Handler, Visit, serving

CHAT = "/v1/chat/completions"
BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
STREAM = BODY.replace(b"}]}", b'}],"stream":true}')
ANSWER = b'{"id":"a",\n"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}'
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
ANA = Principal(org="o", member="u", key="k", role=Role.MEMBER, plan=Plan())


class Quiet(uvicorn.Server):
    """uvicorn that leaves the signals alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def anybody(org: str) -> None:
    """Lets a call start."""


class App:
    """The smallest application around the handler; what became of its calls."""

    def __init__(self, port: int) -> None:
        model = Model(name="m", servers=(Server(url=f"http://127.0.0.1:{port}/v1"),))
        limits = Limits(request_bytes=100_000)
        self.servers, self.gates, self.records = Servers(connect), Gates(), list[UsageRecord]()
        self.gate = self.gates.of(model)
        catalog = Catalog(models={"m": model}, aliases={})
        gateway = Gateway(
            lambda: catalog, self.servers, self.gates, limits=limits, record=self.records.append, admit=anybody
        )
        self.regular = Regular(gateway)
        self.port = 0
        self.gone = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.regular(scope, receive, send, ANA, CHAT, "req_1")
        except ClientGone:
            self.gone.set()
        except Refusal as refusal:
            body = refusal.code.encode()
            headers = [(b"content-length", b"%d" % len(body))]
            await send({"type": "http.response.start", "status": 400, "headers": headers})
            await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def front(handler: Handler) -> AsyncIterator[App]:
    """A model server, and in front of it the application on a port of its own."""
    async with serving(handler) as models:
        app = App(models.port)
        listener = socket.create_server(("127.0.0.1", 0))
        app.port = listener.getsockname()[1]
        server = Quiet(uvicorn.Config(app, http="httptools", lifespan="off", ws="none", log_config=None))
        serve = asyncio.create_task(server.serve([listener]))
        try:
            yield app
        finally:
            server.should_exit = True
            await serve
            listener.close()
            await app.servers.close()
            assert app.gate.regular == 0


@dataclass
class Client:
    """One connection to the application."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def ask(self, body: bytes, *headers: bytes, length: int | None = None) -> None:
        lines = [b"POST / HTTP/1.1", b"Host: x", b"Content-Length: %d" % (len(body) if length is None else length)]
        self.writer.write(b"\r\n".join([*lines, *headers, b"", body]))

    async def head(self) -> tuple[int, dict[str, str]]:
        status, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
        return int(status.split()[1]), dict(line.lower().split(": ", 1) for line in lines)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = await self.head()
        return status, headers, await self.reader.readexactly(int(headers["content-length"]))

    async def chunk(self) -> bytes:
        """The next chunk of a chunked body; empty for the last."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]


@contextlib.asynccontextmanager
async def client(app: App) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", app.port)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def answering(body: bytes = ANSWER, status: str = "200 OK", headers: bytes = b"") -> Handler:
    async def handler(visit: Visit) -> None:
        while await visit.request() is not None:
            await visit.answer(body, status=status, headers=headers)

    return handler


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def test_an_answer_comes_back_as_received_with_the_headers_that_are_the_client_s_business():
    said = b"Content-Type: application/json; x=y\r\nopenai-processing-ms: 5\r\nx-ratelimit-limit-requests: 9\r\n"
    async with front(answering(headers=said + b"Set-Cookie: a=b\r\nx-request-id: theirs\r\n")) as app, client(app) as c:
        for _ in range(2):
            c.ask(BODY)
            status, headers, body = await c.answer()
            assert (status, body) == (200, ANSWER)
            assert headers["content-type"] == "application/json; x=y"
            assert headers["openai-processing-ms"] == "5"
            assert headers["x-request-id"] == "req_1"
            assert not {"set-cookie", "x-ratelimit-limit-requests"} & headers.keys()
    assert len(app.records) == 2


async def test_a_body_that_arrives_in_pieces_is_put_together():
    async with front(answering()) as app, client(app) as c:
        c.ask(BODY[:9], length=len(BODY))
        await asyncio.sleep(0.02)
        c.writer.write(BODY[9:])
        assert (await c.answer())[0] == 200


async def test_a_model_server_s_refusal_keeps_its_status_in_the_envelope_of_five():
    refused = b'{"error":{"message":"too long","type":"BadRequestError","param":null,"code":400,"extra":1}}'
    async with front(answering(refused, "400 Bad Request")) as app, client(app) as c:
        c.ask(BODY)
        status, headers, body = await c.answer()
    assert status == 400
    assert headers["x-request-id"] == "req_1"
    expected = {"message": "too long", "type": "BadRequestError", "param": None, "code": "400", "request_id": "req_1"}
    assert json.loads(body) == {"error": expected}


async def test_what_a_model_server_does_not_have_is_not_asked_for_again():
    async with front(answering(b'{"detail":"no embeddings"}', "501 No")) as app, client(app) as c:
        c.ask(BODY)
        status, headers, _ = await c.answer()
    assert (status, headers["x-should-retry"]) == (501, "false")


async def test_events_pass_one_by_one_as_they_come():
    more = asyncio.Event()

    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(EVENTS)
        for number in range(3):
            await more.wait()
            more.clear()
            await visit.say(chunk(b"data: %d\n\n" % number))
        await visit.say(b"0\r\n\r\n")

    async with front(handler) as app, client(app) as c:
        c.ask(STREAM)
        status, headers = await c.head()
        assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert headers["x-request-id"] == "req_1"
        for number in range(3):
            more.set()
            assert await c.chunk() == b"data: %d\n\n" % number
        assert await c.chunk() == b""
    assert len(app.records) == 1


async def test_a_stream_that_is_refused_is_a_plain_refusal():
    async with front(answering(b'{"detail":"no"}', "404 No")) as app, client(app) as c:
        c.ask(STREAM)
        status, headers, _ = await c.answer()
    assert (status, headers["content-type"]) == (404, "application/json")


async def test_events_that_break_off_end_with_an_error_event():
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(EVENTS, chunk(b"data: 1\n\n"))

    async with front(handler) as app, client(app) as c:
        c.ask(STREAM)
        await c.head()
        assert await c.chunk() == b"data: 1\n\n"
        error: dict[str, Any] = json.loads((await c.chunk()).removeprefix(b"data: "))["error"]
        assert await c.chunk() == b""
    assert (error["code"], error["request_id"]) == ("upstream_error", "req_1")
    assert set(error) == {"message", "type", "param", "code", "request_id"}


async def test_a_stream_that_breaks_off_inside_an_event_is_cut_off():
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(EVENTS, chunk(b"data: {"))

    async with front(handler) as app, client(app) as c:
        c.ask(STREAM.replace(b"true", b'true,"stream_options":{"include_usage":true}'))
        await c.head()
        assert await c.chunk() == b"data: {"
        assert await c.reader.read() == b"", "no last chunk: the client sees that something is missing"


@pytest.mark.parametrize("body", [BODY, STREAM])
@pytest.mark.parametrize("begun", [False, True])
async def test_a_client_that_hangs_up_ends_the_call_to_the_model_server(body: bytes, begun: bool):
    asked, dropped = asyncio.Event(), asyncio.Event()

    async def handler(visit: Visit) -> None:
        await visit.request()
        if begun:
            await visit.say(EVENTS, chunk(b"data: 1\n\n"))
        asked.set()
        if await visit.gone():
            dropped.set()

    async with front(handler) as app:
        async with client(app) as c:
            c.ask(body)
            await asked.wait()
            if begun and body is STREAM:
                await c.head()
                await c.chunk()
        await asyncio.wait_for(dropped.wait(), 60)
        await asyncio.wait_for(app.gone.wait(), 60)
    assert len(app.records) == (1 if begun and body is STREAM else 0)


async def test_a_client_that_hangs_up_within_its_body_leaves_nothing_behind():
    async with front(answering()) as app:
        async with client(app) as c:
            c.ask(b'{"mod', length=99)
            await asyncio.sleep(0.02)
        await asyncio.wait_for(app.gone.wait(), 60)


@pytest.mark.parametrize("length", [100_001, None])
async def test_a_body_over_the_limit_is_refused(length: int | None):
    async with front(answering()) as app, client(app) as c:
        if length is None:
            c.writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b" " * 100_001))
        else:
            c.ask(b"", length=length)
        assert (await c.answer())[2] == b"request_too_large"


async def test_a_compressed_body_is_refused():
    async with front(answering()) as app, client(app) as c:
        c.ask(BODY, b"Content-Encoding: gzip")
        assert (await c.answer())[2] == b"unsupported_encoding"


async def test_refusals_are_for_the_application_to_answer():
    async with front(answering()) as app, client(app) as c:
        c.ask(b'{"model":"other","messages":[{"role":"user","content":"hi"}]}')
        assert (await c.answer())[2] == b"model_not_found"
