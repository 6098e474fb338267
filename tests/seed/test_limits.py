"""The table of file limits; IN-90 to IN-97 are its rows."""

import json
import re
from pathlib import Path

from bench.client import granted
from tests.cases import generate
from tests.seed.conftest import At, Serve
from tests.seed.guide import EMBED, ONCE, Ended, Guide, chat, jsonl, mark, several, vectors

MIB = 1 << 20


def sized(custom_id: str, size: int) -> bytes:
    """A line of exactly so many bytes, its line feed not counted."""
    text = mark()
    text += "x" * (size - len(json.dumps(chat(custom_id, text))))
    line = json.dumps(chat(custom_id, text)).encode()
    assert len(line) == size
    return line


def numbers(message: str) -> set[int]:
    """Those that a message tells, with or without commas."""
    return {int(found.replace(",", "")) for found in re.findall(r"\d[\d,]*", message)}


def cause(ended: Ended) -> str:
    """The message of the first cause."""
    return str(ended.batch["errors"]["data"][0]["message"])


@ONCE
def test_in_90_limit_file_size_and_failure_file_too_large(guide: Guide, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("w") as output:
        output.writelines(generate.over_100_mib(100 * MIB))
    assert path.stat().st_size == 104_857_600
    file = granted(guide.client.upload(path), "100 MiB")
    assert file["bytes"] == 104_857_600
    assert guide.call("DELETE", f"/files/{file['id']}").status == 200
    with path.open("a") as output:
        output.write("\n")
    answer = guide.client.upload(path)
    assert (answer.status, answer.code) == (413, "file_too_large")
    assert "more than 104,857,600 bytes were sent, the limit is 104,857,600" in answer.json["error"]["message"]


def test_in_91_limit_line_size(guide: Guide) -> None:
    assert guide.run(jsonl(chat("a", mark()), sized("b", MIB))).answered(2)
    ended = guide.run(jsonl(chat("a", mark()), sized("b", MIB + 1), chat("c", mark())))
    assert (ended.batch["status"], ended.causes) == ("failed", [("invalid_json_line", 2)])
    assert numbers(cause(ended)) >= {MIB, MIB + 1}


@ONCE
def test_in_92_limit_lines_per_file(guide: Guide) -> None:
    text = mark()
    lines = [chat(f"doc-{n}", text) for n in range(50_001)]
    ended = guide.run(jsonl(*lines))
    assert (ended.batch["status"], ended.causes) == ("failed", [("too_many_tasks", None)])
    assert 50_000 in numbers(cause(ended))
    batch = guide.start(jsonl(*lines[:-1]))
    seen = guide.until(batch, lambda found: found["request_counts"]["total"] > 0)
    assert seen["request_counts"]["total"] == 50_000
    guide.cancel(batch)
    counts = guide.client.finish(batch["id"], 60)["request_counts"]
    assert counts["completed"] + counts["failed"] == 50_000


@ONCE
def test_in_93_limit_vector_inputs_adding_up_all_lines(guide: Guide) -> None:
    text = mark()
    lines = [vectors(f"doc-{n}", [f"{text} {n} {k}" for k in range(2000)]) for n in range(25)]
    assert guide.run(jsonl(*lines), EMBED).batch["request_counts"]["completed"] == 25
    ended = guide.run(jsonl(*lines, vectors("one more", "input")), EMBED)
    assert (ended.batch["status"], ended.causes) == ("failed", [("too_many_tasks", None)])
    assert numbers(cause(ended)) >= {50_000, 50_001}


@ONCE
def test_in_94_a_string_or_a_list_of_tokens_is_one_input(guide: Guide) -> None:
    text = mark()
    full = [vectors(f"doc-{n}", [text, *map(str, range(1, size))]) for n, size in enumerate((25_000, 24_997))]
    three = [vectors("one", [1, 2, 3]), vectors("two", [[4, 5], [6]])]
    assert guide.run(jsonl(*full, *three), EMBED).answered(4)
    ended = guide.run(jsonl(*full, *three, vectors("four", [7])), EMBED)
    assert (ended.batch["status"], ended.causes) == ("failed", [("too_many_tasks", None)])


def test_in_95_limit_client_storage(serve: Serve, at: At) -> None:
    data = jsonl(*several(4))
    guide = at(serve(plan={"storage_bytes": len(data)}))
    answer = guide.client.upload(data + b"\n")
    assert (answer.status, answer.code) == (400, "storage_quota_exceeded")
    assert numbers(answer.json["error"]["message"]) >= {len(data), len(data) + 1}
    assert guide.call("GET", "/files").json["data"] == []
    file = guide.upload(data)
    answer = guide.client.upload(b"{}\n")
    assert (answer.status, answer.code) == (400, "storage_quota_exceeded")
    assert f"{len(data):,} bytes" in answer.json["error"]["message"]
    assert [found["id"] for found in guide.call("GET", "/files").json["data"]] == [file["id"]]
    assert guide.upload(data)["id"] == file["id"], "nothing new is stored"


def test_in_96_limit_active_batches_and_failure_too_many_active_batches(serve: Serve, at: At) -> None:
    guide = at(serve(plan={"active_batches": 2}))
    third = guide.upload(jsonl(*several(1)))
    with guide.held(8) as first, guide.held(8) as second:
        answer = guide.client.create(third["id"])
        assert (answer.status, answer.code) == (429, "too_many_active_batches")
        assert answer.headers["x-should-retry"] == "false"
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert 2 in numbers(answer.json["error"]["message"])
        guide.cancel(first)  # a batch that is being cancelled takes its place still
        assert guide.client.create(third["id"]).code == "too_many_active_batches"
        assert {found["id"] for found in guide.call("GET", "/batches").json["data"]} == {first["id"], second["id"]}
    guide.end(first)
    assert guide.create(third["id"])["status"] == "validating"


@ONCE
def test_in_97_limit_queued_lines(serve: Serve, at: At) -> None:
    guide = at(serve(plan={"queued_lines": 10}))
    ended = guide.run(jsonl(*several(11)))
    assert (ended.batch["status"], ended.causes) == ("failed", [("enqueued_request_limit_exceeded", None)])
    assert numbers(cause(ended)) >= {10, 11}
    with guide.held(10) as holding:
        guide.until(holding, lambda seen: seen["status"] == "in_progress")
        assert guide.run(jsonl(*several(1))).causes == [("enqueued_request_limit_exceeded", None)]
        guide.cancel(holding)
    guide.end(holding)
    assert guide.run(jsonl(*several(10))).answered(10)


def test_in_98_output_files_count_but_are_never_rejected(serve: Serve, at: At) -> None:
    data = jsonl(*several(4))
    guide = at(serve(plan={"storage_bytes": len(data)}))
    ended = guide.run(data)
    assert ended.answered(4)
    assert guide.call("DELETE", f"/files/{ended.batch['input_file_id']}").status == 200
    answer = guide.client.upload(data)
    assert (answer.status, answer.code) == (400, "storage_quota_exceeded"), "the output takes its place"


def test_in_99_a_deleted_file_frees_its_space(serve: Serve, at: At) -> None:
    data = jsonl(*several(4))
    guide = at(serve(plan={"storage_bytes": len(data)}))
    file = guide.upload(data)
    answer = guide.call("DELETE", f"/files/{file['id']}")
    assert (answer.status, answer.json) == (200, {"id": file["id"], "object": "file", "deleted": True})
    assert guide.upload(jsonl(*several(4, "y" * 32)))["bytes"] == len(data)


def test_in_100_an_input_file_used_by_a_live_batch_cannot_be_deleted(guide: Guide) -> None:
    with guide.held(8) as batch:
        answer = guide.call("DELETE", f"/files/{batch['input_file_id']}")
        assert (answer.status, answer.code) == (400, "file_in_use")
        assert batch["id"] in answer.json["error"]["message"]
        guide.cancel(batch)
        assert guide.call("DELETE", f"/files/{batch['input_file_id']}").code == "file_in_use"
    ended = guide.end(batch)
    assert guide.call("DELETE", f"/files/{batch['input_file_id']}").status == 200
    assert guide.call("GET", f"/files/{batch['input_file_id']}").code == "file_not_found"
    assert guide.rows(ended.batch["error_file_id"]) == ended.error, "the results stay"
