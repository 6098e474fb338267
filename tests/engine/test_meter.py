"""Requests a minute, counted."""

import random

import pytest

from hornada.core.account import Plan, Principal, Role
from hornada.core.errors import Code, Refusal
from hornada.engine.meter import Meter, Metered
from tests.conftest import Hands


@pytest.fixture
def meter(clock: Hands) -> Meter:
    return Meter(clock)


def caller(limit: int = 5, *, org: str = "org", key: str = "key", own: int | None = None) -> Principal:
    plan = Plan(requests_per_minute=limit)
    return Principal(org=org, member="ana", key=key, role=Role.MEMBER, plan=plan, requests_per_minute=own)


def taken(meter: Meter, who: Principal) -> Metered:
    found = meter.take(who)
    assert found is not None
    return found


def granted(meter: Meter, who: Principal, calls: int) -> int:
    return sum(taken(meter, who).wait_s is None for _ in range(calls))


def test_as_many_calls_as_the_plan_says_may_come_at_once(meter: Meter) -> None:
    assert [taken(meter, caller()).remaining for _ in range(5)] == [4, 3, 2, 1, 0]
    refused = taken(meter, caller())
    assert (refused.limit, refused.remaining, refused.reset_s, refused.wait_s) == (5, 0, 60, 12)


def test_time_gives_calls_back_one_by_one(meter: Meter, clock: Hands) -> None:
    assert granted(meter, caller(), 6) == 5
    clock.advance(11.9)
    assert taken(meter, caller()).wait_s == 1
    clock.advance(0.1)
    assert granted(meter, caller(), 2) == 1
    clock.advance(60)
    assert granted(meter, caller(), 6) == 5


def test_a_refused_call_does_not_count(meter: Meter, clock: Hands) -> None:
    granted(meter, caller(), 500)
    clock.advance(12)
    assert granted(meter, caller(), 2) == 1


def test_when_none_counts_any_more_is_told_in_whole_seconds(meter: Meter, clock: Hands) -> None:
    assert taken(meter, caller()).reset_s == 12
    clock.advance(0.5)
    assert taken(meter, caller()).reset_s == 24
    clock.advance(23.5)
    assert taken(meter, caller()).reset_s == 12


def test_the_wait_is_a_second_at_least_and_a_minute_at_most(meter: Meter) -> None:
    granted(meter, caller(6000), 6000)
    assert taken(meter, caller(6000)).wait_s == 1
    granted(meter, caller(1, org="slow"), 1)
    assert taken(meter, caller(1, org="slow")).wait_s == 60


def test_no_more_than_a_limit_and_what_time_gives_back_is_ever_granted(meter: Meter, clock: Hands) -> None:
    chance, began, calls = random.Random(7), clock.monotonic(), 0
    for _ in range(20_000):
        clock.advance(chance.choice([0, 0.001, 0.04, 0.3]))
        calls += granted(meter, caller(97), 1)
        assert calls <= 97 + (clock.monotonic() - began) * 97 / 60 + 1e-6
    assert calls >= (clock.monotonic() - began) * 97 / 60 - 1


def test_organizations_do_not_draw_on_each_other(meter: Meter) -> None:
    granted(meter, caller(), 5)
    assert granted(meter, caller(org="other"), 5) == 5


def test_keys_of_an_organization_share_its_limit(meter: Meter) -> None:
    assert granted(meter, caller(key="a"), 3) + granted(meter, caller(key="b"), 3) == 5


def test_a_key_with_a_lower_limit_has_that_one_and_leaves_the_rest_to_others(meter: Meter) -> None:
    assert granted(meter, caller(key="a", own=2), 4) == 2
    refused = taken(meter, caller(key="a", own=2))
    assert (refused.limit, refused.remaining, refused.wait_s) == (2, 0, 30)
    assert granted(meter, caller(key="b"), 5) == 3


def test_a_key_with_a_higher_limit_than_its_organization_has_its_organizations(meter: Meter) -> None:
    assert granted(meter, caller(own=100), 10) == 5
    assert taken(meter, caller(own=100)).limit == 5


def test_of_two_limits_that_are_reached_the_longer_wait_is_told(meter: Meter, clock: Hands) -> None:
    granted(meter, caller(2, key="a", own=60), 2)
    granted(meter, caller(60, org="wide", key="b", own=1), 1)
    assert taken(meter, caller(2, key="a", own=60)).wait_s == 30
    assert taken(meter, caller(60, org="wide", key="b", own=1)).wait_s == 60


def test_a_limit_that_is_changed_holds_from_the_next_call_on(meter: Meter, clock: Hands) -> None:
    granted(meter, caller(100), 100)
    assert granted(meter, caller(110), 20) == 10
    refused = taken(meter, caller(2))
    assert (refused.wait_s, refused.reset_s) == (30, 60)
    clock.advance(60)
    assert granted(meter, caller(2), 5) == 2


def test_the_operator_has_no_limit(meter: Meter) -> None:
    operator = Principal(org="", member="", key="", role=Role.OPERATOR, plan=Plan(requests_per_minute=1))
    assert [meter.take(operator) for _ in range(3)] == [None] * 3


def test_what_nobody_uses_is_not_kept(meter: Meter, clock: Hands) -> None:
    for number in range(1000):
        meter.take(caller(org=f"o{number}", key=f"k{number}", own=3))
    assert meter.kept == 2000
    clock.advance(60)
    for _ in range(700):
        meter.take(caller(1000))
    assert meter.kept == 1


def test_a_refusal_names_the_limit_and_when_to_come_back(meter: Meter) -> None:
    granted(meter, caller(1200, key="a", own=7), 7)
    with pytest.raises(Refusal) as refused:
        taken(meter, caller(1200, key="a", own=7)).check()
    assert refused.value.code is Code.RATE_LIMIT_EXCEEDED
    assert (refused.value.retry_after, refused.value.should_retry) == (9, None)
    assert "this key may make 7 requests a minute" in refused.value.message
    granted(meter, caller(1200), 1200)
    with pytest.raises(Refusal, match=r"the organization may make 1,200 requests a minute.* in 1 s"):
        taken(meter, caller(1200)).check()
    taken(meter, caller(org="other")).check()
