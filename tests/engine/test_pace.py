"""How a batch gets on, as every process on the ledger tells it, and how it came out."""

import pytest

from hornada.core.batch import Status
from hornada.engine.pace import Pace
from tests.engine.house import ANA, House, texts
from tests.engine.model_server import USAGE, ModelServer, Say

BAD = b'{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"bad_word"}}'
COST = 3 * 1 + 2 * 2
"""Micro-units of a line: three tokens in at one, two out at two."""


@pytest.fixture
def pace(house: House) -> Pace:
    return Pace(house.clock, lambda batch, *, held: None)


def test_the_price_of_a_line_is_what_these_tests_think() -> None:
    assert (USAGE["prompt_tokens"], USAGE["completion_tokens"]) == (3, 2)


async def test_a_running_batch_tells_rate_cost_and_failures(house: House, pace: Pace, server: ModelServer) -> None:
    server.script = lambda text, nth: Say(400, body=BAD) if text == "t0002" else Say()
    server.holding = True
    batch = await house.accepted(*texts(8))
    await house.dispatcher.once()
    await server.arrived(4)
    house.pass_time(2)
    server.release()
    await server.arrived(8)
    house.pass_time(1)
    await house.dispatcher.once()
    seen = await house.see(batch)
    assert (seen.counts.completed, seen.counts.failed) == (3, 1)
    found = (await pace.of([seen]))[batch.id]
    assert (found.cost, found.estimated_cost) == (3 * COST, 3 * COST + 4 * COST)
    assert found.failures == {"bad_word": 1}
    assert found.rate == pytest.approx(4 / 3, abs=1e-3)
    assert found.eta == 3
    server.holding = False
    server.release()
    ended = await house.finish(batch)
    found = (await pace.of([ended]))[batch.id]
    assert (found.cost, found.estimated_cost, found.rate, found.eta) == (7 * COST, 7 * COST, None, None)
    assert found.failures == {"bad_word": 1}
    assert await house.rows("SELECT batch FROM progress UNION ALL SELECT batch FROM failure") == []


async def test_lines_that_never_ran_are_counted_by_why(house: House, pace: Pace, server: ModelServer) -> None:
    server.script = lambda text, nth: Say(503) if nth < 2 and text == "t0000" else Say(400, body=BAD)
    batch = await house.accepted(*texts(4))
    await house.batches.pause(ANA, batch.id)
    await house.batches.cancel(ANA, batch.id)
    ended = await house.finish(batch)
    assert ended.status is Status.CANCELLED
    assert (await pace.of([ended]))[batch.id].failures == {"batch_cancelled": 4}


async def test_several_batches_are_told_apart(house: House, pace: Pace) -> None:
    first = await house.accepted(*texts(3, "a"))
    await house.work()
    second = await house.accepted(*texts(2, "b"))
    found = await pace.of([await house.see(first), await house.see(second), await house.fresh("c")])
    assert [each.cost for each in found.values()] == [3 * COST, 0, 0]
    assert await pace.of([]) == {}
