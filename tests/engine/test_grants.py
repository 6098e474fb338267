"""How workers share the slots of a model."""

from hypothesis import given
from hypothesis import strategies as st

from hornada.engine.grants import Grant, Held, Want, fair, grant


def wants(*demands: int) -> list[Want]:
    return [Want(worker=f"w{at}", demand=demand) for at, demand in enumerate(demands)]


def test_workers_with_much_to_do_get_the_same() -> None:
    assert fair(12, wants(100, 100, 100)) == {"w0": 4, "w1": 4, "w2": 4}


def test_what_one_does_not_need_is_for_the_others() -> None:
    assert fair(12, wants(2, 100, 100)) == {"w0": 2, "w1": 5, "w2": 5}
    assert fair(12, wants(0, 100, 0)) == {"w0": 0, "w1": 12, "w2": 0}


def test_who_holds_lines_comes_before_who_would_like_to() -> None:
    keen = [Want(worker="a", demand=0, more=True), Want(worker="b", demand=7), Want(worker="c", demand=0, more=True)]
    assert fair(1, keen) == {"a": 0, "b": 1, "c": 0}
    assert fair(2, keen) == {"a": 1, "b": 1, "c": 0}


def test_nobody_is_cut_below_what_is_in_flight() -> None:
    mine, other = wants(50, 50)
    assert grant(8, mine, 8, [other], []) == Grant(8, use=4)
    assert grant(8, mine, 5, [other], []) == Grant(5, use=4)
    assert grant(8, mine, 2, [other], []) == Grant(4, use=4)


def test_a_worker_that_joins_gets_what_the_first_has_given_back() -> None:
    first, second = wants(50, 50)
    assert grant(8, second, 0, [first], [Held(8)]) == Grant(0, use=0)
    assert grant(8, second, 0, [first], [Held(6)]) == Grant(2, use=2)
    assert grant(8, second, 0, [first], [Held(4)]) == Grant(4, use=4)


def test_slots_of_a_worker_that_is_away_are_shared_by_nobody() -> None:
    first, second = wants(50, 50)
    assert grant(8, first, 0, [second], [Held(4, live=False)]).slots == 2


demands = st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=12)


@given(st.integers(-3, 64), demands)
def test_parts_are_within_the_room_and_leave_nothing_that_is_wanted(room: int, demands: list[tuple[int, bool]]) -> None:
    known = [Want(worker=f"w{at}", demand=demand, more=more) for at, (demand, more) in enumerate(demands)]
    parts = fair(room, known)
    assert sum(parts.values()) == min(max(0, room), sum(want.slots for want in known))
    assert all(parts[want.worker] <= want.slots for want in known)
    hungry = [parts[want.worker] for want in known if parts[want.worker] < want.slots]
    most = max(parts.values())
    assert all(most - part <= 1 for part in hungry)


@given(st.data(), st.integers(1, 32), st.integers(2, 8))
def test_grants_never_sum_to_more_than_the_room(data: st.DataObject, room: int, workers: int) -> None:
    """Whoever renews in whatever order, however demand changes and whoever falls silent."""
    slots = dict.fromkeys((f"w{at}" for at in range(workers)), 0)
    demand = dict.fromkeys(slots, 0)
    away: set[str] = set()
    for _ in range(30):
        me = data.draw(st.sampled_from(sorted(slots)))
        if data.draw(st.integers(0, 9)) == 0:
            away ^= {me}
            continue
        demand[me] = data.draw(st.integers(0, 20))
        in_flight = data.draw(st.integers(0, slots[me]))
        others = [Want(worker=each, demand=demand[each]) for each in slots if each != me and each not in away]
        held = [Held(slots[each], live=each not in away) for each in slots if each != me]
        slots[me] = grant(room, Want(worker=me, demand=demand[me]), in_flight, others, held).slots
        assert sum(slots.values()) <= room
