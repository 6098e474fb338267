"""Downloads over a real socket."""

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Iterator

import pytest
from starlette.types import Message

from hornada.api.content import content
from hornada.core.file import File
from tests.api.wire import ANA, Answer, Wire, form, head, part, served

DATA = random.Random(3).randbytes(2 * 1024 * 1024 + 12_345)
SIZE = len(DATA)
SHA = hashlib.sha256(DATA).hexdigest()
TAG = f'"{SHA}"'


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with served(tmp_path_factory.mktemp("content")) as server:
        yield server


@pytest.fixture(scope="module")
def file(wire: Wire) -> File:
    return stored(wire, DATA)


def stored(wire: Wire, data: bytes, name: str = "in.jsonl") -> File:
    body = form(part("purpose", b"batch"), part("file", data, filename=name))
    assert wire.send(head(len(body)), body).status == 200
    assert (wire.stored[-1].org, wire.stored[-1].bytes) == (ANA.org, len(data))
    return wire.stored[-1]


def get(wire: Wire, file: File, method: str = "GET", **headers: str) -> Answer:
    lines = [f"{method} /files/{file.id}/content HTTP/1.1", "Host: test"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    with wire.connect() as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return Answer(connection, method)


def test_a_file_comes_back_whole_with_what_verifies_it(wire: Wire, file: File) -> None:
    answer = get(wire, file, Accept="application/binary", Accept_Encoding="gzip, deflate")
    assert (answer.status, answer.body) == (200, DATA)
    wanted = {
        "content-length": str(SIZE),
        "content-type": "application/jsonl; charset=utf-8",
        "accept-ranges": "bytes",
        "etag": TAG,
        "x-content-sha256": SHA,
        "content-disposition": 'attachment; filename="in.jsonl"',
        "cache-control": "private",
        "x-content-type-options": "nosniff",
        "x-request-id": "req_2",
    }
    assert answer.headers.items() >= wanted.items()
    assert "transfer-encoding" not in answer.headers
    assert "content-range" not in answer.headers


def test_a_connection_serves_one_download_after_another(wire: Wire, file: File) -> None:
    with wire.connect() as connection:
        for _ in range(3):
            connection.sendall(f"GET /files/{file.id}/content HTTP/1.1\r\nHost: test\r\n\r\n".encode())
            assert Answer(connection).body == DATA


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=5-9", 5, 9),
        ("bytes=262143-262144", 262_143, 262_144),
        ("bytes=100-", 100, SIZE - 1),
        ("bytes=0-", 0, SIZE - 1),
        ("bytes=-7", SIZE - 7, SIZE - 1),
        ("bytes=-99999999", 0, SIZE - 1),
        ("bytes=10-99999999999999999999", 10, SIZE - 1),
        (f"bytes={SIZE - 1}-{SIZE + 100}", SIZE - 1, SIZE - 1),
        ("Bytes = 3-4", 3, 4),
    ],
)
def test_one_range_is_answered_with_that_part(wire: Wire, file: File, asked: str, first: int, last: int) -> None:
    answer = get(wire, file, Range=asked)
    assert (answer.status, answer.body) == (206, DATA[first : last + 1])
    assert answer.headers["content-range"] == f"bytes {first}-{last}/{SIZE}"
    assert answer.headers["content-length"] == str(last - first + 1)
    assert (answer.headers["etag"], answer.headers["x-content-sha256"]) == (TAG, SHA)


@pytest.mark.parametrize("asked", [f"bytes={SIZE}-", f"bytes={SIZE + 5}-{SIZE + 9}", "bytes=-0", f"bytes={'9' * 19}-"])
def test_a_range_outside_the_file_is_refused_with_its_size(wire: Wire, file: File, asked: str) -> None:
    answer = get(wire, file, Range=asked)
    assert answer.refusal == (416, "range_not_satisfiable", "range")
    assert answer.headers["content-range"] == f"bytes */{SIZE}"


@pytest.mark.parametrize(
    "asked",
    ["bytes=0-1,5-6", "bytes=9-5", "bytes=-", "bytes=a-b", "lines=0-1", "bytes 0-1", "", "bytes=1 - 2"],
)
def test_several_ranges_or_nonsense_mean_the_whole_file(wire: Wire, file: File, asked: str) -> None:
    answer = get(wire, file, Range=asked)
    assert (answer.status, answer.body) == (200, DATA)


def test_an_interrupted_download_goes_on_where_it_stopped(wire: Wire, file: File) -> None:
    with wire.connect() as connection:
        connection.sendall(f"GET /files/{file.id}/content HTTP/1.1\r\nHost: test\r\n\r\n".encode())
        got = b""
        while len(got) < 500_000:
            got += connection.recv(65_536)
    begun = got.split(b"\r\n\r\n", 1)[1]
    rest = get(wire, file, Range=f"bytes={len(begun)}-", If_Range=TAG)
    assert rest.status == 206
    assert begun + rest.body == DATA


@pytest.mark.parametrize("condition", ['"other"', f"W/{TAG}", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_range_of_something_else_means_the_whole_file(wire: Wire, file: File, condition: str) -> None:
    answer = get(wire, file, Range="bytes=0-0", If_Range=condition)
    assert (answer.status, answer.body) == (200, DATA)


@pytest.mark.parametrize("condition", [TAG, f"W/{TAG}", f'"a", {TAG}', "*"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_the_client_has_is_not_sent_again(wire: Wire, file: File, condition: str, method: str) -> None:
    answer = get(wire, file, method, If_None_Match=condition, Range="bytes=0-0")
    assert (answer.status, answer.body) == (304, b"")
    assert answer.headers["etag"] == TAG


@pytest.mark.parametrize("condition", ['"a"', SHA, ""])
def test_another_tag_gets_the_file(wire: Wire, file: File, condition: str) -> None:
    assert get(wire, file, If_None_Match=condition).body == DATA


def test_head_tells_everything_but_the_bytes(wire: Wire, file: File) -> None:
    whole, told = get(wire, file), get(wire, file, "HEAD", Range="bytes=0-0")
    assert (told.status, told.body) == (200, b"")
    without = {"date"}
    assert {k: v for k, v in told.headers.items() if k not in without} == {
        k: v for k, v in whole.headers.items() if k not in without
    }


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ("año 1.jsonl", "attachment; filename=\"a_o 1.jsonl\"; filename*=UTF-8''a%C3%B1o%201.jsonl"),
        ('a"b;c=1.jsonl', "attachment; filename=\"a_b;c=1.jsonl\"; filename*=UTF-8''a%22b%3Bc%3D1.jsonl"),
        ("100%.jsonl", "attachment; filename=\"100_.jsonl\"; filename*=UTF-8''100%25.jsonl"),
        ("字.jsonl", "attachment; filename=\"_.jsonl\"; filename*=UTF-8''%E5%AD%97.jsonl"),
    ],
)
def test_no_name_breaks_the_head(wire: Wire, name: str, disposition: str) -> None:
    answer = get(wire, stored(wire, b"x", name.replace('"', '\\"')))
    assert (answer.status, answer.body) == (200, b"x")
    assert answer.headers["content-disposition"] == disposition


async def test_reading_stops_when_the_client_goes(file: File) -> None:
    gone, told, ended = asyncio.Event(), [], []

    async def endless(_file: File, _offset: int, _length: int) -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 1000
        finally:
            ended.append(True)

    async def receive() -> Message:
        if told:
            await gone.wait()
            return {"type": "http.disconnect"}
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        told.append(message["type"])
        if len(told) == 5:
            gone.set()
        await asyncio.sleep(0)

    await content({"method": "GET", "headers": []}, receive, send, file, endless, (b"x-sha",), "req_1")
    assert 5 <= len(told) < 10
    assert ended == [True]


def test_a_file_whose_bytes_are_gone_is_an_error_before_any_byte(wire: Wire) -> None:
    lost = stored(wire, b"lost")
    (wire.folder / "blobs" / lost.object).unlink()
    assert get(wire, lost).refusal[1] == "service_unavailable"


def test_a_file_that_became_short_ends_short_of_its_length(wire: Wire) -> None:
    cut = stored(wire, DATA)
    with (wire.folder / "blobs" / cut.object).open("r+b") as stored_file:
        stored_file.truncate(SIZE - 1)
    with pytest.raises(Exception, match="IncompleteRead"):
        get(wire, cut)
