"""The rules for a server that OpenAI's clients can trust, by number: uploads, R1 to R8."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openai
import pytest

from bench.hornada import Hornada
from tests.openai import wire
from tests.openai.conftest import SMALL
from tests.openai.rules import DAY_S, ONE, PLAIN, PURPOSE, a_file
from tests.seed.guide import Guide, jsonl, mark, several


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "in chunks"])
@pytest.mark.parametrize("file_first", [False, True], ids=["purpose first", "file first"])
def test_r01_parts_in_any_order_with_or_without_a_length(
    server: Hornada, base: str, *, chunked: bool, file_first: bool
) -> None:
    parts = [PURPOSE, a_file()]
    answer = wire.upload(server, base, *(reversed(parts) if file_first else parts), chunked=chunked)
    assert (answer.status, answer.json["filename"], answer.json["purpose"]) == (200, "in.jsonl", "batch")
    content = wire.ask(server, "GET", f"{base}/files/{answer.json['id']}/content").body
    assert b"\r\n\r\n" + content + b"\r\n" in parts[1]


def test_r01_the_purpose_is_judged_wherever_it_stands(server: Hornada, base: str) -> None:
    for parts in ((a_file(), wire.part("purpose", b"vision")), (wire.part("purpose", b"vision"), a_file())):
        error = wire.upload(server, base, *parts).json["error"]
        assert (error["param"], error["code"]) == ("purpose", "invalid_purpose")
        assert ("'vision'" in error["message"], "'batch'" in error["message"]) == (True, True)
    answer = wire.upload(server, base, a_file())
    assert (answer.status, answer.json["error"]["code"]) == (400, "missing_required_parameter")


@pytest.mark.parametrize("spelling", ["expires_after[{}]", "expires_after.{}"])
def test_r02_both_spellings_of_expires_after(server: Hornada, base: str, spelling: str) -> None:
    policy = [
        wire.part(spelling.format(key), value) for key, value in (("anchor", b"created_at"), ("seconds", b"7200"))
    ]
    file = wire.upload(server, base, *policy, PURPOSE, a_file()).json
    assert file["expires_at"] - file["created_at"] == 7200


@ONE
@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        *((3599, "integer_below_min_value"), (2_592_001, "integer_above_max_value")),
        *((3600, None), (2_592_000, None), ("soon", "invalid_type")),
    ],
)
def test_r02_expires_after_has_bounds(server: Hornada, base: str, seconds: object, code: str | None) -> None:
    policy = [
        wire.part("expires_after[anchor]", b"created_at"),
        wire.part("expires_after[seconds]", str(seconds).encode()),
    ]
    answer = wire.upload(server, base, *policy, PURPOSE, a_file())
    if code is None:
        assert (answer.status, answer.json["expires_at"] - answer.json["created_at"]) == (200, seconds)
    else:
        assert (answer.status, answer.json["error"]["code"]) == (400, code)
        assert answer.json["error"]["param"] == "expires_after[seconds]"


@ONE
@pytest.mark.parametrize("name", ["upload", "unknown_file", "a.txt", "x.json", "q%22.jsonl", "año.csv"])
@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "text/csv"])
def test_r03_any_name_and_type_will_do(server: Hornada, base: str, name: str, kind: str) -> None:
    answer = wire.upload(server, base, PURPOSE, a_file(None, name, f"Content-Type: {kind}"))
    assert (answer.status, answer.json["filename"]) == (200, name)


def test_r03_an_empty_file_is_refused(server: Hornada, base: str) -> None:
    answer = wire.upload(server, base, PURPOSE, a_file(b""))
    assert (answer.status, answer.json["error"]["code"], answer.json["error"]["param"]) == (400, "empty_file", "file")


def test_r04_a_part_without_a_file_name_is_still_the_file(server: Hornada, base: str) -> None:
    data = jsonl(*several(1))
    answer = wire.upload(server, base, PURPOSE, a_file(data, None))
    assert (answer.status, answer.json["bytes"]) == (200, len(data))
    assert wire.ask(server, "GET", f"{base}/files/{answer.json['id']}/content").body == data


@ONE
def test_r04_one_field_for_each_byte_is_refused_and_says_what_to_send(server: Hornada, base: str) -> None:
    answer = wire.upload(server, base, PURPOSE, *(wire.part(f"file[{n}]", b"123") for n in range(1000)))
    assert (answer.status, answer.json["error"]["param"]) == (400, "file")
    assert "'file'" in answer.json["error"]["message"]
    headers = [f"X-{n}: {'x' * 1000}" for n in range(40)]
    assert wire.upload(server, base, PURPOSE, a_file(None, "a", *headers)).status == 400


@ONE
@pytest.mark.parametrize("told", [True, False], ids=["with a length", "in chunks"])
def test_r05_too_large_is_said_and_the_rest_is_read(small: Hornada, base: str, *, told: bool) -> None:
    body = wire.form(PURPOSE, a_file(b"x" * (32 * SMALL)))
    framing = ("Content-Length", str(len(body))) if told else ("Transfer-Encoding", "chunked")
    start = wire.head("POST", f"{base}/files", ("Content-Type", wire.FORM), framing)
    answer = wire.send(small, start, *([body] if told else wire.chunks(body, 100_000)))
    assert (answer.status, answer.json["error"]["code"]) == (413, "file_too_large")
    assert f"{SMALL:,}" in answer.json["error"]["message"]
    assert answer.headers["connection"] == "close"


@ONE
def test_r06_a_body_that_ends_early_leaves_nothing(server: Hornada, guide: Guide, base: str) -> None:
    before, data = blobs(server), mark().encode()
    body = wire.form(PURPOSE, a_file(data))
    with wire.connect(server) as connection:
        length = ("Content-Length", str(len(body) + 10))
        connection.sendall(wire.head("POST", f"{base}/files", ("Content-Type", wire.FORM), length) + body)
    while blobs(server) != before:
        pass
    assert all(file["bytes"] != len(data) for file in guide.call("GET", "/files?limit=5").json["data"])


def blobs(server: Hornada) -> list[Path]:
    return sorted(path for path in server.blobs.rglob("*") if path.is_file())


@PLAIN
def test_r07_a_file_is_processed_at_once_and_kept_for_30_days(sdk: openai.OpenAI) -> None:
    file = sdk.files.create(file=jsonl(*several(1)), purpose="batch")
    assert sdk.files.wait_for_processing(file.id, poll_interval=600).status == "processed"
    assert file.expires_at == file.created_at + 30 * DAY_S


@ONE
def test_r08_a_file_can_be_used_as_soon_as_it_is_answered(guide: Guide) -> None:
    def pair(_: int) -> int:
        file = guide.upload(jsonl(*several(1)))
        assert guide.call("GET", f"/files/{file['id']}").json == file
        created = guide.client.create(file["id"])
        assert guide.call("GET", f"/batches/{created.id}").json["input_file_id"] == file["id"]
        return created.status

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(pair, range(100))) == {200}
