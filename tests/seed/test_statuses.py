"""The table of statuses, and the counts; IN-46 to IN-54 are its rows."""

from tests.seed.conftest import At, Serve
from tests.seed.guide import ONCE, Guide, chat, jsonl, mark, refused, several, slow
from tests.seed.platform import INPUT, OUTPUT, Platform


def test_in_46_status_validating_no_line_has_run(serve: Serve, at: At) -> None:
    server = serve()
    guide, text = at(server), mark()
    file = guide.upload(jsonl(chat("a", text)))
    inputs = server.blobs / "input"
    inputs.rename(server.blobs / "away")
    batch = guide.create(file["id"])
    assert (batch["status"], batch["in_progress_at"]) == ("validating", None)
    seen = guide.check(batch)
    assert (seen["status"], seen["request_counts"]) == ("validating", {"total": 0, "completed": 0, "failed": 0})
    assert (seen["output_file_id"], seen["error_file_id"], seen["errors"]) == (None, None, None)
    assert guide.calls(text) == 0


def test_in_47_status_in_progress_the_lines_are_running(guide: Guide) -> None:
    with guide.held(12, free=1) as seen:
        assert seen["status"] == "in_progress"
        assert seen["in_progress_at"] >= seen["created_at"]
        assert (seen["output_file_id"], seen["error_file_id"], seen["errors"]) == (None, None, None)
        assert seen["request_counts"] == {"total": 12, "completed": 1, "failed": 0}
        (listed,) = (found for found in guide.call("GET", "/batches").json["data"] if found["id"] == seen["id"])
        told = set(seen) - {"hornada"}
        assert {name: listed[name] for name in told} == {name: seen[name] for name in told}
    guide.end(seen)


@ONCE
def test_in_48_status_finalizing_can_no_longer_be_cancelled(serve: Serve, at: At) -> None:
    server = serve()
    guide = at(server)
    results = server.blobs / "out"
    results.touch()  # a file where a folder should be: results cannot be written
    batch = guide.start(jsonl(*several(3)))
    seen = guide.until(batch, lambda found: found["status"] == "finalizing")
    assert seen["request_counts"] == {"total": 3, "completed": 3, "failed": 0}
    assert (seen["output_file_id"], seen["finalizing_at"] is None) == (None, False)
    answer = guide.cancel(batch)
    assert (answer.status, answer.code) == (400, "batch_not_cancellable")
    assert answer.json["error"]["message"] == "Cannot cancel a batch with status 'finalizing'."
    again = guide.client.create(batch["input_file_id"])
    assert (again.id, again.json["status"]) == (batch["id"], "finalizing")
    results.unlink()
    assert guide.end(batch).answered(3)


def test_in_49_status_completed_the_results_are_available(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(chat("a", text), refused("b", text)))
    assert ended.batch["status"] == "completed"
    assert ended.batch["completed_at"] >= ended.batch["finalizing_at"] >= ended.batch["in_progress_at"]
    assert ([row["custom_id"] for row in ended.output], [row["custom_id"] for row in ended.error]) == (["a"], ["b"])


def test_in_49_completed_though_every_line_failed(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(refused("a", text), refused("b", text)))
    assert (ended.batch["status"], ended.batch["output_file_id"]) == ("completed", None)
    assert [row["custom_id"] for row in ended.error] == ["a", "b"]
    assert ended.batch["request_counts"] == {"total": 2, "completed": 0, "failed": 2}
    assert ended.batch["errors"] is None


def test_in_50_status_failed_no_line_ran(guide: Guide) -> None:
    text = mark()
    ended = guide.run(jsonl(chat("a", text), "{broken"))
    batch = ended.batch
    assert (batch["status"], batch["failed_at"] is None, batch["in_progress_at"]) == ("failed", False, None)
    assert (batch["output_file_id"], batch["error_file_id"]) == (None, None)
    assert batch["request_counts"] == {"total": 0, "completed": 0, "failed": 0}
    assert guide.calls(text) == 0


def test_in_51_errors_lists_up_to_a_hundred_causes(guide: Guide) -> None:
    ended = guide.run(jsonl(chat("a", mark()), *(f"{{broken {n}" for n in range(150))))
    assert ended.causes == [("invalid_json_line", n) for n in range(2, 102)]
    assert ended.batch["errors"]["object"] == "list"
    for found in ended.batch["errors"]["data"]:
        assert (set(found), bool(found["message"])) == ({"code", "line", "message", "param"}, True)
    for count in (99, 100, 101):
        ended = guide.run(jsonl(*(f"{{broken {n}" for n in range(count)), chat(mark(), "x")))
        assert len(ended.causes) == min(count, 100)


def test_in_52_status_cancelling_lines_in_progress_finish_and_are_charged(platform: Platform) -> None:
    guide, text = platform.user(10**6), mark()
    with guide.held(40, free=4, word=text, model=platform.priced()) as batch:
        answer = guide.cancel(batch)
        assert (answer.status, answer.json["status"]) == (200, "cancelling")
        assert answer.json["cancelling_at"] is not None
        assert answer.json["request_counts"]["completed"] == 4
        assert guide.check(batch)["status"] == "cancelling"
    ended = guide.end(batch)
    assert len(ended.output) > 4, "what was running has finished"
    assert len(ended.output) == guide.calls(text)
    assert {row["error"]["code"] for row in ended.error} == {"batch_cancelled"}
    used = [row["response"]["body"]["usage"] for row in ended.output]
    charge = sum(each["prompt_tokens"] * INPUT + each["completion_tokens"] * OUTPUT for each in used)
    assert guide.call("GET", "/billing/balance").json["balance"] == 10**6 - charge


def test_in_53_status_cancelled_what_did_run_is_kept(guide: Guide) -> None:
    with guide.held(40, free=4) as batch:
        guide.cancel(batch)
    ended = guide.end(batch)
    assert (ended.batch["status"], ended.batch["cancelled_at"] is None) == ("cancelled", False)
    assert [row["custom_id"] for row in ended.output][:4] == ["doc-0", "doc-1", "doc-2", "doc-3"]
    assert len(ended.output) + len(ended.error) == 40
    assert guide.check(batch) == ended.batch


@ONCE
def test_in_54_status_expired_what_managed_to_run_is_kept(serve: Serve, at: At) -> None:
    guide, text = at(serve(batch_lifetime_s=5)), mark()
    with guide.held(60, free=4, word=text) as batch:
        assert batch["expires_at"] == batch["created_at"] + 5
        guide.until(batch, lambda seen: seen["finalizing_at"] is not None)
    ended = guide.end(batch)
    assert (ended.batch["status"], ended.batch["expired_at"] >= batch["expires_at"]) == ("expired", True)
    assert [ended.batch[f"{end}_at"] for end in ("completed", "failed", "cancelled")] == [None] * 3
    assert len(ended.output) == guide.calls(text) > 4, "what was running has finished"
    assert {(row["response"], row["error"]["code"]) for row in ended.error} == {(None, "batch_expired")}
    assert sorted(row["custom_id"] for row in (*ended.output, *ended.error)) == sorted(f"doc-{n}" for n in range(60))
    counts = {"total": 60, "completed": len(ended.output), "failed": len(ended.error)}
    assert ended.batch["request_counts"] == counts
    again = guide.cancel(batch)
    assert (again.status, again.code) == (400, "batch_not_cancellable")


def test_in_55_the_counts_are_kept_while_it_advances(guide: Guide) -> None:
    text = mark()
    lines = [slow(f"doc-{n}", text, 0.2) if n % 4 else refused(f"doc-{n}", text) for n in range(24)]
    batch = guide.start(jsonl(*lines))
    before = {"total": 0, "completed": 0, "failed": 0}
    for seen in guide.client.watch(batch["id"], 30, 0.05):
        counts = seen["request_counts"]
        assert counts["total"] == 24 or seen["status"] == "validating"
        assert counts["completed"] >= before["completed"]
        assert counts["failed"] >= before["failed"]
        before = counts
    assert before == {"total": 24, "completed": 18, "failed": 6}


def test_in_56_failed_counts_cancelled_lines_too(guide: Guide) -> None:
    with guide.held(40, free=4) as batch:
        guide.cancel(batch)
    ended = guide.end(batch)
    counts = ended.batch["request_counts"]
    assert counts == {"total": 40, "completed": len(ended.output), "failed": len(ended.error)}
    assert counts["failed"] > 0
