"""How many lines start in one turn of the event loop."""

import asyncio

from hornada.engine.turnstile import A_TURN, Turnstile


async def started_by_turn(lines: int, turnstile: Turnstile) -> list[int]:
    """How many of so many lines that come at once have started after each turn."""
    order: list[int] = []

    async def line(number: int) -> None:
        wait = turnstile.enter()
        if wait is not None:
            await wait
        order.append(number)

    tasks = [asyncio.create_task(line(number)) for number in range(lines)]
    seen: list[int] = []
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        seen.append(len(order))
    assert order == sorted(order)
    return seen


async def test_few_lines_all_start_in_one_turn() -> None:
    assert (await started_by_turn(A_TURN, Turnstile()))[0] == A_TURN


async def test_many_lines_start_in_order_and_so_many_a_turn() -> None:
    seen = await started_by_turn(10 * A_TURN, Turnstile())
    assert seen[-1] == 10 * A_TURN
    assert max(after - before for before, after in zip([0, *seen], seen, strict=False)) <= A_TURN


async def test_a_line_that_was_cancelled_takes_nobodys_turn() -> None:
    turnstile = Turnstile()
    waits = [wait for _ in range(3 * A_TURN) if (wait := turnstile.enter())]
    for wait in waits[:A_TURN]:
        wait.cancel()
    for _ in range(2):
        await asyncio.sleep(0)
    assert all(wait.done() for wait in waits)


async def test_after_a_pause_lines_start_at_once_again() -> None:
    turnstile = Turnstile()
    await started_by_turn(3 * A_TURN, turnstile)
    for _ in range(3):
        await asyncio.sleep(0)
    assert turnstile.enter() is None
