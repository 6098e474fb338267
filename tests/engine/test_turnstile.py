"""How many lines go on in one turn of the event loop."""

import asyncio

from hornada.engine.turnstile import A_TURN, Turnstile
from hornada.upstream.protocol import Answer, Failure

ANSWER = Answer(200, {}, b"{}")
Waiter = asyncio.Future[Answer | Failure]


def told(lines: int, turnstile: Turnstile) -> list[Waiter]:
    """So many lines whose answers come at once."""
    waiters: list[Waiter] = [asyncio.get_running_loop().create_future() for _ in range(lines)]
    for waiter in waiters:
        turnstile.tell(waiter, ANSWER)
    return waiters


async def told_by_turn(lines: int, turnstile: Turnstile) -> list[int]:
    """How many of them have heard of it now and after each turn."""
    waiters = told(lines, turnstile)
    seen = [sum(waiter.done() for waiter in waiters)]
    while seen[-1] < lines:
        await asyncio.sleep(0)
        done = [waiter.done() for waiter in waiters]
        assert done == sorted(done, reverse=True), "in order"
        seen.append(sum(done))
    return seen


async def test_few_lines_all_go_on_at_once() -> None:
    assert await told_by_turn(A_TURN, Turnstile()) == [A_TURN]


async def test_many_lines_go_on_in_order_and_so_many_a_turn() -> None:
    seen = await told_by_turn(10 * A_TURN, Turnstile())
    assert max(after - before for before, after in zip([0, *seen], seen, strict=False)) <= A_TURN


async def test_a_line_that_was_cancelled_takes_nobodys_turn() -> None:
    waiters = told(3 * A_TURN, Turnstile())
    for waiter in waiters[A_TURN : 2 * A_TURN]:
        waiter.cancel()
    for _ in range(2):
        await asyncio.sleep(0)
    assert all(waiter.done() for waiter in waiters)


async def test_after_a_pause_lines_go_on_at_once_again() -> None:
    turnstile = Turnstile()
    await told_by_turn(3 * A_TURN, turnstile)
    for _ in range(3):
        await asyncio.sleep(0)
    (waiter,) = told(1, turnstile)
    assert waiter.result() is ANSWER
