"""The judge: it lets a listed outcome pass and says what is wrong with any other."""

import json
from typing import Any

from bench.client import Answer
from tests.cases.judge import reasons, verdict
from tests.cases.run import Facts

WANTED: dict[str, Any] = {
    "batch": "completed",
    "counts": [2, 2, 0],
    "output": {"a": {"echo": "one"}},
    "error_file": False,
}


def row(custom_id: str, text: str) -> dict[str, Any]:
    body = {"choices": [{"message": {"content": text}}]}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": f"batch_req_{custom_id}", "custom_id": custom_id, "response": response, "error": None}


def facts(*rows: dict[str, Any], **batch: Any) -> Facts:
    data = "".join(json.dumps(entry) + "\n" for entry in rows).encode()
    counts = {"total": 2, "completed": 2, "failed": 0}
    found = {
        "status": "completed",
        "request_counts": counts,
        "output_file_id": "file-1",
        "error_file_id": None,
        **batch,
    }
    return Facts(batch=found, files={"output": Answer(200, {}, data)}, stats={"total": 2, "calls": {}, "log": []})


def test_the_listed_outcome_passes() -> None:
    assert reasons(WANTED, facts(row("a", "ECHO:one"), row("b", "ECHO:two"))) == []


def test_a_lost_line_is_named() -> None:
    assert "1 result lines for total 2" in reasons(WANTED, facts(row("a", "ECHO:one")))


def test_a_repeated_line_is_named() -> None:
    assert "an id appears more than once in the files" in reasons(
        WANTED, facts(row("a", "ECHO:one"), row("a", "ECHO:one"))
    )


def test_another_lines_answer_is_named() -> None:
    why = reasons(WANTED, facts(row("a", "ECHO:two"), row("b", "ECHO:one")))
    assert why == ["'a': answer 'ECHO:two', wanted ECHO:'one'"]


def test_a_server_error_spoils_every_outcome() -> None:
    found = facts(row("a", "ECHO:one"), row("b", "ECHO:two"))
    found.notes.append("GET batch answered 500")
    assert verdict([WANTED], found) == ("miss", ["GET batch answered 500"])


def test_a_finding_at_another_line_is_named() -> None:
    want = {"batch": "failed", "errors": [[3, ["invalid_json_line"]]], "errors_exact": True}
    found = facts(status="failed", errors={"data": [{"code": "invalid_json_line", "line": 2}]}, output_file_id=None)
    found.files.clear()
    assert reasons(want, found) == [
        'no error invalid_json_line at line 3 (got {"2": ["invalid_json_line"]})',
        "errors at lines [2], wanted exactly [3]",
    ]


def test_the_second_outcome_is_tolerable() -> None:
    found = facts(row("a", "ECHO:one"), row("b", "ECHO:two"))
    assert verdict([{"batch": "failed"}, WANTED], found)[0] == "tolerable"


def test_counts_that_fall_are_named() -> None:
    found = facts(
        row("a", "ECHO:one"), row("b", "ECHO:two"), created_at=1, in_progress_at=1, finalizing_at=2, completed_at=2
    )
    polls = [(1, "in_progress"), (0, "in_progress"), (2, "completed")]
    found.history = [
        {
            "status": status,
            "request_counts": {"total": 2, "completed": n, "failed": 0},
            "output_file_id": None,
            "error_file_id": None,
        }
        for n, status in polls
    ]
    assert reasons({**WANTED, "watch": True}, found) == ["counts fell from (1, 0) to (0, 0)"]


def test_a_call_that_had_to_be_refused_and_was_not_is_named() -> None:
    want = {"upload": {"status": [413], "code": ["file_too_large"]}}
    assert reasons(want, Facts(upload=Answer(200, {}, b"{}"))) == ["upload answered 200, wanted [413]"]


def test_an_accepted_file_needs_its_total() -> None:
    found = facts(status="in_progress")
    assert reasons({"accepted": True, "counts_total": 3}, found) == ["total 2, wanted 3"]
