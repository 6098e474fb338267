"""Money while it runs: who may start, what is charged, and that a balance is overspent by what is in flight at most."""

import asyncio
import json
from contextlib import suppress

import pytest
from msgspec.structs import replace

from hornada.core.account import Principal
from hornada.core.batch import Batch, RequestCounts, Status, StopReason, Usage
from hornada.core.catalog import Catalog, Price
from hornada.core.errors import Code, Refusal, Unavailable
from hornada.engine.budget import Budget
from hornada.engine.gateway import Called, Gateway
from hornada.engine.usage import UsageLog
from hornada.store import balance
from hornada.store.reconcile import differences
from tests.engine.failing import Flaky
from tests.engine.house import ANA, CHAT, House, caller, texts
from tests.engine.model_server import ModelServer, Say
from tests.engine.test_dispatcher import let_go, started, tick

COST = 7
"""Micro-units of a line: three tokens in and two out, see ``house.a_model``."""
SLOTS = 4
BODY = b'{"model":"m","messages":[{"role":"user","content":"%b"}]}'


async def credit(house: House, amount: int, org: str = "org") -> None:
    async with house.db.write() as tx:
        await balance.credit(tx, org, amount)


async def left(house: House, org: str = "org") -> int | None:
    async with house.db.read() as tx:
        return await balance.left(tx, org)


async def codes(house: House, batch: Batch) -> list[str | None]:
    _, errors = await house.results(batch)
    return [each["error"] and each["error"]["code"] for each in errors]


async def billed(house: House) -> tuple[int, int]:
    """Lines and micro-units."""
    entries = await house.rows("SELECT lines, amount FROM ledger_entry")
    return sum(entry["lines"] for entry in entries), sum(entry["amount"] for entry in entries)


async def proved(house: House) -> bool:
    async with house.db.read() as tx:
        return await differences(tx) == []


class Desk:
    """Regular calls beside the lines of a house."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.log = UsageLog(house.db, house.clock, house.budget)
        self.gateway = Gateway(
            lambda: house.catalog,
            house.servers,
            house.gates,
            limits=house.limits,
            record=self.log.record,
            admit=house.budget.admit,
        )

    async def call(self, text: str = "hello", who: Principal = ANA) -> Called:
        called = await self.gateway.call(who, CHAT, BODY % text.encode())
        assert isinstance(called, Called), called
        return called


@pytest.fixture
def desk(house: House) -> Desk:
    return Desk(house)


# --- a batch -----


@pytest.mark.parametrize("lines", [60, 250])
async def test_with_balance_for_half_the_rest_is_insufficient_credits(
    house: House, server: ModelServer, lines: int
) -> None:
    await credit(house, COST * lines // 2)
    ended = await house.finish(await house.accepted(*texts(lines)))
    done, failed = ended.counts.completed, ended.counts.failed
    assert (ended.status, ended.stop) == (Status.COMPLETED, StopReason.NO_CREDIT)
    assert (ended.counts.total, done + failed) == (lines, lines)
    assert lines // 2 <= done <= lines // 2 + SLOTS, "more than what was in flight ran over"
    assert set(await codes(house, ended)) == {"insufficient_credits"}
    assert await billed(house) == (done, COST * done)
    assert await left(house) == COST * lines // 2 - COST * done
    assert ended.cost == COST * done
    assert server.total == done
    assert await proved(house)


async def test_with_balance_for_all_of_it_nothing_is_stopped(house: House) -> None:
    await credit(house, COST * 30)
    ended = await house.finish(await house.accepted(*texts(30)))
    assert (ended.counts, await left(house)) == (RequestCounts(30, 30, 0), 0)


async def test_without_balance_a_batch_is_created_and_no_line_of_it_runs(house: House, server: ModelServer) -> None:
    await credit(house, 0)
    ended = await house.finish(await house.accepted(*texts(130)))
    assert (ended.status, ended.counts) == (Status.COMPLETED, RequestCounts(130, 0, 130))
    assert await codes(house, ended) == ["insufficient_credits"] * 130
    assert (server.total, ended.cost, ended.output_file) == (0, 0, None)


async def test_an_organization_without_balance_is_stopped_though_nobody_holds_its_lines(house: House) -> None:
    batch = await house.accepted(*texts(5))
    await credit(house, 0)
    await house.budget.once()
    assert (await house.see(batch)).status is Status.FINALIZING
    assert house.stopped == [(batch.id, StopReason.NO_CREDIT)]
    assert await codes(house, await house.finish(batch)) == ["insufficient_credits"] * 5


async def test_others_go_on(house: House) -> None:
    await credit(house, COST)
    broke = await house.accepted(*texts(40, "a"))
    rich = await house.accepted(*texts(40, "b"), who=caller("eve", org="foreign"))
    await house.work()
    assert (await house.finish(rich)).counts == RequestCounts(40, 40, 0)
    assert (await house.finish(broke)).counts.completed <= 1 + SLOTS


async def test_a_batch_created_after_new_credit_runs(house: House) -> None:
    await credit(house, 0)
    await house.finish(await house.accepted(*texts(3, "a")))
    await credit(house, COST * 3)
    await house.budget.once()
    assert (await house.finish(await house.accepted(*texts(3, "b")))).counts == RequestCounts(3, 3, 0)


async def test_lines_that_are_refused_cost_nothing(house: House, server: ModelServer) -> None:
    await credit(house, 1)
    server.script = lambda text, nth: Say(400)
    ended = await house.finish(await house.accepted(*texts(50)))
    assert (ended.counts, ended.stop, ended.cost) == (RequestCounts(50, 0, 50), None, 0)
    assert (await billed(house), await left(house)) == ((0, 0), 1)


async def test_a_cancel_charges_the_lines_in_flight_and_no_other(house: House, server: ModelServer) -> None:
    await credit(house, 1000)
    batch = await started(house, server, *texts(20))
    await house.batches.cancel(ANA, batch.id)
    await let_go(house, server)
    ended = await house.finish(batch)
    assert (ended.status, ended.counts) == (Status.CANCELLED, RequestCounts(20, SLOTS, 16))
    assert (await billed(house), await left(house)) == ((SLOTS, SLOTS * COST), 1000 - SLOTS * COST)


async def test_what_is_known_here_is_the_ledger_less_what_is_not_in_it(house: House, server: ModelServer) -> None:
    await credit(house, 1000)
    batch = await started(house, server, *texts(12))
    purse = await house.budget.purse("org")
    for answered in range(1, 4):
        await let_go(house, server)
        server.holding = True
        settled = server.total - len(server.open)
        assert purse.left == 1000 - COST * settled, f"round {answered}, before the flush"
        await house.budget.once()
        assert purse.left == 1000 - COST * settled, f"round {answered}, refreshed before the flush"
        await tick(house)
        await house.budget.once()
        settled = server.total - len(server.open)
        assert purse.left == 1000 - COST * settled, f"round {answered}, after the flush"
        server.holding = False
        server.release()
    await house.finish(batch)
    assert await left(house) == 1000 - COST * 12


async def test_a_lost_answer_to_a_commit_charges_once(house: House) -> None:
    await credit(house, COST * 100)
    flaky = Flaky(house.db)
    house.dispatcher._recorder._db = flaky
    batch = await house.accepted(*texts(30))
    await house.dispatcher.once()
    flaky.after = 1
    for _ in range(100):
        await house.pause()
        with suppress(Unavailable):  # the loop waits and tries again
            await house.dispatcher.once()
        if not house.dispatcher.held:
            break
    ended = await house.finish(batch)
    assert flaky.after == 0
    assert (ended.counts, ended.cost) == (RequestCounts(30, 30, 0), COST * 30)
    assert await left(house) == COST * 70
    await house.budget.once()
    assert (await house.budget.purse("org")).left == COST * 70


async def test_cached_and_reasoning_tokens_are_on_the_batch_and_cached_ones_have_their_price(
    house: House, server: ModelServer
) -> None:
    model = replace(house.model, price=Price(input=1_000_000, cached_input=100_000, output=2_000_000))
    house.catalog = Catalog(models={"m": model}, aliases={})
    details = {"prompt_tokens_details": {"cached_tokens": 20}, "completion_tokens_details": {"reasoning_tokens": 4}}
    used = {"prompt_tokens": 30, "completion_tokens": 5, **details}
    server.script = lambda text, nth: Say(body=json.dumps({"choices": [], "usage": used}).encode())
    ended = await house.finish(await house.accepted(*texts(3)))
    assert ended.usage == Usage(90, 60, 15, 12)
    assert ended.cost == 3 * (10 + 2 + 10)


async def test_an_answer_without_usage_is_estimated_and_marked(house: House, server: ModelServer) -> None:
    message = {"role": "assistant", "content": "12345678"}
    server.script = lambda text, nth: Say(body=json.dumps({"choices": [{"message": message}]}).encode())
    ended = await house.finish(await house.accepted(*texts(3)))
    assert (ended.usage, ended.cost) == (Usage(6, 0, 6), 3 * (2 + 4))
    assert {row["estimated"] for row in await house.rows("SELECT estimated FROM ledger_entry")} == {1}


# --- regular calls -----


async def test_lines_cost_what_regular_calls_cost(house: House, desk: Desk) -> None:
    await house.finish(await house.accepted(*texts(20)))
    lines = await billed(house)
    for text in texts(20):
        await desk.call(text)
    await desk.log.once()
    assert await billed(house) == (2 * lines[0], 2 * lines[1])
    endpoints = {row["endpoint"] for row in await house.rows("SELECT endpoint FROM ledger_entry")}
    assert endpoints == {CHAT, f"{CHAT}:batch"}


async def test_a_call_with_the_balance_used_up_is_refused_and_not_sent(
    house: House, desk: Desk, server: ModelServer
) -> None:
    await credit(house, COST + 1)
    await desk.call()
    await desk.call()
    with pytest.raises(Refusal) as refused:
        await desk.call()
    assert (refused.value.code, server.total) == (Code.INSUFFICIENT_CREDITS, 2)
    await desk.log.once()
    await house.budget.once()
    with pytest.raises(Refusal):
        await desk.call()
    assert await left(house) == 1 - COST


async def test_concurrent_calls_run_over_by_what_is_in_flight_at_most(
    house: House, desk: Desk, server: ModelServer
) -> None:
    await credit(house, 1)
    server.holding = True
    calls = [asyncio.create_task(desk.call(text)) for text in texts(5)]
    await server.arrived(5)
    server.release()
    await asyncio.gather(*calls)
    with pytest.raises(Refusal):
        await desk.call()
    await desk.log.once()
    assert await left(house) == 1 - 5 * COST


async def test_regular_calls_stop_the_lines_of_the_same_organization(house: House, desk: Desk) -> None:
    await credit(house, COST)
    batch = await house.accepted(*texts(10))
    await desk.call()
    await desk.log.once()
    ended = await house.finish(batch)
    assert ended.counts == RequestCounts(10, 0, 10)


async def test_new_credit_counts_within_half_a_second(house: House, desk: Desk) -> None:
    await credit(house, 0)
    with pytest.raises(Refusal):
        await desk.call()
    await credit(house, 1)
    await house.budget.once()
    await desk.call()


async def test_an_organization_that_becomes_limited_is_known_to_be(house: House, desk: Desk) -> None:
    await desk.call()
    await credit(house, 0)
    await house.budget.once()
    with pytest.raises(Refusal):
        await desk.call()


async def test_purses_that_nobody_uses_are_forgotten(house: House) -> None:
    await credit(house, 5)
    before = await house.budget.purse("org")
    house.clock.advance(31)
    await house.budget.once()
    assert await house.budget.purse("org") is not before


async def test_a_balance_read_beside_a_commit_is_exact(house: House, desk: Desk) -> None:
    await credit(house, COST * 1000)
    purse = await house.budget.purse("org")
    for at in range(10):
        await asyncio.gather(*(desk.call(f"{at}-{n}") for n in range(5)))
        await asyncio.gather(desk.log.once(), house.budget.once(), desk.log.once())
        assert purse.left == COST * 1000 - COST * 5 * (at + 1)
    assert await left(house) == purse.left


async def test_a_budget_without_limits_asks_for_nothing_more(house: House) -> None:
    budget = Budget(house.db, house.clock, on_stopped=lambda batch, reason: None)
    purse = await budget.purse("org")
    purse.spend(10**9)
    assert (purse.left, purse.empty, budget.gone) == (None, False, False)
