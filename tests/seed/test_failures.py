"""The table of what to do when something fails; rows that stand in other tables too are tested there.

``model_not_batchable``: IN-6. ``duplicate_custom_id``: IN-21. 413: IN-90. 429: IN-96.
"""

import sys
from pathlib import Path

from bench.hornada import table
from bench.process import Process, free_port
from tests.seed.conftest import At, Serve
from tests.seed.guide import CHAT, ONCE, Guide, chat, jsonl, mark


def test_in_101_failure_of_the_whole_file_lists_causes_with_their_line(guide: Guide) -> None:
    text = mark()
    data = jsonl(chat("a", text), "", "{broken", "  ", chat("a", text), {**chat("d", text), "method": "GET"}, "[]")
    ended = guide.run(data)
    assert ended.batch["status"] == "failed"
    assert ended.causes == [
        ("invalid_json_line", 3),
        ("duplicate_custom_id", 5),
        ("invalid_request", 6),
        ("invalid_json_line", 7),
    ]
    assert all(found["message"] for found in ended.batch["errors"]["data"])
    assert guide.calls(text) == 0


def test_in_102_failure_model_not_found(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark(), model="gpt-whatever")))
    assert (ended.batch["status"], ended.causes) == ("failed", [("model_not_found", 1)])
    assert "gpt-whatever" not in {found["id"] for found in guide.call("GET", "/models").json["data"]}
    answer = guide.ask("hi", model="gpt-whatever")
    assert (answer.status, answer.code) == (404, "model_not_found")
    assert "gpt-whatever" in ended.batch["errors"]["data"][0]["message"]
    assert guide.call("GET", "/models/gpt-whatever").code == "model_not_found"


def test_in_103_the_models_that_the_key_may_use_are_listed(guide: Guide) -> None:
    answer = guide.call("GET", "/models")
    assert (answer.status, answer.json["object"]) == (200, "list")
    names = {"m-chat", "m-other", "m-nobatch", "m-text", "m-embed", "m-share", "m-away"}
    assert {found["id"] for found in answer.json["data"]} == names
    for found in answer.json["data"]:
        assert set(found) == {"id", "object", "created", "owned_by"}
        assert (found["object"], type(found["created"])) == ("model", int)
        assert guide.call("GET", f"/models/{found['id']}").json == found


@ONCE
def test_in_105_and_106_failure_it_stays_in_validating_and_starts_by_itself(serve: Serve, at: At) -> None:
    server = serve()
    guide, text = at(server), mark()
    file = guide.upload(jsonl(chat("a", text)))
    inputs, away = server.blobs / "input", server.blobs / "away"
    inputs.rename(away)
    batch = guide.create(file["id"])
    again = guide.client.create(file["id"])
    assert (again.id, again.json["status"]) == (batch["id"], "validating")
    assert again.headers["x-saptiva-deduplicated-from"] == batch["id"]
    seen = guide.check(batch)
    assert (seen["status"], seen["errors"]) == ("validating", None)
    away.rename(inputs)
    assert guide.end(batch).answered(1)
    assert guide.calls(text) == 1


@ONCE
def test_in_107_a_batch_goes_on_when_its_model_server_is_back(serve: Serve, at: At, tmp_path: Path) -> None:
    port = free_port()
    entry = {"name": "m-late", "upstream": f"http://127.0.0.1:{port}/v1", "endpoints": [CHAT], "capacity": 4}
    guide = at(serve(more=table("[[models]]", entry)))
    batch = guide.start(jsonl(*(chat(f"doc-{n}", mark(), model="m-late") for n in range(6))))
    guide.until(batch, lambda found: found["status"] == "in_progress")
    assert guide.ask("hi", model="m-late").status == 502
    seen = guide.check(batch)
    assert (seen["status"], seen["request_counts"]) == ("in_progress", {"total": 6, "completed": 0, "failed": 0})
    with Process([sys.executable, "-m", "tests.cases.backend", "--port", str(port)], tmp_path / "late.log"):
        assert guide.end(batch).answered(6)


@ONCE
def test_in_107_failure_in_progress_without_advancing_is_normal(guide: Guide) -> None:
    batch = guide.start(jsonl(chat("a", mark(), model="m-away")))
    seen = guide.until(batch, lambda found: found["status"] == "in_progress")
    assert seen["request_counts"] == {"total": 1, "completed": 0, "failed": 0}
    with guide.held(8, model="m-share") as busy:
        waiting = guide.start(jsonl(*(chat(f"doc-{n}", mark(), model="m-share") for n in range(2))))
        assert guide.until(waiting, lambda found: found["status"] == "in_progress")["errors"] is None
    assert len(guide.end(waiting).output) == 2
    guide.end(busy)
    assert guide.check(batch)["status"] == "in_progress"
    guide.cancel(batch)
    assert guide.end(batch).batch["status"] == "cancelled"
