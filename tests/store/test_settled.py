"""Waiting for what must not be left half known."""

import asyncio

import pytest

from hornada.store.settled import settled


async def wait_for(work: "asyncio.Future[str]", heard: list[str]) -> None:
    heard.append(await settled(work))
    await asyncio.Event().wait()


async def turns(n: int = 3) -> None:
    for _ in range(n):
        await asyncio.sleep(0)


async def test_a_cancelled_task_hears_the_outcome_before_it_ends() -> None:
    work: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    heard: list[str] = []
    task = asyncio.create_task(wait_for(work, heard))
    await turns()
    task.cancel()
    await turns()
    task.cancel()
    await turns()
    assert not task.done()
    work.set_result("committed")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert heard == ["committed"]


async def test_a_failure_is_heard_as_itself() -> None:
    work: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(wait_for(work, []))
    await turns()
    task.cancel()
    await turns()
    work.set_exception(ConnectionError("lost"))
    with pytest.raises(ConnectionError, match="lost"):
        await task


async def test_a_timeout_still_ends_as_a_timeout() -> None:
    work: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    heard: list[str] = []

    async def late() -> None:
        async with asyncio.timeout(0):
            await wait_for(work, heard)

    task = asyncio.create_task(late())
    await turns(5)
    work.set_result("committed")
    with pytest.raises(TimeoutError):
        await task
    assert heard == ["committed"]
