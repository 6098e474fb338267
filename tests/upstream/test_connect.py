"""Which client a server gets, and which models it says it runs."""

import pytest

from hornada.core.catalog import Server
from hornada.upstream import connect
from hornada.upstream.discovery import models
from hornada.upstream.general import General
from hornada.upstream.lean import Lean
from hornada.upstream.protocol import Answer, Failure, Timeouts
from tests.upstream.conftest import Connect, Visit, serving


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("url", ["http://10.0.0.1:8000/v1", "https://models.example/v1", "http://[::1]:9/v1"])
async def test_a_plain_address_gets_the_lean_client(url: str):
    assert isinstance(connect(Server(url=url)), Lean)


async def test_an_address_behind_a_proxy_gets_the_general_client(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert isinstance(connect(Server(url="https://models.example/v1")), General)
    assert isinstance(connect(Server(url="https://inside.example/v1")), Lean)
    assert isinstance(connect(Server(url="http://models.example/v1")), Lean)


async def test_an_address_with_a_password_gets_the_general_client_which_sends_it():
    async with serving(listing(b'{"data":[]}')) as server:
        client = connect(Server(url=f"http://me:secret@127.0.0.1:{server.port}/v1"))
        assert isinstance(client, General)
        assert await models(client) == []
        await client.close()
    assert b"\r\nauthorization: basic bwu6c2vjcmv0\r\n" in server.seen[0].lower()


@pytest.mark.parametrize("url", ["ftp://x/v1", "models.example/v1", "http:///v1", ""])
async def test_what_is_no_http_address_is_refused(url: str):
    with pytest.raises(ValueError, match="http"):
        connect(Server(url=url))


async def test_a_proxy_is_asked_for_the_whole_address(patient: Timeouts):
    async with serving(listing(b"{}")) as proxy:
        client = General(Server(url="http://models.invalid/v1"), f"http://127.0.0.1:{proxy.port}")
        answer = await client.send("/embeddings", b"{}", patient, max_bytes=9)
        await client.close()
    assert isinstance(answer, Answer)
    assert proxy.seen[0].startswith(b"POST http://models.invalid/v1/embeddings HTTP/1.1\r\n")


def listing(body: bytes, status: str = "200 OK"):
    async def handler(visit: Visit) -> None:
        while await visit.request() is not None:
            await visit.answer(body, status=status)

    return handler


async def test_the_models_of_a_server_are_listed_once_each_in_its_order(connect: Connect):
    listed = b'{"object":"list","data":[{"id":"b","object":"model"},{"id":"a","max_model_len":4096},{"id":"b"}]}'
    async with serving(listing(listed)) as server:
        assert await models(connect(server.port)) == ["b", "a"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"<html>", "200 OK"),
        (b'{"data":[{"name":"a"}]}', "200 OK"),
        (b'{"data":[{"id":"\xff"}]}', "200 OK"),
        (b"[" * 5000, "200 OK"),
        (b'{"error":{"message":"Loading model"}}', "503 Busy"),
    ],
)
async def test_a_server_that_lists_no_models_is_a_failure(connect: Connect, body: bytes, status: str):
    async with serving(listing(body, status)) as server:
        assert isinstance(await models(connect(server.port)), Failure)
