"""OpenAI's Uploads API in every dialect, over a real process."""

import base64
import hashlib
import http.client
from collections.abc import Callable
from pathlib import Path

import openai
import pytest

from bench.client import Answer, granted
from bench.hornada import Hornada
from tests.openai.conftest import SMALL, opened
from tests.seed.conftest import Serve
from tests.seed.guide import CHAT, Guide, Json, jsonl, several

BOUNDARY = "part7MA4YWxk"
ONE = pytest.mark.parametrize("base", ["/v1"])


def about(data: bytes, **more: object) -> Json:
    return {"bytes": len(data), "filename": "in.jsonl", "mime_type": "application/jsonl", "purpose": "batch", **more}


def send(guide: Guide, upload: str, data: bytes, *, name: str = "data", filename: str = '; filename="x"') -> Answer:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{filename}\r\n\r\n'.encode()
    body = head + data + f"\r\n--{BOUNDARY}--\r\n".encode()
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    return guide.call("POST", f"/uploads/{upload}/parts", body, kind)


def begin(guide: Guide, data: bytes, **more: object) -> Json:
    return granted(guide.call("POST", "/uploads", about(data, **more)), "upload")


def part(guide: Guide, upload: str, data: bytes) -> str:
    return str(granted(send(guide, upload, data), "part")["id"])


def complete(guide: Guide, upload: str, *parts: str, **more: object) -> Answer:
    return guide.call("POST", f"/uploads/{upload}/complete", {"part_ids": list(parts), **more})


def test_the_sdk_sends_a_file_in_chunks_and_a_batch_runs_on_it(
    sdk: openai.OpenAI, guide: Guide, tmp_path: Path
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(jsonl(*several(40)))
    upload = sdk.uploads.upload_file_chunked(file=path, mime_type="application/jsonl", purpose="batch", part_size=1000)
    assert (upload.object, upload.status, upload.bytes) == ("upload", "completed", path.stat().st_size)
    assert upload.file is not None
    assert (upload.file.filename, upload.file.purpose, upload.file.status) == ("in.jsonl", "batch", "processed")
    assert sdk.files.content(upload.file.id).read() == path.read_bytes()
    ended = guide.end(guide.create(upload.file.id, CHAT))
    assert ended.batch["request_counts"] == {"total": 40, "completed": 40, "failed": 0}


def test_every_call_by_itself(sdk: openai.OpenAI, guide: Guide) -> None:
    data = jsonl(*several(2))
    upload = sdk.uploads.create(**about(data, expires_after={"anchor": "created_at", "seconds": 3600}))
    assert (upload.status, upload.file, upload.expires_at - upload.created_at) == ("pending", None, 3600)
    second, first = (sdk.uploads.parts.create(upload.id, data=piece) for piece in (data[50:], data[:50]))
    assert (first.object, first.upload_id) == ("upload.part", upload.id)
    digest = hashlib.md5(data, usedforsecurity=False)
    ended = sdk.uploads.complete(upload.id, part_ids=[first.id, second.id], md5=digest.hexdigest())
    assert ended.file is not None
    assert ended.file.expires_at == ended.file.created_at + 3600
    assert sdk.files.content(ended.file.id).read() == data
    assert sdk.uploads.cancel(sdk.uploads.create(**about(data)).id).status == "cancelled"
    listed = guide.call("GET", f"/files/{ended.file.id}").json
    assert listed["id"] == ended.file.id


@ONE
def test_md5_is_taken_in_base64_too(guide: Guide) -> None:
    data = jsonl(*several(1))
    digest = hashlib.md5(data, usedforsecurity=False).digest()
    upload = begin(guide, data)["id"]
    sent = part(guide, upload, data)
    wrong = complete(guide, upload, sent, md5=base64.b64encode(bytes(16)).decode())
    assert (wrong.status, wrong.code, wrong.json["error"]["param"]) == (400, "invalid_value", "md5")
    assert complete(guide, upload, sent, md5="abc").json["error"]["param"] == "md5"
    assert complete(guide, upload, sent, md5=base64.b64encode(digest).decode()).status == 200


@ONE
@pytest.mark.parametrize(
    ("change", "status", "param"),
    [
        ({"bytes": 0}, 400, "bytes"),
        ({"bytes": "7"}, 400, "bytes"),
        ({"bytes": SMALL + 1}, 413, "bytes"),
        ({"purpose": "fine-tune"}, 400, "purpose"),
        ({"filename": None}, 400, "filename"),
        ({"expires_after": {"anchor": "created_at", "seconds": 5}}, 400, "expires_after.seconds"),
    ],
)
def test_a_bad_upload_is_refused_when_it_begins(
    small: Hornada, guide: Guide, change: Json, status: int, param: str
) -> None:
    answer = opened(small, "/v1", guide.backend).call("POST", "/uploads", about(b"x", **change))
    assert (answer.status, answer.json["error"]["param"]) == (status, param)


@ONE
@pytest.mark.parametrize("field", ["bytes", "filename", "mime_type", "purpose"])
def test_an_upload_needs_its_fields(guide: Guide, field: str) -> None:
    body = about(b"x")
    del body[field]
    answer = guide.call("POST", "/uploads", body)
    assert (answer.status, answer.code) == (400, "missing_required_parameter")
    assert answer.json["error"]["param"] == field


@ONE
def test_a_part_is_one_field_named_data_with_or_without_a_file_name(guide: Guide) -> None:
    data = jsonl(*several(1))
    upload = begin(guide, data)["id"]
    wrong = send(guide, upload, data, name="file")
    assert (wrong.status, wrong.code, wrong.json["error"]["param"]) == (400, "missing_required_parameter", "data")
    plain = send(guide, upload, data, filename="")
    assert complete(guide, upload, str(plain.id)).status == 200


@ONE
def test_a_refused_completion_leaves_the_upload_as_it_was(guide: Guide) -> None:
    data = jsonl(*several(2))
    upload = begin(guide, data)["id"]
    head, rest = part(guide, upload, data[:60]), part(guide, upload, data[60:])
    for wrong in ([head], [rest, rest], ["part_none", rest], [], "text", [1]):
        answer = guide.call("POST", f"/uploads/{upload}/complete", {"part_ids": wrong})
        assert (answer.status, answer.json["error"]["param"][:8]) == (400, "part_ids")
    assert guide.call("POST", f"/uploads/{upload}/complete", {}).json["error"]["param"] == "part_ids"
    file = complete(guide, upload, head, rest).json["file"]
    assert guide.client.content(file["id"]) == data
    late = send(guide, upload, data)
    assert (late.status, late.code) == (400, "upload_not_pending")
    assert complete(guide, upload, head, rest).code == "upload_not_pending"
    again = guide.call(
        "POST", f"/uploads/{upload}/complete", {"part_ids": [head, rest]}, {"x-stainless-retry-count": "1"}
    )
    assert (again.status, again.json["file"]["id"]) == (200, file["id"])


@ONE
def test_joined_bytes_are_checked_like_any_upload(guide: Guide) -> None:
    data = b"\x1f\x8b" + bytes(40)
    upload = begin(guide, data)["id"]
    answer = complete(guide, upload, part(guide, upload, data[:1]), part(guide, upload, data[1:]))
    assert (answer.status, answer.code) == (400, "invalid_file_format")


def test_an_unknown_upload_is_not_found(guide: Guide) -> None:
    for answer in (
        send(guide, "upload_none", b"x" * 3_000_000),
        complete(guide, "upload_none", "part_none"),
        guide.call("POST", "/uploads/upload_none/cancel"),
    ):
        assert (answer.status, answer.code) == (404, "upload_not_found")


@ONE
def test_a_part_cut_off_leaves_nothing(server: Hornada, guide: Guide) -> None:
    upload = begin(guide, b"x" * 100)["id"]
    before = sorted(path for path in server.blobs.rglob("*") if path.is_file())
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest("POST", f"/v1/uploads/{upload}/parts")
    connection.putheader("Authorization", "Bearer sk-test")
    connection.putheader("Content-Type", f"multipart/form-data; boundary={BOUNDARY}")
    connection.putheader("Content-Length", "100000")
    connection.endheaders(f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="data"\r\n\r\nabc'.encode())
    connection.close()
    guide.call("POST", f"/uploads/{upload}/cancel")
    while sorted(path for path in server.blobs.rglob("*") if path.is_file()) != before:
        pass


@ONE
def test_an_upload_goes_on_after_kill_9(serve: Serve, guide: Guide) -> None:
    server = serve()
    mine = opened(server, "/v1", guide.backend)
    data = jsonl(*several(3))
    upload = begin(mine, data)["id"]
    first = part(mine, upload, data[:100])
    server.kill()
    server.start()
    ended = complete(mine, upload, first, part(mine, upload, data[100:]))
    assert mine.client.content(ended.json["file"]["id"]) == data
    rows = mine.end(mine.create(ended.json["file"]["id"])).output
    assert [row["custom_id"] for row in rows] == ["doc-0", "doc-1", "doc-2"]


@pytest.mark.parametrize("base", ["/strict/v1"])
@pytest.mark.parametrize(
    "point", ["part_object_written", "part_committed", "upload_joined", "upload_object_written", "file_committed"]
)
def test_a_kill_between_two_steps_costs_nothing(serve: Serve, guide: Guide, base: str, point: str) -> None:
    server = serve()
    mine = opened(server, base, guide.backend)
    data = jsonl(*several(3))
    upload = begin(mine, data)["id"]
    server.kill()
    server.start({"HORNADA_CRASH_AT": point})
    kills = []

    def surely(call: Callable[[dict[str, str]], Answer]) -> Answer:
        try:
            return call({})
        except (OSError, http.client.HTTPException):
            kills.append(point)
            server.kill()
            server.start()
            return call({"x-stainless-retry-count": "1"})

    parts = [surely(lambda _, piece=piece: send(mine, upload, piece)).id for piece in (data[:90], data[90:])]  # type: ignore[misc]
    done = surely(lambda more: mine.call("POST", f"/uploads/{upload}/complete", {"part_ids": parts}, more))
    assert kills == [point]
    assert (done.status, done.json["status"]) == (200, "completed")
    assert mine.client.content(done.json["file"]["id"]) == data
    assert [file["id"] for file in mine.call("GET", "/files").json["data"]] == [done.json["file"]["id"]]
