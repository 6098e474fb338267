"""What is learned of a server's capacity, from servers that queue, refuse, slow down, vary and go away."""

import pytest

from hornada.engine.gauge import Load
from hornada.engine.learning import Limiter
from tests.engine.simulation import LATE, Story


def test_a_gauge_leads_to_the_servers_slots_with_nothing_waiting_there() -> None:
    story = Story(slots=32, gauge=True, noise=0.5)
    assert story.run(60).limits[-1] in {32, 33}
    story.run(300)
    assert set(story.limits) <= {32, 33}
    assert sum(story.waited) / len(story.waited) < 0.2
    assert story.used > 0.99


def test_a_gauge_leads_down_at_once_where_eight_were_too_many() -> None:
    story = Story(slots=2, gauge=True, seconds=lambda _: 5.0).run(2)
    assert story.limits[-1] == 2
    assert story.gate.why == "auto: 2 slots; the server had 6 requests waiting"


def test_one_reading_with_somebody_waiting_is_no_reason_to_give_way() -> None:
    limiter = Limiter.auto(8)
    for at in range(20):
        limiter.tick(at / 2, full=True, in_flight=8, load=Load(6, 2) if at % 2 else Load(8, 0))
    assert limiter.limit == 8


def test_requests_of_others_that_use_the_server_are_left_their_slots() -> None:
    limiter = Limiter.auto(30)
    for at in range(3):
        limiter.tick(at / 2, full=True, in_flight=30, load=Load(32, 8))
    assert limiter.limit == 22


def test_a_gauge_that_falls_silent_means_a_step_down_each_time() -> None:
    limiter = Limiter.auto(8)
    for at in range(4):
        limiter.tick(at * 1.0, full=True, in_flight=8, load=Load(silent=True))
    assert limiter.limit == 6
    assert "too busy to say" in limiter.why


def test_nothing_grows_that_is_not_used() -> None:
    limiter = Limiter.auto(8)
    for at in range(100):
        limiter.tick(at / 2, full=at % 2 == 0, in_flight=8, load=Load(8, 0))
    assert limiter.limit == 8


def test_a_server_that_refuses_is_kept_full_and_hardly_ever_asked_too_much() -> None:
    story = Story(slots=32, refuses=True).run(60)
    assert story.limits[-1] in {32, 33}
    story.run(600)
    assert story.used > 0.99
    assert story.refused / story.sent < 0.01


@pytest.mark.parametrize("seconds", [0.2, 20.0])
def test_a_capacity_that_was_configured_too_high_is_cut_to_what_the_server_takes_after_one_burst(
    seconds: float,
) -> None:
    story = Story(slots=32, refuses=True, auto=False, capacity=64, batch_slots=64, seconds=lambda _: seconds, noise=0.3)
    assert story.run(1).limits[-1] == 32
    assert story.refused == 32
    assert story.gate.why == "32 of 64 slots; the server refused requests"
    story.run(300)
    assert set(story.limits) <= {32, 33}
    assert story.used > 0.98
    assert story.refused <= 24


def test_a_capacity_that_was_configured_is_never_passed_and_nothing_but_refusals_cuts_it() -> None:
    story = Story(slots=8, auto=False, capacity=64, batch_slots=64, gauge=True).run(60)
    assert set(story.limits) == {64}
    story.gate.came_back(LATE)
    assert story.gate.capacity == 64


def test_a_cut_is_undone_when_the_server_takes_more() -> None:
    story = Story(slots=4, refuses=True, auto=False, capacity=64, batch_slots=64).run(60)
    assert story.limits[-1] in {4, 5}
    story.slots = 100
    story.run(120)
    assert story.limits[-1] == 64
    assert story.gate.why == "64 slots"


def test_refusals_of_a_server_that_was_away_are_forgotten_when_it_is_back() -> None:
    story = Story(slots=64, refuses=True, auto=False, capacity=64, batch_slots=64).run(5)
    story.away = True
    story.run(5)
    assert story.limits[-1] == 1
    story.gate.returned()
    assert story.gate.capacity == 64


def test_an_answer_from_among_many_does_not_undo_a_cut() -> None:
    story = Story(slots=32, refuses=True, auto=False, capacity=64, batch_slots=64).run(0.3)
    story.gate.returned()
    assert story.gate.capacity == 32


def test_requests_that_time_out_together_halve_the_limit_once() -> None:
    story = Story(slots=16, gauge=True).run(30)
    before = story.gate.capacity
    for _ in range(before):
        story.gate.came_back(LATE)
    assert story.gate.capacity == before // 2
    story.gate.came_back(LATE)
    assert story.gate.capacity == before // 4


def test_without_a_gauge_latency_leads_near_the_slots_of_a_server_that_queues() -> None:
    story = Story(slots=32).run(60)
    story.run(600)
    assert min(story.limits) >= 20
    assert max(story.limits) <= 45
    assert story.used > 0.9


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [0.5, 1.0])
def test_latency_that_varies_by_itself_is_no_reason_to_starve(noise: float, seed: int) -> None:
    story = Story(slots=32, noise=noise, seed=seed).run(120)
    story.run(600)
    assert max(story.limits) <= 50
    assert story.used > 0.75


def test_without_a_gauge_a_small_server_is_found_from_above() -> None:
    story = Story(slots=2, noise=0.3, seconds=lambda _: 0.1).run(120)
    story.run(300)
    assert max(story.limits) <= 5
    assert story.used > 0.7


def test_a_server_that_slows_down_gently_is_used_to_the_point_where_more_brings_less() -> None:
    story = Story(slots=10_000, seconds=lambda working: 1 + working / 64).run(300)
    story.run(600)
    assert min(story.limits) >= 40
    assert max(story.limits) <= 90


def test_a_server_without_end_is_used_without_end() -> None:
    story = Story(slots=10_000, seconds=lambda _: 0.1, noise=0.5).run(150)
    assert story.limits[-1] > 100


def test_regular_calls_alone_let_the_limit_grow_until_lines_fit() -> None:
    story = Story(slots=32, gauge=True)
    for _ in range(12):
        story.gate.enter()
    story.working += 12
    assert story.run(60).gate.lines >= 18


def test_what_is_kept_free_for_regular_calls_is_not_learned_away() -> None:
    story = Story(slots=32, gauge=True, reserve=4).run(120)
    story.run(600)
    assert sorted(story.limits)[len(story.limits) * 8 // 10] == 32
    assert max(story.limits) <= 38


def test_the_reason_is_one_sentence() -> None:
    story = Story(slots=3, gauge=True, seconds=lambda _: 5.0).run(3)
    story.gate.enter()
    story.gate.tick(waiting=True, load=Load(3, 0))
    assert story.gate.why == "auto: 3 slots; the server had 5 requests waiting, 1 regular call, 1 reserved"
