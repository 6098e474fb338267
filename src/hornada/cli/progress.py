"""How far a run is, on stderr: a bar where somebody looks at a terminal, a line now and then elsewhere."""

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self, TextIO

from hornada.core.batch import TERMINAL
from hornada.core.run import Progress

PERIOD_S = 5
"""Seconds between two plain lines while the status stays the same."""


class Reporter(Protocol):
    """Shows progress; a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def update(self, progress: Progress) -> None:
        """Shows the latest state."""
        ...


class Lines:
    """Plain lines. ``monotonic`` counts seconds."""

    def __init__(self, out: TextIO, monotonic: Callable[[], float]) -> None:
        self._out = out
        self._monotonic = monotonic
        self._said: tuple[object, float] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def update(self, progress: Progress) -> None:
        """One line when something else is told than before, or five seconds have gone by; the end is told elsewhere."""
        now, news = self._monotonic(), (progress.status, progress.message)
        if self._said and self._said[0] == news and now - self._said[1] < PERIOD_S:
            return
        self._said = (news, now)
        if progress.status not in TERMINAL:
            print(_told(progress), file=self._out, flush=True)


class Bar:
    """A progress bar with counts, rate and time left."""

    def __init__(self, out: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Live

        self._live = Live(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failed]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(file=out),
        )
        self._task = self._live.add_task("starting", total=None, failed="")

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def update(self, progress: Progress) -> None:
        """Moves the bar."""
        self._live.update(
            self._task,
            description=progress.message or progress.status.replace("_", " "),
            total=progress.total or None,
            completed=progress.completed + progress.failed,
            failed=f"{progress.failed} failed" if progress.failed else "",
        )


def reporter(out: TextIO, monotonic: Callable[[], float]) -> Reporter:
    """The bar for a terminal, lines for anything else."""
    return Bar(out) if out.isatty() else Lines(out, monotonic)


def _told(progress: Progress) -> str:
    return f"{spoken(progress)} ({progress.message})" if progress.message else spoken(progress)


def spoken(progress: Progress) -> str:
    """The state in words, such as ``in progress: 30 of 100 lines, 2 failed``."""
    status = progress.status.replace("_", " ")
    if not progress.total:
        return status
    done = progress.completed + progress.failed
    failed = f", {progress.failed} failed" if progress.failed else ""
    return f"{status}: {done} of {progress.total} lines{failed}"
