"""Requests a minute, counted by one process or by several."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from hornada.core.account import Plan, Principal, Role
from hornada.core.errors import Code, Refusal
from hornada.engine.meter import Meter, Metered
from hornada.engine.shared_meter import SharedMeter
from hornada.store import connect
from hornada.store.rate import CALL
from tests.conftest import Hands, _empty

AnyMeter = Meter | SharedMeter


@pytest.fixture(params=["alone", "shared"])
def meter(request: pytest.FixtureRequest, clock: Hands) -> AnyMeter:
    if request.param == "alone":
        return Meter(clock)
    meters: list[SharedMeter] = request.getfixturevalue("meters")
    return meters[0]


@pytest.fixture
async def meters(shared_postgres: str, clock: Hands) -> AsyncIterator[list[SharedMeter]]:
    """Those of four processes on one ledger."""
    async with AsyncExitStack() as stack:
        found = [await connect(shared_postgres, clock) for _ in range(4)]
        for db in found:
            stack.push_async_callback(db.close)
        await found[0].migrate()
        await _empty(shared_postgres)
        yield [SharedMeter(db, clock) for db in found]


def caller(limit: int = 5, *, org: str = "org", key: str = "key", own: int | None = None) -> Principal:
    plan = Plan(requests_per_minute=limit)
    return Principal(org=org, member="ana", key=key, role=Role.MEMBER, plan=plan, requests_per_minute=own)


async def taken(meter: AnyMeter, who: Principal) -> Metered:
    found = await meter.take(who)
    assert found is not None
    return found


async def granted(meter: AnyMeter, who: Principal, calls: int) -> int:
    return sum([(await taken(meter, who)).wait_s is None for _ in range(calls)])


async def test_as_many_calls_as_the_plan_says_may_come_at_once(meter: AnyMeter) -> None:
    assert [(await taken(meter, caller())).remaining for _ in range(5)] == [4, 3, 2, 1, 0]
    refused = await taken(meter, caller())
    assert (refused.limit, refused.remaining, refused.reset_s, refused.wait_s) == (5, 0, 60, 12)


async def test_time_gives_calls_back_one_by_one(meter: AnyMeter, clock: Hands) -> None:
    assert await granted(meter, caller(), 6) == 5
    clock.advance(11.9)
    assert (await taken(meter, caller())).wait_s == 1
    clock.advance(0.1)
    assert await granted(meter, caller(), 2) == 1
    clock.advance(60)
    assert await granted(meter, caller(), 6) == 5


async def test_a_refused_call_does_not_count(meter: AnyMeter, clock: Hands) -> None:
    await granted(meter, caller(), 500)
    clock.advance(12)
    assert await granted(meter, caller(), 2) == 1


async def test_when_none_counts_any_more_is_told_in_whole_seconds(meter: AnyMeter, clock: Hands) -> None:
    assert (await taken(meter, caller())).reset_s == 12
    clock.advance(0.5)
    assert (await taken(meter, caller())).reset_s == 24
    clock.advance(23.5)
    assert (await taken(meter, caller())).reset_s == 12


async def test_the_wait_is_a_second_at_least_and_a_minute_at_most(meter: AnyMeter) -> None:
    await granted(meter, caller(6000), 6000)
    assert (await taken(meter, caller(6000))).wait_s == 1
    await granted(meter, caller(1, org="slow"), 1)
    assert (await taken(meter, caller(1, org="slow"))).wait_s == 60


async def test_no_more_than_a_limit_and_what_time_gives_back_is_ever_granted(meter: AnyMeter, clock: Hands) -> None:
    chance, began, calls = random.Random(7), clock.monotonic(), 0
    for _ in range(20_000 if isinstance(meter, Meter) else 1_000):
        clock.advance(chance.choice([0, 0.001, 0.04, 0.3]))
        calls += await granted(meter, caller(97), 1)
        assert calls <= 97 + (clock.monotonic() - began) * 97 / 60 + 1e-6
    assert calls >= (clock.monotonic() - began) * 97 / 60 - 1


async def test_organizations_do_not_draw_on_each_other(meter: AnyMeter) -> None:
    await granted(meter, caller(), 5)
    assert await granted(meter, caller(org="other"), 5) == 5


async def test_keys_of_an_organization_share_its_limit(meter: AnyMeter) -> None:
    assert await granted(meter, caller(key="a"), 3) + await granted(meter, caller(key="b"), 3) == 5


async def test_a_key_with_a_lower_limit_has_that_one_and_leaves_the_rest_to_others(meter: AnyMeter) -> None:
    assert await granted(meter, caller(key="a", own=2), 4) == 2
    refused = await taken(meter, caller(key="a", own=2))
    assert (refused.limit, refused.remaining, refused.wait_s) == (2, 0, 30)
    assert await granted(meter, caller(key="b"), 5) == 3


async def test_a_key_with_a_higher_limit_than_its_organization_has_its_organizations(meter: AnyMeter) -> None:
    assert await granted(meter, caller(own=100), 10) == 5
    assert (await taken(meter, caller(own=100))).limit == 5


async def test_of_two_limits_that_are_reached_the_longer_wait_is_told(meter: AnyMeter, clock: Hands) -> None:
    await granted(meter, caller(2, key="a", own=60), 2)
    await granted(meter, caller(60, org="wide", key="b", own=1), 1)
    assert (await taken(meter, caller(2, key="a", own=60))).wait_s == 30
    assert (await taken(meter, caller(60, org="wide", key="b", own=1))).wait_s == 60


async def test_a_limit_that_is_changed_holds_from_the_next_call_on(meter: AnyMeter, clock: Hands) -> None:
    await granted(meter, caller(100), 100)
    assert await granted(meter, caller(110), 20) == 10
    refused = await taken(meter, caller(2))
    assert (refused.wait_s, refused.reset_s) == (30, 60)
    clock.advance(60)
    assert await granted(meter, caller(2), 5) == 2


async def test_the_operator_has_no_limit(meter: AnyMeter) -> None:
    operator = Principal(org="", member="", key="", role=Role.OPERATOR, plan=Plan(requests_per_minute=1))
    assert [await meter.take(operator) for _ in range(3)] == [None] * 3


async def test_what_nobody_uses_is_not_kept(meter: AnyMeter, clock: Hands) -> None:
    for number in range(1000):
        await meter.take(caller(org=f"o{number}", key=f"k{number}", own=3))
    assert meter.kept == 2000
    clock.advance(60)
    for _ in range(700):
        await meter.take(caller(1000))
    assert meter.kept == 1


async def test_a_refusal_names_the_limit_and_when_to_come_back(meter: AnyMeter) -> None:
    await granted(meter, caller(1200, key="a", own=7), 7)
    with pytest.raises(Refusal) as refused:
        (await taken(meter, caller(1200, key="a", own=7))).check()
    assert refused.value.code is Code.RATE_LIMIT_EXCEEDED
    assert (refused.value.retry_after, refused.value.should_retry) == (9, None)
    assert "this key may make 7 requests a minute" in refused.value.message
    await granted(meter, caller(1200), 1200)
    with pytest.raises(Refusal, match=r"the organization may make 1,200 requests a minute.* in 1 s"):
        (await taken(meter, caller(1200))).check()
    (await taken(meter, caller(org="other"))).check()


async def test_processes_share_a_limit(meters: list[SharedMeter]) -> None:
    calls = await asyncio.gather(*(taken(meter, caller(50)) for meter in meters for _ in range(40)))
    assert sum(call.wait_s is None for call in calls) == 50
    assert all(call.limit == 50 and 0 <= call.remaining < 50 and call.reset_s <= 60 for call in calls)


async def test_processes_share_the_limit_of_a_key(meters: list[SharedMeter]) -> None:
    who = caller(1000, own=7)
    calls = await asyncio.gather(*(taken(meter, who) for meter in meters for _ in range(5)))
    assert sum(call.wait_s is None for call in calls) == 7


@pytest.mark.parametrize("limit", [97, 3_000, 60_000])
async def test_processes_never_grant_more_than_a_limit_and_what_time_gives_back(
    meters: list[SharedMeter], clock: Hands, limit: int
) -> None:
    """In any span of time, not only since the start: as a bucket of the limit's size would."""
    chance, level, calls, at = random.Random(limit), 0.0, 0, clock.monotonic()
    for _ in range(600):
        clock.advance(chance.choice([0, 0.001, 0.05, 0.3, 0.9, 2, 30]))
        level, at = max(0.0, level - (clock.monotonic() - at) * limit / 60), clock.monotonic()
        meter, many = chance.choice(meters), chance.choice([1, 3, limit // 50, limit // 10])
        n = await granted(meter, caller(limit), min(many, 300))
        level, calls = level + n, calls + n
        assert level <= limit + 1e-6
    assert calls > 600


async def test_busy_processes_take_many_calls_at_a_time(meters: list[SharedMeter], clock: Hands) -> None:
    meter, who = meters[0], caller(60_000)
    began = meter.asked
    for _ in range(2_000):
        clock.advance(0.002)
        assert (await taken(meter, who)).wait_s is None
    assert meter.asked - began < 40


async def test_calls_of_a_slow_caller_are_taken_one_by_one(meters: list[SharedMeter], clock: Hands) -> None:
    who = caller(60_000)
    for _ in range(10):
        clock.advance(5)
        for meter in meters:
            await taken(meter, who)
    async with meters[0]._db.read() as tx:
        row = await tx.row("SELECT used FROM rate WHERE bucket = 'org'")
    assert row is not None
    assert row["used"] == 4 * CALL


async def test_a_caller_who_does_not_stop_at_the_limit_costs_no_transactions(
    meters: list[SharedMeter], clock: Hands
) -> None:
    await granted(meters[0], caller(5), 6)
    began = meters[0].asked
    assert await granted(meters[0], caller(5), 500) == 0
    assert meters[0].asked == began


async def test_calls_that_were_taken_and_not_used_do_not_come_on_top_of_a_full_limit(
    meters: list[SharedMeter], clock: Hands
) -> None:
    slow, quick = meters[:2]
    while (await taken(slow, caller(6_000))) and slow.asked < 7:
        clock.advance(0.001)
    clock.advance(0.95)  # what was taken so far has been given back, and some of it is not used yet
    calls = await granted(quick, caller(6_000), 6_100)
    late = await granted(slow, caller(6_000), 100)
    assert late > 10
    assert 5_900 <= calls + late <= 6_000
