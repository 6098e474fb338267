"""When lines give way because regular calls are slower beside them."""

import random

from hornada.engine.harm import Harm


class Scene:
    """Regular calls, one every 0.2 s, that take ``alone`` or ``beside`` seconds, give or take a fifth."""

    def __init__(self, most: float | None = 0.05, *, alone: float = 0.5, seed: int = 1) -> None:
        self.harm = Harm(most)
        self.chance = random.Random(seed)
        self.alone = alone
        self.now = 100.0
        self.paused_s = 0.0

    def run(self, seconds: float, *, lines: int, slower: float = 0.0) -> "Scene":
        end = self.now + seconds
        while self.now < end:
            self.now += 0.2
            at_work = 0 if self.harm.pausing else lines
            took = self.alone * self.chance.uniform(0.8, 1.2)
            if at_work:
                took *= 1 + slower * max(0, 8 - self.harm.reserve) / 8
            self.paused_s += 0.2 * self.harm.pausing
            self.harm.note(self.now, took, beside=at_work > 0)
            self.harm.tick(self.now, lines=at_work, capacity=8)
        return self


def test_calls_that_are_no_slower_beside_lines_cost_nothing() -> None:
    for seed in range(5):
        scene = Scene(seed=seed).run(60, lines=0).run(1200, lines=8)
        assert scene.harm.reserve <= 1
        assert scene.harm.ratio is not None
        assert 0.9 < scene.harm.ratio < 1.1


def test_lines_give_way_step_by_step_until_the_harm_is_within_the_limit() -> None:
    scene = Scene().run(60, lines=0).run(300, lines=8, slower=0.8)
    assert scene.harm.reserve >= 6
    assert scene.harm.ratio is not None
    assert scene.harm.ratio < 1.2


def test_no_more_than_one_slot_in_ten_seconds_is_taken_from_lines() -> None:
    scene = Scene().run(60, lines=0).run(29, lines=8, slower=5)
    assert scene.harm.reserve == 3


def test_never_more_than_the_capacity_is_kept_free() -> None:
    scene = Scene().run(60, lines=0)
    reserved = set[int]()
    for _ in range(300):
        reserved.add(scene.run(1, lines=8 - scene.harm.reserve, slower=50).harm.reserve)
    assert max(reserved) == 8


def test_where_lines_have_nothing_left_they_get_a_slot_back_for_another_try() -> None:
    scene = Scene().run(60, lines=0)
    scene.harm.reserve = 8
    scene.run(200, lines=0)
    assert 4 <= scene.harm.reserve < 8


def test_slots_are_given_back_slowly_when_all_is_well() -> None:
    scene = Scene().run(60, lines=0).run(60, lines=8, slower=3)
    before = scene.harm.reserve
    scene.run(200, lines=8)
    assert before - 3 <= scene.harm.reserve < before


def test_without_a_limit_harm_is_only_measured() -> None:
    scene = Scene(None).run(60, lines=0).run(120, lines=8, slower=1)
    assert scene.harm.reserve == 0
    assert scene.harm.ratio is not None
    assert scene.harm.ratio > 1.7
    assert scene.run(1200, lines=8, slower=1).paused_s == 0


def test_lines_that_never_stop_pause_for_a_second_a_minute_so_that_there_is_something_to_hold_against() -> None:
    scene = Scene().run(900, lines=8, slower=0.8)
    assert scene.harm.reserve > 0
    assert 5 < scene.paused_s < 30


def test_there_is_no_pause_where_nobody_calls() -> None:
    harm = Harm(0.05)
    for at in range(2000):
        harm.tick(100.0 + at, lines=8, capacity=8)
        assert not harm.pausing


def test_a_pause_that_does_not_empty_the_server_is_given_up() -> None:
    harm = Harm(0.05)
    paused = 0.0
    for at in range(6000):
        now = 100 + at / 10
        if at % 5 == 0:
            harm.note(now, 0.5, beside=True)
        harm.tick(now, lines=8, capacity=8)  # long calls go on
        paused += harm.pausing / 10
    assert 0 < paused < 40


def test_what_is_older_than_ten_minutes_counts_no_more() -> None:
    scene = Scene(None).run(60, lines=0).run(60, lines=8, slower=1)
    scene.run(700, lines=0)
    assert scene.harm.ratio is None
