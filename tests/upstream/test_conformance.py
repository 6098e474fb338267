"""What every client of a model server does, whatever the server does to it."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
import trustme

from hornada.upstream.protocol import Answer, Failure, Fault, Timeouts, Upstream
from tests.upstream.conftest import Connect, Visit, serving

MIB = 1024 * 1024


async def ask(client: Upstream, timeouts: Timeouts, body: bytes = b"{}", most: int = 16 * MIB) -> Answer | Failure:
    return await client.send("/chat/completions", body, timeouts, max_bytes=most)


def fault(answer: Answer | Failure) -> Fault | None:
    return answer.fault if isinstance(answer, Failure) else None


def body(answer: Answer | Failure) -> bytes:
    assert isinstance(answer, Answer), answer
    return answer.body


async def ended(visit: Visit) -> None:
    """Waits until the client has closed a connection."""
    while not visit.reader.at_eof():
        await asyncio.sleep(0.01)


def saying(*pieces: bytes, stay: bool = False):
    """A server that reads each request whole and says the same every time, then closes unless it is to stay."""

    async def handler(visit: Visit) -> None:
        while await visit.request() is not None:
            await visit.say(*pieces)
            if not stay:
                return

    return handler


# --- answers -----


async def test_a_request_carries_the_key_and_the_body_and_nothing_unasked(connect: Connect, patient: Timeouts):
    async with serving(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")) as server:
        client = connect(server.port, api_key="sk-model")
        await client.send("/embeddings", b'{"a":1}', patient, max_bytes=99, headers={"x-request-id": "req_1"})
    head, _, sent = server.seen[0].partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    assert lines[0] == b"post /v1/embeddings http/1.1"
    assert sent == b'{"a":1}'
    assert b"host: 127.0.0.1:%d" % server.port in lines
    assert b"authorization: bearer sk-model" in lines
    assert b"content-type: application/json" in lines
    assert b"x-request-id: req_1" in lines
    assert not any(line.startswith(b"accept-encoding") for line in lines)


async def test_get_asks_below_the_base_address_or_below_the_root(connect: Connect, patient: Timeouts):
    async with serving(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", stay=True)) as server:
        client = connect(server.port)
        assert body(await client.get("/models", patient, max_bytes=99)) == b"hi"
        assert body(await client.get("//metrics", patient, max_bytes=99)) == b"hi"
    assert [seen.split(b" ")[:2] for seen in server.seen] == [[b"GET", b"/v1/models"], [b"GET", b"/metrics"]]


async def test_the_query_of_the_base_address_stays(connect: Connect, patient: Timeouts):
    async with serving(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as server:
        client = connect(server.port, url=f"http://127.0.0.1:{server.port}/v1?api-version=3")
        await ask(client, patient)
    assert server.seen[0].startswith(b"POST /v1/chat/completions?api-version=3 HTTP/1.1\r\n")


async def test_header_names_are_lower_case_and_repeated_ones_are_joined(connect: Connect, patient: Timeouts):
    async with serving(
        saying(b"HTTP/1.1 429 No\r\nX-A: 1\r\nx-a: 2\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n")
    ) as s:
        answer = await ask(connect(s.port), patient)
    assert isinstance(answer, Answer)
    assert answer.status == 429
    assert answer.headers["x-a"] == "1, 2"
    assert answer.headers["retry-after"] == "3"


async def test_a_chunked_answer_is_put_together_and_its_trailers_are_dropped(connect: Connect, patient: Timeouts):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n"
    async with serving(saying(head, b"3;x=y\r\nabc\r\n", b"2\r\nde\r", b"\n0\r\nX-T: 1\r\n\r\n", stay=True)) as server:
        client = connect(server.port)
        answers = [await ask(client, patient), await ask(client, patient)]
    assert [body(answer) for answer in answers] == [b"abcde", b"abcde"]
    assert all("x-t" not in answer.headers for answer in answers if isinstance(answer, Answer))
    assert len(server.visits) == 1


async def test_a_body_without_a_length_ends_where_the_connection_ends(connect: Connect, patient: Timeouts):
    async with serving(saying(b"HTTP/1.1 200 OK\r\n\r\n", b'{"a":', b"1}")) as server:
        client = connect(server.port)
        assert body(await ask(client, patient)) == b'{"a":1}'
        assert body(await ask(client, patient)) == b'{"a":1}'
    assert len(server.visits) == 2


async def test_an_interim_answer_is_skipped(connect: Connect, patient: Timeouts):
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    async with serving(saying(interim, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", stay=True)) as server:
        client = connect(server.port)
        answers = [await ask(client, patient), await ask(client, patient)]
    assert [body(answer) for answer in answers] == [b"ok", b"ok"]
    assert isinstance(answers[0], Answer)
    assert "link" not in answers[0].headers


async def test_an_answer_without_a_body_is_whole_at_its_head(connect: Connect, patient: Timeouts):
    async with serving(saying(b"HTTP/1.1 204 No Content\r\n\r\n", stay=True)) as server:
        client = connect(server.port)
        assert body(await ask(client, patient)) == b""
        assert body(await ask(client, patient)) == b""
    assert len(server.visits) == 1


async def test_an_answer_that_comes_byte_by_byte_is_read(connect: Connect, patient: Timeouts):
    async def handler(visit: Visit) -> None:
        await visit.request()
        visit.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello":
            await visit.say(bytes([byte]))
            await asyncio.sleep(0)

    async with serving(handler) as server:
        assert body(await ask(connect(server.port), patient)) == b"hello"


async def test_a_large_head_is_read(connect: Connect, patient: Timeouts):
    head = b"HTTP/1.1 200 OK\r\nX-Big: " + b"a" * 30_000 + b"\r\nContent-Length: 2\r\n\r\nok"
    async with serving(saying(head)) as server:
        answer = await ask(connect(server.port), patient)
    assert isinstance(answer, Answer)
    assert len(answer.headers["x-big"]) == 30_000


async def test_a_redirect_is_an_answer_like_another(connect: Connect, patient: Timeouts):
    async with serving(
        saying(b"HTTP/1.1 307 Go\r\nLocation: /v1/elsewhere\r\nContent-Length: 0\r\n\r\n", stay=True)
    ) as s:
        answer = await ask(connect(s.port), patient)
    assert isinstance(answer, Answer)
    assert answer.status == 307
    assert len(s.seen) == 1


async def test_a_body_of_many_mebibytes_reaches_a_server_that_reads_slowly(connect: Connect, patient: Timeouts):
    sent = bytes(range(256)) * (8 * MIB // 256)

    async def handler(visit: Visit) -> None:
        await asyncio.sleep(0.05)
        request = await visit.request()
        await visit.answer(b"same" if request is not None and request.endswith(b"\r\n\r\n" + sent) else b"other")

    async with serving(handler, limit=MIB) as server:
        assert body(await ask(connect(server.port), patient, sent)) == b"same"


async def test_an_answer_of_many_mebibytes_is_read_whole(connect: Connect, patient: Timeouts):
    sent = bytes(range(256)) * (8 * MIB // 256)
    async with serving(saying(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(sent), sent)) as server:
        assert body(await ask(connect(server.port), patient)) == sent


# --- connections -----


async def test_one_connection_serves_one_call_after_another(connect: Connect, patient: Timeouts):
    async with serving(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", stay=True)) as server:
        client = connect(server.port)
        for _ in range(5):
            assert body(await ask(client, patient)) == b"ok"
    assert len(server.visits) == 1


async def test_concurrent_calls_get_their_own_answers(connect: Connect, patient: Timeouts):
    async def handler(visit: Visit) -> None:
        while (request := await visit.request()) is not None:
            await visit.answer(request[-4:])

    async with serving(handler) as server:
        client = connect(server.port)
        sent = [b"%04d" % number for number in range(60)]
        for _ in range(2):
            answers = await asyncio.gather(*(ask(client, patient, each) for each in sent))
            assert [body(answer) for answer in answers] == sent


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nConnection: close\r\n", b"HTTP/1.0 200 OK\r\n"])
async def test_a_connection_that_the_server_says_it_will_close_is_not_used_again(
    connect: Connect, patient: Timeouts, head: bytes
):
    async def handler(visit: Visit) -> None:
        while await visit.request() is not None:
            await visit.say(head + b"Content-Length: 2\r\n\r\nok")

    async with serving(handler) as server:
        client = connect(server.port)
        assert body(await ask(client, patient)) == b"ok"
        assert body(await ask(client, patient)) == b"ok"
    assert len(server.visits) == 2


async def test_an_idle_connection_that_the_server_has_closed_is_replaced(connect: Connect, patient: Timeouts):
    closed = asyncio.Event()

    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.answer(b"ok")
        visit.writer.close()
        await visit.writer.wait_closed()
        closed.set()

    async with serving(handler) as server:
        client = connect(server.port)
        for _ in range(3):
            assert body(await ask(client, patient)) == b"ok"
            await closed.wait()
            await asyncio.sleep(0)
            closed.clear()
    assert len(server.seen) == 3


async def test_a_request_on_a_reused_connection_is_never_sent_twice(connect: Connect, patient: Timeouts):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.answer(b"ok")
        await visit.request()

    async with serving(handler) as server:
        client = connect(server.port)
        await ask(client, patient, b"1")
        assert fault(await ask(client, patient, b"2")) is Fault.RESET
    assert len(server.seen) == 2


async def test_bytes_that_nobody_asked_for_end_the_connection(connect: Connect, patient: Timeouts):
    ok, more = (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + said for said in (b"ok", b"no"))
    async with serving(saying(ok + more, stay=True)) as server:
        client = connect(server.port)
        assert body(await ask(client, patient)) == b"ok"
        await ended(server.visits[0])
        assert body(await ask(client, patient)) == b"ok"
    assert len(server.visits) == 2


@pytest.mark.parametrize("leave", [False, True])
async def test_a_refusal_that_comes_while_the_body_is_being_sent_is_delivered(
    connect: Connect, patient: Timeouts, leave: bool
):
    left = asyncio.Event()

    async def handler(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await visit.answer(b"busy", status="503 Busy")
        if not leave:
            await left.wait()

    async with serving(handler) as server:
        client = connect(server.port)
        for _ in range(2):
            answer = await ask(client, patient, b"x" * (4 * MIB))
            assert isinstance(answer, Answer), answer
            assert (answer.status, answer.body) == (503, b"busy")
        left.set()
    assert len(server.visits) == 2


async def test_closing_the_client_closes_its_connections(connect: Connect, patient: Timeouts):
    async with serving(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", stay=True)) as server:
        client = connect(server.port)
        await ask(client, patient)
        await client.close()
        await ended(server.visits[0])


# --- no answer -----


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nConte",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ],
)
async def test_an_answer_cut_short_is_a_reset(connect: Connect, patient: Timeouts, said: bytes):
    async with serving(saying(said)) as server:
        assert fault(await ask(connect(server.port), patient)) is Fault.RESET
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "said",
    [
        b"what is this\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: some\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\nContent-Length: 2\r\n\r\nok",
    ],
)
async def test_what_is_no_http_answer_is_garbled(connect: Connect, patient: Timeouts, said: bytes):
    async with serving(saying(said)) as server:
        assert fault(await ask(connect(server.port), patient)) is Fault.GARBLED


@pytest.mark.parametrize("status", [b"999", b"600", b"099", b"000"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_status_that_http_does_not_know_is_garbled(
    connect: Connect, patient: Timeouts, status: bytes, streamed: bool
):
    async with serving(saying(b"HTTP/1.1 %b Odd\r\nContent-Length: 2\r\n\r\n{}" % status)) as server:
        client = connect(server.port)
        answer = await (client.stream("/chat/completions", b"{}", patient) if streamed else ask(client, patient))
    assert isinstance(answer, Failure)
    assert answer.fault is Fault.GARBLED


@pytest.mark.parametrize("status", [200, 599])
async def test_every_status_that_http_knows_is_an_answer(connect: Connect, patient: Timeouts, status: int):
    async with serving(saying(b"HTTP/1.1 %d Odd\r\nContent-Length: 2\r\n\r\n{}" % status)) as server:
        answer = await ask(connect(server.port), patient)
    assert isinstance(answer, Answer)
    assert answer.status == status


async def test_an_answer_over_the_limit_is_too_large(connect: Connect, patient: Timeouts):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.answer(b"a" * 2000)
        assert await visit.gone()

    async with serving(handler) as server:
        assert fault(await ask(connect(server.port), patient, most=1999)) is Fault.TOO_LARGE
        assert body(await ask(connect(server.port), patient, most=2000)) == b"a" * 2000


async def test_an_endless_answer_is_too_large(connect: Connect, patient: Timeouts):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await visit.say(b"4000\r\n" + b"a" * 0x4000 + b"\r\n")

    async with serving(handler) as server:
        assert fault(await ask(connect(server.port), patient, most=MIB)) is Fault.TOO_LARGE


async def test_a_server_that_says_nothing_runs_out_of_time_and_loses_its_connection(connect: Connect):
    gone = asyncio.get_running_loop().create_future()

    async def handler(visit: Visit) -> None:
        await visit.request()
        gone.set_result(await visit.gone())

    async with serving(handler) as server:
        answer = await ask(connect(server.port), Timeouts(connect=5, first_byte=0.05, total=5))
        assert fault(answer) is Fault.TIMEOUT
        assert await gone


async def test_a_server_that_never_ends_its_answer_runs_out_of_time(connect: Connect):
    async def handler(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n")
        while True:
            await visit.say(b".")
            await asyncio.sleep(0.01)

    async with serving(handler) as server:
        answer = await ask(connect(server.port), Timeouts(connect=5, first_byte=5, total=0.1))
    assert fault(answer) is Fault.TIMEOUT


async def test_a_cancelled_call_closes_its_connection_at_once(connect: Connect, patient: Timeouts):
    asked, gone = asyncio.Event(), asyncio.Event()

    async def handler(visit: Visit) -> None:
        await visit.request()
        asked.set()
        if await visit.gone():
            gone.set()

    async with serving(handler) as server:
        call = asyncio.create_task(ask(connect(server.port), patient))
        await asked.wait()
        call.cancel()
        await asyncio.wait_for(gone.wait(), 60)
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_a_port_where_nobody_listens_is_unreachable(connect: Connect, patient: Timeouts):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert fault(await ask(connect(bound.getsockname()[1]), patient)) is Fault.UNREACHABLE


async def test_a_name_that_nobody_has_is_unreachable(connect: Connect, patient: Timeouts):
    client = connect(0, url="http://no-such-host.invalid:9/v1")
    assert fault(await ask(client, patient)) is Fault.UNREACHABLE


async def test_a_server_that_does_not_take_the_connection_in_time_is_unreachable(connect: Connect):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        port = deaf.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        answer = await ask(connect(port), Timeouts(connect=0.1, first_byte=5, total=5))
        for each in waiting:
            each.close()
    assert fault(answer) is Fault.UNREACHABLE


async def test_a_cancelled_call_is_over_while_it_still_connects(connect: Connect, patient: Timeouts):
    gone = asyncio.get_running_loop().create_future()

    async def handler(visit: Visit) -> None:
        await visit.reader.read(1)  # the start of a TLS handshake that gets no answer
        while await visit.reader.read(9999):
            pass
        gone.set_result(None)

    async with serving(handler) as server:
        call = asyncio.create_task(ask(connect(server.port, url=f"https://127.0.0.1:{server.port}/v1"), patient))
        while not server.visits:
            await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.wait_for(gone, 60)
        with pytest.raises(asyncio.CancelledError):
            await call


# --- TLS -----


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def certified(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def trusting(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


@pytest.mark.usefixtures("trusting")
async def test_a_server_with_a_trusted_certificate_is_asked_over_tls(
    connect: Connect, patient: Timeouts, certified: ssl.SSLContext
):
    sent = b"x" * (2 * MIB)
    async with serving(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", stay=True), ssl=certified) as server:
        client = connect(server.port, url=f"https://127.0.0.1:{server.port}/v1")
        for _ in range(3):
            assert body(await ask(client, patient, sent)) == b"ok"
    assert [seen[-len(sent) :] == sent for seen in server.seen] == [True] * 3


async def test_an_authority_that_its_own_setting_names_is_trusted(
    connect: Connect, patient: Timeouts, certified: ssl.SSLContext, authority: trustme.CA, tmp_path: Path
):
    authority.cert_pem.write_to_path(str(tmp_path / "own.pem"))
    async with serving(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", stay=True), ssl=certified) as server:
        url = f"https://127.0.0.1:{server.port}/v1"
        client = connect(server.port, url=url, ca_file=str(tmp_path / "own.pem"))
        assert body(await ask(client, patient)) == b"ok"
        (tmp_path / "own.pem").unlink()
        gone = connect(server.port, url=url, ca_file=str(tmp_path / "own.pem"))
        assert fault(await ask(gone, patient)) is Fault.UNREACHABLE


async def test_a_server_whose_certificate_nobody_vouches_for_is_unreachable(
    connect: Connect, patient: Timeouts, certified: ssl.SSLContext
):
    async with serving(saying(b"never"), ssl=certified) as server:
        client = connect(server.port, url=f"https://127.0.0.1:{server.port}/v1")
        assert fault(await ask(client, patient)) is Fault.UNREACHABLE
    assert server.seen == []


async def test_a_server_that_speaks_no_tls_is_unreachable(connect: Connect, patient: Timeouts):
    async def handler(visit: Visit) -> None:
        await visit.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(handler) as server:
        client = connect(server.port, url=f"https://127.0.0.1:{server.port}/v1")
        assert fault(await ask(client, patient)) is Fault.UNREACHABLE


# --- nothing can be smuggled -----


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/models HTTP/1.1\r\nx: y", {}),
        ("/a b", {}),
        ("http://elsewhere/", {}),
        ("/models", {"x-a": "1\r\nx-b: 2"}),
        ("/models", {"x-a\r\nx-b": "1"}),
        ("/models", {"Content-Length": "3"}),
        ("/models", {"transfer-encoding": "chunked"}),
    ],
)
async def test_what_would_break_out_of_its_line_is_not_sent(
    connect: Connect, patient: Timeouts, path: str, headers: dict[str, str]
):
    async with serving(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", stay=True)) as server:
        client = connect(server.port)
        with pytest.raises(ValueError, match=r"path|header"):
            await client.send(path, b"{}", patient, max_bytes=9, headers=headers)
    assert server.seen == []


async def test_a_key_with_a_line_end_is_not_sent(connect: Connect):
    with pytest.raises(ValueError, match="authorization"):
        connect(1, api_key="sk\r\nx: y")
