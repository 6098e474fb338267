"""When a line is tried again, and when a model counts as away."""

import logging

import pytest

from hornada.engine.caller import retry_after
from hornada.engine.retries import AWAY_CALLS, AWAY_LINES, Again, Health, Kind, backoff
from tests.conftest import Hands

FAILED = Again(Kind.FAILED)
REFUSED = Again(Kind.BUSY, unreached=True)


def failing(health: Health, calls: int, lines: int) -> None:
    for at in range(calls):
        health.failed(("b", 0, at % lines), FAILED)


@pytest.mark.parametrize(("tries", "longest"), [(0, 0.5), (1, 1), (3, 4), (6, 20), (60, 20)])
def test_waits_grow_and_are_spread_over_their_whole_range(tries: int, longest: float) -> None:
    waits = [backoff(tries, None) for _ in range(400)]
    assert 0 <= min(waits) < 0.1 * longest
    assert 0.9 * longest < max(waits) <= longest


@pytest.mark.parametrize(("asked", "least"), [(0, 0), (7, 7), (3600, 60), (-5, 0)])
def test_a_server_that_asks_for_time_gets_it_up_to_a_minute(asked: float, least: float) -> None:
    waits = [backoff(4, asked) for _ in range(100)]
    assert least <= min(waits)
    assert max(waits) <= least + 2


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "9", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "9", "retry-after-ms": "soon"}, 9),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-1"}, None),
        ({}, None),
    ],
)
def test_what_a_server_asks_for_is_read_from_its_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_model_is_away_after_twenty_failures_in_a_row_of_ten_lines(clock: Hands) -> None:
    health = Health(clock)
    failing(health, AWAY_CALLS - 1, AWAY_LINES)
    assert not health.away
    failing(health, 1, 1)
    assert health.away


def test_failures_of_a_few_lines_say_nothing_about_the_model(clock: Hands) -> None:
    health = Health(clock)
    failing(health, 100, AWAY_LINES - 1)
    assert not health.away


def test_one_answer_between_begins_the_count_anew(clock: Hands) -> None:
    health = Health(clock)
    failing(health, AWAY_CALLS - 1, AWAY_LINES)
    assert not health.answered()
    failing(health, AWAY_CALLS - 1, AWAY_LINES)
    assert not health.away


def test_a_model_that_cannot_be_reached_is_away_at_once(clock: Hands) -> None:
    health = Health(clock)
    health.failed(("b", 0, 0), REFUSED)
    assert health.away


def test_while_a_model_is_away_one_line_probes_at_growing_intervals(clock: Hands) -> None:
    health = Health(clock)
    health.failed(("b", 0, 0), REFUSED)
    waits = list[float]()
    for _ in range(6):
        waits.append(health.wait())
        assert not health.may_start()
        clock.advance(health.wait())
        assert health.may_start()
        assert not health.may_start(), "one probe at a time"
        health.failed(("b", 0, 0), REFUSED)
    assert waits == [0.5, 1, 2, 4, 5, 5]


def test_calls_that_were_under_way_when_a_model_went_away_do_not_put_its_probe_off(clock: Hands) -> None:
    health = Health(clock)
    for at in range(8):
        health.failed(("b", 0, at), REFUSED)
    assert health.wait() == 0.5


def test_an_answer_brings_a_model_back(clock: Hands) -> None:
    health = Health(clock)
    health.failed(("b", 0, 0), REFUSED)
    clock.advance(1)
    assert health.may_start()
    assert health.answered()
    assert not health.away
    assert health.may_start()
    assert health.may_start()


def test_a_probe_that_says_nothing_is_followed_by_another(clock: Hands) -> None:
    health = Health(clock)
    health.failed(("b", 0, 0), REFUSED)
    clock.advance(1)
    assert health.may_start()
    health.probe_lost()
    assert health.may_start()


def test_going_away_and_coming_back_are_each_logged_once(clock: Hands, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    health = Health(clock, "m")
    health.answered()
    for _ in range(3):
        health.failed(("b", 0, 0), Again(Kind.BUSY, unreached=True, why="it cannot be reached."))
    assert health.reason == "it cannot be reached."
    clock.advance(9)
    health.answered()
    health.answered()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "model m is away: it cannot be reached. Its lines wait; one asks for it now and then"),
        ("INFO", "model m answers again after 9 s; its lines go on"),
    ]
