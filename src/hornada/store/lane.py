"""A thread that does one thing after another for an event loop: half the cost of an executor of one thread."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Lane:
    """Work is done in the order in which it was given, also what nobody waits for any more."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def do(self, work: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
        """Starts ``work(*args)`` once everything before is done."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            try:
                result = work(*args)
            except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                tell(_fail, outcome, error)
            else:
                tell(_resolve, outcome, result)

        def tell(how: Callable[..., None], *what: object) -> None:
            with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
                loop.call_soon_threadsafe(how, *what)

        self._jobs.put(job)
        return outcome

    def end(self) -> None:
        """Ends the thread once everything before is done."""
        self._jobs.put(None)

    def _run(self) -> None:
        while job := self._jobs.get():
            job()


def _resolve(outcome: "asyncio.Future[T]", result: T) -> None:
    if not outcome.done():
        outcome.set_result(result)


def _fail(outcome: "asyncio.Future[T]", error: BaseException) -> None:
    if not outcome.done():
        outcome.set_exception(error)
