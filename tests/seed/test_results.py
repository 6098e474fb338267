"""The results: two files, one line for every line of the input."""

import hashlib
import time

from tests.seed.conftest import At, Serve
from tests.seed.guide import ONCE, Guide, chat, jsonl, mark, refused, several

MONTH_S = 30 * 86_400


def test_in_57_a_line_of_the_output_has_its_identifier_and_its_response(guide: Guide) -> None:
    ended = guide.run(jsonl(*several(3)))
    assert [set(row) for row in ended.output] == [{"id", "custom_id", "response", "error"}] * 3
    for row in ended.output:
        assert row["id"].startswith("batch_req_")
        assert row["error"] is None
        assert set(row["response"]) == {"status_code", "request_id", "body"}
        assert row["response"]["body"]["choices"][0]["message"]["role"] == "assistant"
    assert len({row["id"] for row in ended.output}) == 3


def test_in_58_every_response_has_a_request_id(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(chat("a", text), refused("b", text)))
    ids = [row["response"]["request_id"] for row in (*ended.output, *ended.error)]
    assert all(found.startswith("req_") for found in ids)
    assert len(set(ids)) == 2


def test_in_59_the_output_holds_successes_only(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(refused("a", text), chat("b", text), refused("c", text, 422)))
    assert [row["response"]["status_code"] for row in ended.output] == [200]
    assert [row["response"]["status_code"] for row in ended.error] == [400, 422]


def test_in_60_the_errors_file_is_there_only_if_a_line_failed(guide: Guide) -> None:
    batch = guide.run(jsonl(*several(2))).batch
    assert "error_file_id" in batch
    assert batch["error_file_id"] is None


def test_in_61_a_refused_line_keeps_the_code_and_body_of_the_regular_call(guide: Guide) -> None:
    line = refused("a", mark())
    row = guide.run(jsonl(line)).error[0]
    called = guide.call("POST", "/chat/completions", line["body"])
    assert (row["response"]["status_code"], row["error"]) == (called.status, None)
    assert row["response"]["body"]["error"]["code"] == called.code == "context_length_exceeded"


@ONCE
def test_in_62_a_line_that_the_model_server_keeps_failing_on_ends_too(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(chat("a", text), chat("b", text + ' @@{"status": 500}'), chat("c", text)))
    assert ended.batch["status"] == "completed"
    assert [row["custom_id"] for row in ended.output] == ["a", "c"]
    assert [(row["custom_id"], row["response"]["status_code"]) for row in ended.error] == [("b", 500)]


def test_in_63_a_line_stopped_by_the_batch_has_an_empty_response_and_its_cause(guide: Guide) -> None:
    with guide.held() as batch:
        guide.cancel(batch)
    ended = guide.end(batch)
    assert ended.error
    for row in ended.error:
        assert row["response"] is None
        assert row["error"]["code"] == "batch_cancelled"
        assert row["error"]["message"]


def test_in_64_the_two_files_together_are_the_input(guide: Guide) -> None:
    text = mark()
    lines = [refused(f"doc-{n}", text) if n % 3 else chat(f"doc-{n}", f"{text} {n}") for n in range(30)]
    ended = guide.run(jsonl(*lines))
    found = [row["custom_id"] for row in (*ended.output, *ended.error)]
    assert sorted(found) == sorted(line["custom_id"] for line in lines)


def test_in_65_and_66_every_file_carries_its_date_thirty_days_from_its_creation(guide: Guide) -> None:
    text = mark()
    batch = guide.run(jsonl(chat("a", text), refused("b", text))).batch
    for name in ("input_file_id", "output_file_id", "error_file_id"):
        file = guide.call("GET", f"/files/{batch[name]}").json
        assert file["expires_at"] - file["created_at"] == MONTH_S


def test_in_67_an_expired_file_is_gone(serve: Serve, at: At) -> None:
    server = serve(file_lifetime_s=1)
    guide = at(server)
    data = jsonl(*several(2))
    file = guide.upload(data)
    assert file["expires_at"] == file["created_at"] + 1
    end = time.monotonic() + 20
    while (answer := guide.call("GET", f"/files/{file['id']}")).status == 200:
        assert time.monotonic() < end
        time.sleep(0.05)
    content = guide.call("GET", f"/files/{file['id']}/content")
    deleted = guide.call("DELETE", f"/files/{file['id']}")
    created = guide.client.create(file["id"])
    for refusal in (answer, content, deleted, created):
        assert (refusal.status, refusal.code) == (404, "file_not_found")
    assert guide.call("GET", "/files").json["data"] == []
    assert guide.upload(data)["id"] != file["id"]


def test_in_68_content_is_the_only_way_to_a_file_and_answers_the_bytes(guide: Guide) -> None:
    ended = guide.run(jsonl(*several(2)))
    for name in ("input_file_id", "output_file_id"):
        file = guide.call("GET", f"/files/{ended.batch[name]}").json
        assert not [key for key in file if "url" in key or "link" in key]
        answer = guide.call("GET", f"/files/{file['id']}/content")
        assert (answer.status, len(answer.body)) == (200, file["bytes"])


def test_in_69_a_header_has_the_sha256_of_what_was_downloaded(guide: Guide) -> None:
    text = mark()
    batch = guide.run(jsonl(chat("a", text), refused("b", text))).batch
    for name in ("input_file_id", "output_file_id", "error_file_id"):
        answer = guide.call("GET", f"/files/{batch[name]}/content")
        assert answer.headers["x-saptiva-content-sha256"] == hashlib.sha256(answer.body).hexdigest()
