"""TLS and calls from other sites' pages, on a real server."""

import asyncio
import json
import logging
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import pytest
import trustme
import uvicorn
from starlette.types import Receive, Scope, Send

from bench.hornada import KEY, PROGRAM, settings
from bench.process import Process, free_port
from hornada.service.edge import Bounded, Renewal

BEARER = {"authorization": f"Bearer {KEY}"}


def issued(authority: trustme.CA, folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, in files that may be there already."""
    made = authority.issue_cert("127.0.0.1")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(b"".join(each.bytes() for each in made.cert_chain_pems))
    key.write_bytes(made.private_key_pem.bytes())
    return certificate, key


def serving(folder: Path, table: str, port: int) -> Process:
    """A server with these lines in its ``[server]``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hornada.toml").write_text(f"[server]\nport = {port}\n{table}\n{settings([])}")
    command = [PROGRAM, "serve", "--config", folder / "hornada.toml", "--data", folder / "data"]
    process = Process(command, folder / "server.log")
    process.until(lambda: "Hornada listens on" in process.tail(), 30)
    return process


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def secure(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """A server that speaks TLS: its port and its folder."""
    folder, port = tmp_path_factory.mktemp("secure"), free_port()
    certificate, key = issued(authority, folder)
    with serving(folder, f'tls_certificate = "{certificate}"\ntls_key = "{key}"', port):
        yield port, folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server that pages of one other site may call: its port."""
    port = free_port()
    table = 'cors_origins = ["https://app.example.com"]'
    with serving(tmp_path_factory.mktemp("shared"), table, port):
        yield port


def call(port: int, method: str, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, None, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def test_a_server_with_a_certificate_speaks_tls(secure: tuple[int, Path], authority: trustme.CA) -> None:
    port, _ = secure
    context = ssl.create_default_context()
    authority.configure_trust(context)
    connection = HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
    connection.request("GET", "/v1/models", headers=BEARER)
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["data"]) == (200, [])
    assert connection.sock.version() in {"TLSv1.2", "TLSv1.3"}
    connection.close()


def test_the_address_that_is_printed_says_so(secure: tuple[int, Path]) -> None:
    port, folder = secure
    assert f"Hornada listens on https://127.0.0.1:{port}\n" in (folder / "server.log").read_text()


def test_an_admin_command_finds_the_server_by_its_configuration(secure: tuple[int, Path]) -> None:
    _, folder = secure
    command = [PROGRAM, "admin", "org", "list", "--config", folder / "hornada.toml", "--key", "sk-nobody"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert "invalid_api_key" in run.stderr  # it was reached over TLS, and asked for the operator's key


def test_a_certificate_renewed_in_its_place_is_what_new_connections_get(tmp_path: Path, authority: trustme.CA) -> None:
    certificate, key = issued(authority, tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    before = shown(context, authority)
    renewal = Renewal(context, str(certificate), str(key))
    renew(renewal)
    assert shown(context, authority) == before
    issued(authority, tmp_path)
    renew(renewal)
    assert shown(context, authority) != before


def test_a_renewed_certificate_that_is_wrong_changes_nothing(
    tmp_path: Path, authority: trustme.CA, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = issued(authority, tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    before, renewal = shown(context, authority), Renewal(context, str(certificate), str(key))
    certificate.write_text("half of a")
    with caplog.at_level(logging.ERROR):
        renew(renewal)
    assert "the one before stays" in caplog.text
    assert shown(context, authority) == before
    certificate.unlink()
    renew(renewal)
    assert shown(context, authority) == before


def renew(renewal: Renewal) -> None:
    assert asyncio.run(renewal.once()) is False


def shown(context: ssl.SSLContext, authority: trustme.CA) -> bytes:
    """The certificate that a client of this context is shown."""
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(back, there, server_hostname="127.0.0.1")
    server = context.wrap_bio(there, back, server_side=True)
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return client.getpeercert(binary_form=True) or b""


def test_the_page_of_a_listed_site_may_call_and_read_every_header(shared: int) -> None:
    status, headers = call(shared, "GET", "/v1/models", {**BEARER, "origin": "https://app.example.com"})
    assert (status, headers["access-control-allow-origin"]) == (200, "https://app.example.com")
    assert headers["access-control-expose-headers"] == "*"
    assert "access-control-allow-credentials" not in headers
    assert headers["vary"] == "Origin"


def test_its_browser_is_told_before_the_call(shared: int) -> None:
    asked = {
        "origin": "https://app.example.com",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,idempotency-key",
    }
    status, headers = call(shared, "OPTIONS", "/v1/files", asked)
    assert (status, headers["access-control-allow-origin"]) == (200, "https://app.example.com")
    assert "POST" in headers["access-control-allow-methods"]
    assert "idempotency-key" in headers["access-control-allow-headers"]


def test_a_refusal_can_be_read_by_the_page_too(shared: int) -> None:
    status, headers = call(shared, "GET", "/v1/models", {"origin": "https://app.example.com"})
    assert (status, headers["access-control-allow-origin"]) == (401, "https://app.example.com")


def test_the_page_of_another_site_may_not(shared: int) -> None:
    status, headers = call(shared, "GET", "/v1/models", {**BEARER, "origin": "https://evil.example.com"})
    assert status == 200
    assert "access-control-allow-origin" not in headers


def test_without_the_setting_no_page_may(secure: tuple[int, Path], tmp_path: Path) -> None:
    port = free_port()
    with serving(tmp_path, "", port):
        _, headers = call(port, "GET", "/v1/models", {**BEARER, "origin": "https://app.example.com"})
    assert not [name for name in headers if name.startswith("access-control")]


def talk(port: int, *pieces: bytes) -> bytes:
    """What a server answers to bytes, sent as long as it takes them."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        with suppress(OSError):
            for piece in pieces:
                connection.sendall(piece)
        with suppress(OSError):
            return b"".join(iter(lambda: connection.recv(65536), b""))
    return b""


CLOSE = b"host: x\r\nconnection: close\r\n"


@pytest.mark.parametrize(
    "endless",
    [
        b"x: " + b"y" * 1_000_000,
        b"a: b\r\n" * 100_000,
        b"transfer-encoding: chunked\r\n\r\n0\r\nx: " + b"y" * 1_000_000,
    ],
    ids=["a header", "headers", "a trailer"],
)
def test_a_head_that_never_ends_is_cut_off(shared: int, endless: bytes) -> None:
    with socket.create_connection(("127.0.0.1", shared), timeout=60) as connection, pytest.raises(ConnectionError):
        connection.sendall(b"POST /v1/models HTTP/1.1\r\n" + CLOSE + endless)
        for _ in range(200):
            connection.sendall(b"y" * 1_000_000)
    assert call(shared, "GET", "/healthz", {})[0] == 200


def test_who_sends_too_long_a_head_is_told_so(shared: int) -> None:
    answer = talk(shared, b"GET /healthz HTTP/1.1\r\nx: ", *[b"y" * 50_000] * 20)
    assert answer.startswith(b"HTTP/1.1 400 ") or not answer  # what is still being sent may reset it
    assert call(shared, "GET", "/healthz", {"x": "y" * 50_000})[0] == 200


def test_a_long_body_is_no_long_head(shared: int) -> None:
    asked = b"POST /v1/batches/validate?endpoint=/v1/nothing HTTP/1.1\r\nauthorization: Bearer %b\r\n" % KEY.encode()
    pieces = (b"64\r\n" + b"x" * 100 + b"\r\n") * 10_000
    chunked = asked + CLOSE + b"transfer-encoding: chunked\r\n\r\n"
    assert b'"param":"endpoint"' in talk(shared, chunked, pieces, b"0\r\nx: y\r\n\r\n")
    assert b'"param":"endpoint"' in talk(shared, asked + CLOSE + b"content-length: 5000000\r\n\r\n", b"x" * 5_000_000)


class Hasty(Bounded):
    """The protocol with less time; how much of it tests cannot wait for."""

    head_s = 0.3
    body_s = 0.3


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the length of the body, once that has come; on ``/slow`` it first does not take it for a second."""
    if scope["path"] == "/slow":
        await asyncio.sleep(1)
    size, more = 0, scope["path"] != "/unread"
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    body = b"%d" % size
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def hasty() -> Iterator[int]:
    """The port of a server whose clients have three tenths of a second."""
    config = uvicorn.Config(echo, http=Hasty, lifespan="off", ws="none", log_config=None, loop="uvloop")
    server, listener = uvicorn.Server(config), socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(20)
    listener.close()


def drip(port: int, whole: bytes, piece: bytes) -> bytes:
    """What a server answers to ``whole`` and then a piece every twentieth of a second, until it ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=0.05) as connection:
        connection.sendall(whole)
        got, end = b"", time.monotonic() + 30
        while time.monotonic() < end:
            try:
                new = connection.recv(65536)
            except TimeoutError:
                with suppress(OSError):
                    connection.sendall(piece)
                continue
            except ConnectionError:
                return got
            if not new:
                return got
            got += new
    raise AssertionError("the connection is still open")


ASK = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: "


def test_a_connection_on_which_nothing_comes_is_closed_without_a_word(hasty: int) -> None:
    assert drip(hasty, b"", b"") == b""


@pytest.mark.parametrize("piece", [b"x: y\r\n", b"y", b""], ids=["headers", "a header", "nothing"])
def test_a_head_that_comes_too_slowly_is_refused(hasty: int, piece: bytes) -> None:
    answer = drip(hasty, b"GET / HTTP/1.1\r\nx: ", piece)
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b'"message":"The head of a call must be whole after 0.3 seconds."' in answer


@pytest.mark.parametrize(
    ("begun", "piece"), [(b"", b"\r\n"), (b"GET / HTTP/1.1\r\nx: ", b"y")], ids=["empty lines", "a header"]
)
def test_so_is_the_second_of_a_connection(hasty: int, begun: bytes, piece: bytes) -> None:
    answer = drip(hasty, ASK + b"2\r\n\r\nok" + begun, piece)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\n\r\n2HTTP/1.1 408 Request Timeout\r\n" in answer


@pytest.mark.parametrize("head", [b"content-length: 1000000\r\n\r\n", b"transfer-encoding: chunked\r\n\r\nfffff\r\n"])
def test_a_body_that_comes_too_slowly_is_refused(hasty: int, head: bytes) -> None:
    answer = drip(hasty, b"POST / HTTP/1.1\r\nhost: x\r\n" + head, b"x")
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b'"message":"A body must bring 32768 bytes in 0.3 seconds, or end."' in answer


def test_who_has_his_answer_and_goes_on_sending_is_let_go(hasty: int) -> None:
    answer = drip(hasty, b"POST /unread HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n", b"x")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"408" not in answer


def test_what_is_wrong_behind_a_call_under_way_is_not_told_as_its_answer(hasty: int) -> None:
    behind = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nno size\r\n"
    assert drip(hasty, b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n" + behind, b"") == b""


def hears(connection: socket.socket, end: bytes) -> None:
    """Reads an answer, which may come in pieces, until it ends so."""
    answer = b""
    while not answer.endswith(end):
        answer += (new := connection.recv(1000))
        assert new, answer


def test_who_has_his_answer_before_his_body_is_whole_is_told_nothing_more(hasty: int) -> None:
    with socket.create_connection(("127.0.0.1", hasty), timeout=60) as connection:
        connection.sendall(b"POST /unread HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n")
        hears(connection, b"\r\n\r\n0")
        connection.sendall(b"x" * 10)
        assert connection.recv(1000) == b""


def test_a_body_that_comes_steadily_may_take_long(monkeypatch: pytest.MonkeyPatch, hasty: int) -> None:
    monkeypatch.setattr(Hasty, "body_s", 3)
    with socket.create_connection(("127.0.0.1", hasty), timeout=60) as connection:
        connection.sendall(ASK + b"80000\r\n\r\n" + b"x" * 40_000)
        time.sleep(3.2)  # one stretch is over, the next one has begun
        connection.sendall(b"x" * 40_000)
        hears(connection, b"\r\n\r\n80000")


def test_a_client_does_not_pay_for_a_slow_server(hasty: int) -> None:
    size = 1_000_000
    with socket.create_connection(("127.0.0.1", hasty), timeout=60) as connection:
        connection.sendall(b"POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size + b"x" * size)
        hears(connection, b"\r\n\r\n%d" % size)


def test_a_call_that_is_answered_late_is_not_cut_off(hasty: int) -> None:
    with socket.create_connection(("127.0.0.1", hasty), timeout=60) as connection:
        connection.sendall(b"POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nok")
        hears(connection, b"\r\n\r\n2")
