"""Cancelling, by the one who made the batch."""

from tests.seed.conftest import At, Serve
from tests.seed.guide import ONCE, Guide, chat, jsonl, mark, several


def test_in_70_a_cancelled_batch_moves_to_cancelling(guide: Guide) -> None:
    with guide.held(free=1) as batch:
        assert batch["status"] == "in_progress"
        for answer in (guide.cancel(batch), guide.cancel(batch)):
            assert (answer.status, answer.json["id"], answer.json["status"]) == (200, batch["id"], "cancelling")
            assert set(answer.json) == set(batch)
            assert answer.json["cancelling_at"] >= batch["in_progress_at"]
        assert guide.check(batch)["cancelling_at"] == answer.json["cancelling_at"]
    ended = guide.end(batch).batch
    assert (ended["status"], ended["cancelled_at"] >= ended["cancelling_at"]) == ("cancelled", True)
    assert (ended["completed_at"], ended["failed_at"], ended["expired_at"]) == (None, None, None)


@ONCE
def test_in_71_a_batch_can_be_cancelled_while_its_file_is_reviewed(serve: Serve, at: At) -> None:
    server = serve()
    guide = at(server)
    good, bad = guide.upload(jsonl(*several(5))), guide.upload(jsonl(*several(2), "{broken"))
    inputs, away = server.blobs / "input", server.blobs / "away"
    inputs.rename(away)  # neither file can be reviewed for now
    batches = [guide.create(file["id"]) for file in (good, bad)]
    assert [guide.cancel(batch).json["status"] for batch in batches] == ["cancelling"] * 2
    away.rename(inputs)
    valid, invalid = (guide.end(batch) for batch in batches)
    assert valid.batch["status"] == "cancelled"
    assert valid.output == []
    assert [row["error"]["code"] for row in valid.error] == ["batch_cancelled"] * 5
    assert valid.batch["request_counts"] == {"total": 5, "completed": 0, "failed": 5}
    assert (invalid.batch["status"], invalid.causes) == ("failed", [("invalid_json_line", 3)])


def test_in_71_right_after_its_creation_too(guide: Guide) -> None:
    for _ in range(5):
        batch = guide.start(jsonl(*several(5)))
        answer = guide.cancel(batch)
        assert (answer.status, answer.json["status"]) == (200, "cancelling")
        ended = guide.end(batch)
        assert (ended.batch["status"], len(ended.output) + len(ended.error)) == ("cancelled", 5)
        assert {row["error"]["code"] for row in ended.error} <= {"batch_cancelled"}


def test_in_72_what_had_started_finishes_and_the_rest_never_starts(guide: Guide) -> None:
    text = mark()
    with guide.held(40, free=4, word=text) as batch:
        guide.cancel(batch)
    ended = guide.end(batch)
    assert guide.calls(text) == len(ended.output) > 4
    assert [row["error"]["code"] for row in ended.error] == ["batch_cancelled"] * (40 - len(ended.output))
    assert ended.batch["usage"]["output_tokens"] == 7 * len(ended.output)


def test_in_73_a_finished_batch_cannot_be_cancelled(guide: Guide) -> None:
    for data in (jsonl(*several(1)), jsonl("{broken", chat("a", mark()))):
        ended = guide.run(data)
        answer = guide.cancel(ended.batch)
        assert (answer.status, answer.code) == (400, "batch_not_cancellable")
        assert answer.json["error"]["message"] == f"Cannot cancel a batch with status '{ended.batch['status']}'."
        assert guide.check(ended.batch) == ended.batch


def test_in_74_a_cancelled_batch_is_finished_too(guide: Guide) -> None:
    with guide.held() as batch:
        guide.cancel(batch)
    ended = guide.end(batch).batch
    answer = guide.cancel(batch)
    assert (answer.status, answer.code) == (400, "batch_not_cancellable")
    assert "'cancelled'" in answer.json["error"]["message"]
    assert guide.check(batch) == ended


def test_in_78_cancelling_ones_own_batch_leaves_no_entry(guide: Guide) -> None:
    with guide.held() as batch:
        guide.cancel(batch)
    ended = guide.end(batch).batch
    assert (ended["status"], ended["errors"]) == ("cancelled", None)
