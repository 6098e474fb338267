"""Waiting for what must not be left half known."""

import asyncio
import contextlib
from typing import TypeVar

T = TypeVar("T")


async def settled(work: "asyncio.Future[T]") -> T:
    """The outcome of ``work``, whatever happens to the task that waits.

    A cancellation that arrives meanwhile is not lost: it is delivered at the task's next wait. So the lines after a
    commit know that it happened.
    """
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait((work,))
        task = asyncio.current_task()
        if task is not None and not work.cancelled():
            task.uncancel()  # the request that was just swallowed ...
            task.cancel()  # ... is made again, so that the count of requests stays what it was
        return work.result()
