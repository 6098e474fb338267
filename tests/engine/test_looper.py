"""The lifecycle that all loops share."""

import asyncio

import pytest

from hornada.core.errors import Unavailable
from hornada.engine.looper import Looper


class Steps:
    """A loop's pieces of work: what each comes to, and whether there may be more."""

    def __init__(self, *ends: bool | Exception) -> None:
        self._ends = list(ends)
        self.done = asyncio.Semaphore(0)
        self.looper = Looper("steps", self._once, every=3600)

    async def _once(self) -> bool:
        end = self._ends.pop(0) if self._ends else False
        self.done.release()
        if isinstance(end, Exception):
            raise end
        return end

    async def wait(self, steps: int) -> None:
        async with asyncio.timeout(60):
            for _ in range(steps):
                await self.done.acquire()
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def stop(self, task: "asyncio.Task[None]") -> None:
        self.looper.stop()
        async with asyncio.timeout(60):
            await task


async def test_a_loop_goes_on_for_as_long_as_there_is_more() -> None:
    steps = Steps(True, True, False)
    task = asyncio.create_task(steps.looper.run())
    await steps.wait(3)
    assert steps.done.locked()
    await steps.stop(task)


async def test_a_ring_wakes_a_loop_that_waits() -> None:
    steps = Steps()
    task = asyncio.create_task(steps.looper.run())
    await steps.wait(1)
    steps.looper.ring()
    await steps.wait(1)
    await steps.stop(task)


async def test_a_ring_in_the_middle_of_a_piece_is_not_lost() -> None:
    rings = 0

    async def once() -> bool:
        nonlocal rings
        rings += 1
        if rings == 1:
            looper.ring()
        else:
            looper.stop()
        return False

    looper = Looper("ringing", once, every=3600)
    async with asyncio.timeout(60):
        await looper.run()
    assert rings == 2


@pytest.mark.parametrize(
    ("error", "trouble"),
    [(Unavailable("the disk is full"), "steps: the disk is full"), (KeyError("bug"), "steps: KeyError")],
)
async def test_a_loop_that_cannot_do_its_work_says_why_until_it_can(error: Exception, trouble: str) -> None:
    steps = Steps(error, False)
    task = asyncio.create_task(steps.looper.run())
    await steps.wait(1)
    assert steps.looper.trouble == trouble
    steps.looper.ring()
    await steps.wait(1)
    assert steps.looper.trouble is None
    await steps.stop(task)


async def test_a_failure_is_said_once_in_a_row(caplog: pytest.LogCaptureFixture) -> None:
    steps = Steps(Unavailable("away"), Unavailable("away"), False, Unavailable("away"))
    task = asyncio.create_task(steps.looper.run())
    for _ in range(4):
        await steps.wait(1)
        steps.looper.ring()
    await steps.stop(task)
    assert [record.message for record in caplog.records] == ["steps waits: away"] * 2


@pytest.mark.parametrize(("patience_s", "pauses"), [(5.0, [2.0, 3.0, 4.0, 5.0, 5.0, 1.0]), (1.0, [1.0] * 6)])
async def test_a_loop_waits_longer_and_longer_while_storage_is_away_but_not_longer_than_it_may(
    patience_s: float, pauses: list[float]
) -> None:
    waited: list[float] = []
    outages = iter(range(5))

    async def once() -> bool:
        if next(outages, None) is not None:
            raise Unavailable("away")
        return False

    async def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == len(pauses):
            looper.stop()

    looper = Looper("loop", once, every=1.0, patience_s=patience_s)
    looper._wait = wait  # type: ignore[method-assign]
    await looper.run()
    assert waited == pauses
