"""Uploads over a real socket, in the byte layouts that real clients send."""

import gzip
import random
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.api.wire import LIMIT, Answer, Wire, chunked, form, head, part, served

LINE = b'{"custom_id": "doc-1", "body": {"model": "m"}}\n'
BIG = random.Random(7).randbytes(2 * 1024 * 1024) + b"\r\n--b0undar"  # nearly a boundary at its end
PURPOSE = part("purpose", b"batch")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with served(tmp_path_factory.mktemp("uploads")) as wire:
        yield wire


@pytest.fixture
def wire(server: Wire) -> Iterator[Wire]:
    before = server.left_on_disk
    server.stored.clear()
    server.repeated.clear()
    yield server
    assert set(server.left_on_disk) == set(before) | {file.object for file in server.stored}


def post(wire: Wire, *parts: bytes, headers: tuple[bytes, ...] = ()) -> Answer:
    body = form(*parts)
    return wire.send(head(len(body), *headers), body)


def eventually(condition: Callable[[], bool]) -> None:
    """Waits for something that another thread is about to do."""
    while not condition():  # the suite's timeout is the limit
        pass


def test_openai_python_sends_the_purpose_first_and_a_length(wire: Wire) -> None:
    boundary = b"0123456789abcdef0123456789abcdef"
    file = part("file", BIG, b"Content-Type: application/octet-stream", filename="entrada.jsonl")
    body = form(PURPOSE, file, boundary=boundary)
    answer = wire.send(head(len(body), b"Accept-Encoding: gzip, deflate", boundary=boundary), body)
    assert (answer.status, answer.json["filename"], answer.json["bytes"]) == (200, "entrada.jsonl", len(BIG))
    assert wire.bytes_of(wire.stored[0]) == BIG


def test_openai_node_sends_chunks_and_the_file_first(wire: Wire) -> None:
    boundary = b"openai-7Rk1TZ0jV8Wb2c"
    file = part("file", BIG, b"Content-Type: application/octet-stream", filename="entrada.jsonl")
    answer = wire.send(head(None, boundary=boundary), chunked(form(file, PURPOSE, boundary=boundary)))
    assert answer.status == 200
    assert wire.bytes_of(wire.stored[0]) == BIG


def test_curl_waits_for_the_server_before_it_sends_a_big_file(wire: Wire) -> None:
    boundary = b"------------------------0123456789abcdef"
    file = part("file", BIG, b"Content-Type: application/octet-stream", filename="entrada.jsonl")
    body = form(PURPOSE, file, boundary=boundary)
    with wire.connect() as connection:
        connection.sendall(head(len(body), b"Expect: 100-continue", b"Accept: */*", boundary=boundary))
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert Answer(connection).status == 200
    assert wire.bytes_of(wire.stored[0]) == BIG


def test_bytes_arrive_one_by_one(wire: Wire) -> None:
    body = form(PURPOSE, part("file", LINE, filename="a.jsonl"))
    with wire.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(head(len(body)))
        for byte in body:
            connection.sendall(bytes([byte]))
        assert Answer(connection).status == 200
    assert wire.bytes_of(wire.stored[0]) == LINE


def test_a_connection_serves_one_upload_after_another(wire: Wire) -> None:
    with wire.connect() as connection:
        for content in (LINE, LINE * 2):
            body = form(PURPOSE, part("file", content, filename="a.jsonl"))
            connection.sendall(head(len(body)) + body)
            assert Answer(connection).status == 200
    assert [file.bytes for file in wire.stored] == [len(LINE), 2 * len(LINE)]


@pytest.mark.parametrize(
    "content", [b"--b0undary", b"\r\n", b"\n--b0undary--\r\n", b"\r" * 1000, b"\r\n--b0undar", b"\x00"]
)
def test_content_that_looks_like_the_form_stays_content(wire: Wire, content: bytes) -> None:
    assert post(wire, PURPOSE, part("file", content, filename="a.jsonl")).status == 200
    assert wire.bytes_of(wire.stored[0]) == content


def test_a_file_without_a_name_is_still_the_file(wire: Wire) -> None:
    answer = post(wire, PURPOSE, part("file", LINE))
    assert (answer.status, answer.json["filename"]) == (200, "upload")
    assert wire.bytes_of(wire.stored[0]) == LINE


@pytest.mark.parametrize("kind", [b"application/json", b"text/csv; charset=x", b"nonsense"])
def test_the_type_of_the_part_does_not_matter(wire: Wire, kind: bytes) -> None:
    assert (
        post(wire, PURPOSE, part("file", LINE, b"X-More: 1", b"Content-Type: " + kind, filename="a.txt")).status == 200
    )


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("año ñandú 字.jsonl", "año ñandú 字.jsonl"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.jsonl", "a.jsonl"),
        ("a\tb\x00\x1b[31mc\u2028.jsonl", "ab[31mc.jsonl"),
        ("%22quoted%22%0D%0A.jsonl", "%22quoted%22%0D%0A.jsonl"),
        ("gpj.\u202elnosj", "gpj.lnosj"),
        ("x" * 300, "x" * 255),
        ("..", "upload"),
        ("a/", "upload"),
        ("", "upload"),
    ],
)
def test_a_name_is_only_for_show(wire: Wire, sent: str, shown: str) -> None:
    answer = post(wire, PURPOSE, part("file", LINE, filename=sent))
    assert (answer.status, answer.json["filename"]) == (200, shown)


def test_a_name_in_the_extended_spelling_alone_is_read(wire: Wire) -> None:
    head_ = b"Content-Disposition: form-data; name=\"file\"; filename*=utf-8''a%C3%B1o.jsonl\r\n\r\n"
    assert post(wire, PURPOSE, head_ + LINE).json["filename"] == "año.jsonl"


@pytest.mark.parametrize(
    "names", ["expires_after[anchor] expires_after[seconds]", "expires_after.anchor expires_after.seconds"]
)
def test_a_lifetime_is_taken_in_both_spellings(wire: Wire, names: str) -> None:
    anchor, seconds = names.split()
    assert post(wire, part(anchor, b"created_at"), part(seconds, b"3600"), part("file", LINE), PURPOSE).status == 200
    file = wire.stored[0]
    assert file.expires_at is not None
    assert file.expires_at - file.created_at == 3600 * 1_000_000


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"anchor": b"created_at"}, "missing_required_parameter", "expires_after[seconds]"),
        ({"seconds": b"3600"}, "missing_required_parameter", "expires_after[anchor]"),
        ({"anchor": b"now", "seconds": b"3600"}, "invalid_value", "expires_after[anchor]"),
        ({"anchor": b"created_at", "seconds": b"3599"}, "integer_below_min_value", "expires_after[seconds]"),
        ({"anchor": b"created_at", "seconds": b"-1"}, "integer_below_min_value", "expires_after[seconds]"),
        ({"anchor": b"created_at", "seconds": b"2592001"}, "integer_above_max_value", "expires_after[seconds]"),
        ({"anchor": b"created_at", "seconds": b"9" * 5000}, "integer_above_max_value", "expires_after[seconds]"),
        ({"anchor": b"created_at", "seconds": b"1e4"}, "invalid_type", "expires_after[seconds]"),
        ({"anchor": b"created_at", "seconds": "٣٦٠٠".encode()}, "invalid_type", "expires_after[seconds]"),
        ({"anchor": b"created_at", "seconds": b""}, "invalid_type", "expires_after[seconds]"),
    ],
)
def test_a_lifetime_that_is_wrong_is_refused_by_name(
    wire: Wire, fields: dict[str, bytes], code: str, param: str
) -> None:
    policy = [part(f"expires_after[{key}]", value) for key, value in fields.items()]
    assert post(wire, PURPOSE, *policy, part("file", LINE)).refusal == (400, code, param)


def test_fields_that_nobody_knows_are_ignored(wire: Wire) -> None:
    more = [
        part("list[]", b"a"),
        part("list[]", b"b"),
        part("flag", b"true"),
        part("nested[a][b]", b"1"),
        part("", b""),
    ]
    assert post(wire, *more, PURPOSE, part("file", LINE)).status == 200


@pytest.mark.parametrize(
    ("parts", "code", "param"),
    [
        ([PURPOSE], "missing_required_parameter", "file"),
        ([part("file", LINE)], "missing_required_parameter", "purpose"),
        ([part("purpose", b"assistants"), part("file", LINE)], "invalid_purpose", "purpose"),
        ([part("file", LINE), part("purpose", b"\xff\x00")], "invalid_purpose", "purpose"),
        ([PURPOSE, part("file", LINE), part("file", LINE)], "invalid_multipart", "file"),
        ([PURPOSE, part("file", b"")], "empty_file", "file"),
        ([PURPOSE, part("file", gzip.compress(LINE))], "invalid_file_format", "file"),
        ([PURPOSE, part("file", gzip.compress(BIG))], "invalid_file_format", "file"),
        ([PURPOSE, *[part(f"file[{i}]", b"123") for i in range(1000)]], "invalid_multipart", "file"),
        ([part("purpose", b"b" * 65_537), part("file", LINE)], "invalid_multipart", "purpose"),
        ([PURPOSE, part("file", LINE, b"X-Long: " + b"x" * 16_384)], "invalid_multipart", "file"),
        ([PURPOSE, part("file", LINE, *[b"X: y"] * 9000)], "invalid_multipart", "file"),
        ([PURPOSE, part("file", LINE, b"Content-Transfer-Encoding: base64")], "invalid_multipart", "file"),
        ([PURPOSE, b"X: y\r\n\r\nvalue"], "invalid_multipart", "file"),
        ([PURPOSE, b"no header at all\r\n\r\nvalue"], "invalid_multipart", "file"),
    ],
)
def test_a_form_that_is_wrong_is_refused_by_name(wire: Wire, parts: list[bytes], code: str, param: str) -> None:
    answer = post(wire, *parts)
    assert answer.refusal == (400, code, param)
    assert answer.headers["connection"] == "close"


def test_thirty_two_parts_are_not_too_many(wire: Wire) -> None:
    assert post(wire, PURPOSE, *[part(f"more{i}", b"") for i in range(30)], part("file", LINE)).status == 200


@pytest.mark.parametrize(
    "content_type",
    [
        b"application/json",
        b"",
        b"multipart/form-data",
        b"multipart/form-data; boundary=",
        b'multipart/form-data; boundary=""',
        b"multipart/mixed; boundary=b0undary",
        b"multipart/form-data; boundary=" + b"x" * 257,
    ],
)
def test_a_body_that_is_no_form_is_refused(wire: Wire, content_type: bytes) -> None:
    answer = post(wire, PURPOSE, part("file", LINE), headers=(b"Content-Type: " + content_type,))
    assert answer.refusal == (400, "invalid_multipart", "file")


@pytest.mark.parametrize("coding", [b"gzip", b"zstd", b"br, gzip"])
def test_an_encoded_body_is_refused(wire: Wire, coding: bytes) -> None:
    answer = post(wire, PURPOSE, part("file", LINE), headers=(b"Content-Encoding: " + coding,))
    assert answer.refusal == (415, "unsupported_encoding", "file")


@pytest.mark.parametrize(
    "body", [b"", b"--b0undary", b"--other\r\n", b"nonsense", form(PURPOSE, part("file", LINE))[:-6]]
)
def test_a_form_that_does_not_end_is_refused(wire: Wire, body: bytes) -> None:
    assert wire.send(head(len(body)), body).refusal == (400, "invalid_multipart", "file")


@pytest.mark.parametrize("extra", [b"\r\n" * 1_500_000, b"x" * 3_000_000])
def test_bytes_beside_the_file_have_a_bound(wire: Wire, extra: bytes) -> None:
    body = form(PURPOSE, part("file", LINE)) + extra
    assert wire.send(head(len(body)), body).refusal == (400, "invalid_multipart", "file")


def test_a_file_of_exactly_the_limit_is_stored(wire: Wire) -> None:
    assert post(wire, PURPOSE, part("file", b"x" * LIMIT)).status == 200
    assert wire.stored[0].bytes == LIMIT


@pytest.mark.parametrize("more", [1, 64 * 1024 * 1024])
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_file_over_the_limit_is_refused_after_the_client_has_sent_it_all(wire: Wire, more: int, framing: str) -> None:
    body = form(part("file", b"x" * (LIMIT + more)), PURPOSE)
    sent = head(len(body)) + body if framing == "length" else head(None) + chunked(body)
    answer = wire.send(sent)
    assert answer.refusal == (413, "file_too_large", "file")
    assert answer.headers["connection"] == "close"


def test_a_file_that_says_it_is_too_large_is_refused_before_it_is_sent(wire: Wire) -> None:
    answer = wire.send(head(10**10, b"Expect: 100-continue"))
    assert answer.refusal == (413, "file_too_large", "file")
    assert "10,000,000,000 bytes were sent, the limit is 3,145,728 bytes" in answer.json["message"]


def test_draining_has_a_bound(tmp_path: Path) -> None:
    with served(tmp_path, drain_bytes=1_000_000) as wire, wire.connect() as connection:
        connection.sendall(head(10**12))
        connection.sendall(b"x" * 1_000_000)
        assert Answer(connection).status == 413


def test_draining_ends_after_a_while(tmp_path: Path) -> None:
    with served(tmp_path, drain_s=0.05) as wire:
        assert wire.send(head(10**12), b"x").status == 413


def test_a_client_that_falls_silent_is_let_go(tmp_path: Path) -> None:
    with served(tmp_path, idle_s=0.05) as wire:
        answer = wire.send(head(1000), form(PURPOSE, part("file", LINE))[:60])
        assert answer.refusal == (400, "invalid_multipart", "file")
        assert wire.left_on_disk == []


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_client_that_hangs_up_leaves_nothing(wire: Wire, framing: str) -> None:
    body = form(PURPOSE, part("file", BIG, filename="a.jsonl"))
    with wire.connect() as connection:
        connection.sendall(head(len(body)) + body[:-1] if framing == "length" else head(None) + chunked(body)[:-3])
        eventually(lambda: wire.calls_under_way == 1)
    eventually(lambda: wire.calls_under_way == 0)
    assert wire.stored == []


def test_an_sdks_retry_answers_the_first_file(wire: Wire) -> None:
    counts = (b"0", b"1", b"x")
    file = part("file", b"sent again")
    first, again, other = (post(wire, PURPOSE, file, headers=(b"x-stainless-retry-count: " + n,)) for n in counts)
    assert wire.repeated == [False, True, False]
    assert first.json["id"] == again.json["id"] != other.json["id"]


def test_an_idempotency_key_answers_the_first_file(wire: Wire) -> None:
    key = (b"Idempotency-Key: k1",)
    first, again = (post(wire, PURPOSE, part("file", LINE), headers=key) for _ in range(2))
    assert first.json["id"] == again.json["id"]
    assert post(wire, PURPOSE, part("file", b"other"), headers=key).refusal[1] == "idempotency_key_reused"
    long = (b"Idempotency-Key: " + b"k" * 256,)
    assert post(wire, PURPOSE, part("file", LINE), headers=long).refusal[1] == "string_above_max_length"
