"""A batch's pace, when it will have run, what it costs, and by which words its failures are counted."""

from typing import Any

import pytest
from msgspec.structs import replace

from hornada.core.batch import Batch, RequestCounts, Status, StopReason
from hornada.core.clock import SECOND
from hornada.core.progress import MOST_CODES, Counted, code_of, most, progress
from tests.dialects.nouns import FRESH

NOW = 1_760_000_003 * SECOND


def running(since_s: float, total: int, completed: int, failed: int = 0, **change: Any) -> Batch:
    fields = {"status": Status.IN_PROGRESS, "stop": None, "in_progress_at": NOW - round(since_s * SECOND)}
    return replace(FRESH, counts=RequestCounts(total, completed, failed), **(fields | change))


def test_the_pace_is_that_of_the_last_minute() -> None:
    found = progress(running(7200, 10_000, 4000), Counted(short=570, long=800), NOW)
    assert found.rate == pytest.approx(570 / 58, abs=1e-3)  # buckets of five seconds: three of this one, 55 before
    assert found.eta == 611


def test_of_few_lines_it_is_that_of_ten_minutes_or_of_the_whole_time() -> None:
    assert progress(running(7200, 100, 50), Counted(short=2, long=30), NOW).rate == pytest.approx(30 / 598, abs=1e-3)
    assert progress(running(7200, 100, 50), Counted(short=1, long=3), NOW).rate == pytest.approx(50 / 7200, abs=1e-3)


def test_a_batch_that_has_just_begun_is_measured_since_then() -> None:
    found = progress(running(4, 20, 8), Counted(short=8, long=8), NOW)
    assert (found.rate, found.eta) == (2.0, 6)
    assert progress(running(0.1, 20, 5), Counted(short=5, long=5), NOW).rate == 5.0


def test_nothing_is_foretold_of_a_batch_that_does_not_run() -> None:
    run = Counted(short=100, long=100)
    assert progress(running(100, 500, 100, paused=True), run, NOW).eta is None
    assert progress(running(100, 500, 100, stop=StopReason.NO_CREDIT), run, NOW).eta is None
    assert progress(running(100, 500, 0), Counted(), NOW).eta is None
    stopped = progress(running(100, 500, 100, status=Status.CANCELLING), run, NOW)
    assert (stopped.rate, stopped.eta) == (None, None)


def test_what_is_left_is_taken_to_cost_what_was_answered_did() -> None:
    found = progress(running(100, 500, 100, 50), Counted(cost=1000), NOW)
    assert (found.cost, found.estimated_cost) == (1000, 4500)
    assert progress(running(100, 500, 0, 50), Counted(), NOW).estimated_cost is None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"error":{"code":"rate_limit_exceeded"}}', "rate_limit_exceeded"),
        (b'{"error":{"code":503,"type":"x"}}', "http_503"),
        (b'{"error":{"code":"503"}}', "http_503"),
        (b'{"error":{"code":null}}', "http_503"),
        (b'{"error":{"code":"two words"}}', "http_503"),
        (b'{"error":{"code":"%b"}}' % (b"x" * 65), "http_503"),
        (b'{"error":"no"}', "http_503"),
        (b"[]", "http_503"),
        (b"<html>", "http_503"),
        (b"\xff", "http_503"),
    ],
)
def test_a_failure_is_counted_by_its_code_or_by_its_status(body: bytes, code: str) -> None:
    assert code_of(503, body) == code


def test_the_most_frequent_codes_come_first_and_the_rest_together() -> None:
    many = {f"c{at:03}": at + 1 for at in range(MOST_CODES + 3)}
    found = most(many)
    assert next(iter(found)) == f"c{MOST_CODES + 2:03}"
    assert (len(found), found["other"]) == (MOST_CODES + 1, 1 + 2 + 3)
    assert sum(found.values()) == sum(many.values())
