"""What one dialect made, another reads, cancels and downloads: every pair."""

import itertools

import pytest

from bench.client import Client
from bench.hornada import Hornada
from tests.openai.conftest import MOUNTED, opened
from tests.seed.guide import Guide, Json, chat, jsonl, mark, refused

BASES = [path for path in MOUNTED if path != "/v1"]
PAIRS = list(itertools.product(BASES, BASES))
FILE = {"infernode": "file-", "novita": "file_", "openai": "file-"}
LINE = {"infernode": "batch_req_", "novita": "batch_req_task_", "openai": "batch_req_"}

pytestmark = pytest.mark.parametrize(("made", "used"), PAIRS, ids=lambda path: path.split("/")[1])


@pytest.fixture
def maker(server: Hornada, made: str, backend: Client) -> Guide:
    return opened(server, made, backend)


@pytest.fixture
def user(server: Hornada, used: str, backend: Client) -> Guide:
    return opened(server, used, backend)


def bare(spelled: str) -> str:
    return spelled.rpartition("_" if "_" in spelled else "-")[2]


def shape(batch: Json) -> set[str]:
    return set(batch) - {"hornada", "cost"}


def test_a_file_is_read_downloaded_and_deleted(maker: Guide, user: Guide, used: str) -> None:
    data = jsonl(chat("a", mark()))
    file = maker.upload(data)
    seen = user.call("GET", f"/files/{file['id']}").json
    assert seen["id"] == FILE[MOUNTED[used]] + bare(file["id"])
    assert (seen["bytes"], seen["created_at"]) == (len(data), file["created_at"])
    assert user.call("GET", "/files?limit=1").json["data"] == [seen]
    for spelled in (file["id"], seen["id"], bare(file["id"])):
        assert user.client.content(spelled) == data
    assert user.call("DELETE", f"/files/{file['id']}").json == {"id": seen["id"], "object": "file", "deleted": True}
    assert maker.call("GET", f"/files/{file['id']}").status == 404


def test_a_batch_is_read_in_the_readers_spelling_and_its_lines_in_the_makers(
    maker: Guide, user: Guide, made: str, used: str
) -> None:
    batch = maker.start(jsonl(chat("a", mark()), refused("b", mark())))
    own = user.start(jsonl(chat("a", mark())))
    ended = user.end(batch)
    assert (shape(ended.batch), ended.batch["id"]) == (shape(user.end(own).batch), batch["id"])
    assert ended.batch["status"] == "completed"
    assert ended.batch["output_file_id"].startswith(FILE[MOUNTED[used]])
    assert ended.batch["input_file_id"] == FILE[MOUNTED[used]] + bare(batch["input_file_id"])
    assert batch["id"] in [each["id"] for each in user.call("GET", "/batches?limit=5").json["data"]]
    prefix = LINE[MOUNTED[made]]
    for row, name in zip((*ended.output, *ended.error), "ab", strict=True):
        assert row["id"].removeprefix(prefix).startswith(bare(batch["id"]))
        assert (row["response"]["request_id"] == name) is (MOUNTED[made] == "novita")
    again = maker.end(batch)
    assert (again.output, again.error) == (ended.output, ended.error)


def test_a_file_of_one_is_the_input_of_a_batch_of_the_other(maker: Guide, user: Guide, used: str) -> None:
    file = maker.upload(jsonl({"custom_id": "a", "body": chat("a", mark())["body"]}))
    ended = user.end(user.create(file["id"]))
    assert ended.batch["input_file_id"] == FILE[MOUNTED[used]] + bare(file["id"])
    assert ended.output[0]["id"].startswith(LINE[MOUNTED[used]])


def test_a_batch_is_cancelled(maker: Guide, user: Guide) -> None:
    with maker.held() as batch:
        assert user.cancel(batch).json["status"] == "cancelling"
    seen = [guide.end(batch) for guide in (user, maker)]
    assert [ended.batch["status"] for ended in seen] == ["cancelled"] * 2
    assert [len(ended.output) + len(ended.error) for ended in seen] == [20] * 2


def test_an_upload_begun_in_one_is_completed_in_the_other(maker: Guide, user: Guide, used: str) -> None:
    body = {"bytes": 3, "filename": "a.jsonl", "mime_type": "application/jsonl", "purpose": "batch"}
    upload = maker.call("POST", "/uploads", body).json["id"]
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    part = b'--x\r\nContent-Disposition: form-data; name="data"\r\n\r\n{}\n\r\n--x--\r\n'
    sent = maker.call("POST", f"/uploads/{upload}/parts", part, kind).json["id"]
    done = user.call("POST", f"/uploads/{upload}/complete", {"part_ids": [sent]}).json
    assert (done["status"], done["file"]["id"][:5]) == ("completed", FILE[MOUNTED[used]])
