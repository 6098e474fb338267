"""One gate per model: regular calls pass at once, lines use what they leave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hornada.core.catalog import Model, Server
from hornada.engine.capacity import Gate, Gates
from tests.conftest import Hands

MODEL = Model(name="m", servers=(Server(url="http://x"),), capacity=4, batch_slots=4, reserve=0)


def gate(**change: int) -> Gate:
    return Gate(replace(MODEL, **change))


def taken(gate: Gate) -> int:
    n = 0
    while gate.try_line():
        n += 1
    return n


def test_lines_use_every_slot_that_is_free() -> None:
    assert taken(gate()) == 4


def test_lines_use_no_more_than_their_share() -> None:
    assert taken(gate(batch_slots=2)) == 2
    assert taken(gate(batch_slots=0)) == 0


def test_lines_leave_the_reserve_free() -> None:
    assert taken(gate(reserve=1)) == 3
    assert taken(gate(reserve=9)) == 0


def test_a_regular_call_enters_however_full_it_is() -> None:
    full = gate()
    taken(full)
    for _ in range(9):
        full.enter()
    assert full.regular == 9
    assert full.allowed == 0


def test_lines_give_way_to_regular_calls_one_for_one() -> None:
    shared = gate()
    taken(shared)
    shared.enter()
    shared.enter()
    assert not shared.keep_line()
    shared.line_done()
    assert not shared.keep_line()
    shared.line_done()
    assert shared.keep_line()
    assert not shared.try_line()


def test_a_slot_that_a_regular_call_leaves_is_told_of() -> None:
    told = list[int]()
    shared = gate()
    shared.watch(lambda: told.append(taken(shared)))
    shared.enter()
    taken(shared)
    shared.leave()
    assert told == [1]
    shared.enter()
    shared.leave()
    assert told == [1], "nothing was free"


def test_a_larger_model_has_more_room_at_once() -> None:
    told = list[int]()
    gates = Gates()
    gates.resize(MODEL)
    first = gates.of(MODEL)
    assert gates.of(MODEL) is first
    first.watch(lambda: told.append(taken(first)))
    taken(first)
    gates.resize(replace(MODEL, capacity=6, batch_slots=6))
    assert told == [2]
    gates.resize(replace(MODEL, capacity=1, batch_slots=1))
    assert not first.keep_line()


@given(st.lists(st.sampled_from(["enter", "leave", "try", "done"])), st.integers(0, 6), st.integers(0, 6))
def test_lines_never_start_where_there_is_no_room(steps: list[str], slots: int, reserve: int) -> None:
    shared = gate(batch_slots=slots, reserve=reserve)
    for step in steps:
        if step == "enter":
            shared.enter()
        elif step == "leave" and shared.regular:
            shared.leave()
        elif step == "done" and shared.lines:
            shared.line_done()
        elif step == "try" and shared.try_line():
            assert shared.lines <= slots
            assert shared.lines + shared.regular + reserve <= MODEL.capacity


def calls(gate: Gate, clock: Hands, seconds: float) -> None:
    """One regular call."""
    entered, beside = gate.enter(), gate.lines > 0
    clock.advance(seconds)
    gate.began(entered, beside=beside)
    gate.leave()


@pytest.mark.parametrize(("capacity", "kept"), [(1, 0), (2, 1), (16, 1), (32, 2), (64, 4), (500, 4)])
def test_a_few_slots_are_kept_for_the_next_regular_call_for_a_minute_after_the_last(
    clock: Hands, capacity: int, kept: int
) -> None:
    shared = Gate(replace(MODEL, capacity=capacity, batch_slots=capacity, reserve=None), clock)
    assert shared.allowed == capacity
    calls(shared, clock, 1)
    assert shared.allowed == capacity - kept
    clock.advance(59)
    shared.tick(waiting=True)
    assert shared.reserve == kept
    clock.advance(1)
    shared.tick(waiting=True)
    assert shared.allowed == capacity


def test_a_reserve_that_was_configured_always_holds(clock: Hands) -> None:
    for reserve in (0, 3):
        shared = Gate(replace(MODEL, reserve=reserve), clock)
        for _ in range(2):
            assert shared.allowed == 4 - reserve
            calls(shared, clock, 1)
            shared.tick(waiting=True)


def test_refusals_of_regular_calls_make_lines_give_way(clock: Hands) -> None:
    shared = Gate(replace(MODEL, capacity=10, batch_slots=10), clock)
    taken(shared)
    for _ in range(2):
        shared.enter()
        shared.status(429)
        shared.leave()
    assert shared.capacity == 10, "more than its slots were under way"
    for _ in range(4):
        shared.line_done()
    shared.enter()
    shared.status(503)
    shared.leave()
    assert shared.capacity == 6
    assert shared.lines == shared.allowed == 6


@pytest.mark.parametrize("status", [200, 400, 404, 500, 502])
def test_other_answers_say_nothing_of_the_capacity(status: int) -> None:
    shared = gate()
    taken(shared)
    shared.status(status)
    assert shared.capacity == 4


def test_slots_are_taken_from_lines_while_regular_calls_are_slower_beside_them(clock: Hands) -> None:
    shared = Gate(replace(MODEL, harm=0.05), clock)
    for _ in range(100):
        calls(shared, clock, 0.5)
        shared.tick(waiting=False)
    taken(shared)
    for _ in range(60):
        calls(shared, clock, 1.0)
        shared.tick(waiting=True)
    assert shared.harm.ratio == pytest.approx(2.0)
    assert shared.allowed < 4
    assert "reserved because regular calls were slower beside lines" in shared.why
    shared.resize(replace(MODEL, harm=None))
    assert shared.allowed == 4
