"""How far a run or a batch is, on stderr: a block kept up to date on a terminal, a line now and then elsewhere."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TextIO

from hornada.cli.pace import Pace, spoken_time
from hornada.core.batch import TERMINAL, Status
from hornada.core.run import Progress

if TYPE_CHECKING:
    from rich.console import RenderableType

PERIOD_S = 5
"""Seconds between two plain lines while the status stays the same."""
_KINDS = 5
"""Kinds of failures that are told apart."""


class Reporter(Protocol):
    """Shows progress; a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def update(self, progress: Progress) -> None:
        """Shows the latest state."""
        ...


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def update(self, progress: Progress) -> None:
        """Nothing."""


class Lines(Silent):
    """Plain lines. ``monotonic`` counts seconds."""

    def __init__(self, out: TextIO, monotonic: Callable[[], float]) -> None:
        self._out = out
        self._monotonic = monotonic
        self._said: tuple[object, float] | None = None
        self._pace = Pace()

    def update(self, progress: Progress) -> None:
        """One line when something else is told than before, or five seconds have gone by; the end is told elsewhere."""
        now, news = self._monotonic(), (progress.status, progress.message)
        self._pace.saw(_done(progress), now)
        if self._said and self._said[0] == news and now - self._said[1] < PERIOD_S:
            return
        self._said = (news, now)
        if progress.status not in TERMINAL:
            print(_told(progress, self._pace), file=self._out, flush=True)


class Block(Silent):
    """A bar with counts, and below it rate, time left, tokens, cost and the kinds of failures."""

    def __init__(self, out: TextIO, monotonic: Callable[[], float]) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self._pace = Pace()
        self._monotonic = monotonic
        self._below = ""
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            auto_refresh=False,
        )
        self._live = Live(console=Console(file=out), refresh_per_second=4, get_renderable=self._shown)
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def update(self, progress: Progress) -> None:
        """Moves the bar."""
        self._pace.saw(_done(progress), self._monotonic())
        self._bar.update(
            self._task,
            description=progress.status.replace("_", " "),
            total=progress.total or None,
            completed=_done(progress),
        )
        parts = [part for part in (_speed(progress, self._pace), _used(progress)) if part]
        failed = f"{progress.failed:,} failed{_kinds(progress.kinds)}" if progress.failed else ""
        self._below = "\n".join(line for line in (" · ".join(parts), failed, progress.message or "") if line)

    def _shown(self) -> "RenderableType":
        from rich.console import Group
        from rich.text import Text

        return Group(self._bar, Text(self._below)) if self._below else self._bar


def reporter(out: TextIO, monotonic: Callable[[], float], *, quiet: bool = False) -> Reporter:
    """The block for a terminal, lines for anything else, nothing for who wants it quiet."""
    if quiet:
        return Silent()
    return Block(out, monotonic) if out.isatty() else Lines(out, monotonic)


def spoken(progress: Progress) -> str:
    """The state in words, such as ``in progress: 30 of 100 lines, 2 failed``."""
    status = progress.status.replace("_", " ")
    if not progress.total:
        return status
    failed = f", {progress.failed} failed" if progress.failed else ""
    return f"{status}: {_done(progress)} of {progress.total} lines{failed}"


def summary(progress: Progress) -> list[str]:
    """What is to be told besides at the end: kinds of failures, tokens, cost."""
    kinds = _kinds(progress.kinds).strip(" ()") if progress.failed else ""
    return [line for line in (f"Failures: {kinds}" if kinds else "", _used(progress)) if line]


def _told(progress: Progress, pace: Pace) -> str:
    parts = [spoken(progress)]
    if not progress.message:
        parts += [part for part in (_speed(progress, pace), _used(progress)) if part and (progress.rate or pace.rate)]
    said = ", ".join(parts) + (_kinds(progress.kinds) if progress.failed else "")
    return f"{said} ({progress.message})" if progress.message else said


def _done(progress: Progress) -> int:
    return progress.completed + progress.failed


def _speed(progress: Progress, pace: Pace) -> str:
    pace_s = progress.rate or pace.rate
    if not pace_s or progress.status is not Status.IN_PROGRESS:
        return ""
    left = progress.eta_s if progress.rate else pace.left_s(progress.total - _done(progress))
    rate = f"{pace_s:,.1f} lines/s" if pace_s >= 1 else f"{pace_s * 60:,.1f} lines/min"
    if left is None:
        return rate
    late = progress.expires_s is not None and left > progress.expires_s
    but = f", but it expires in {spoken_time(progress.expires_s or 0)}" if late else ""
    return f"{rate}, {spoken_time(left)} left{but}"


def _used(progress: Progress) -> str:
    if not progress.input_tokens and not progress.output_tokens:
        return ""
    cost = f", cost {money(progress.cost)}" if progress.cost else ""
    return f"{progress.input_tokens:,} tokens in, {progress.output_tokens:,} out{cost}"


def _kinds(kinds: Mapping[str, int]) -> str:
    if not kinds:
        return ""
    most = sorted(kinds.items(), key=lambda pair: -pair[1])
    named = ", ".join(f"{count:,}x {kind}" for kind, count in most[:_KINDS])
    more = f", {sum(count for _, count in most[_KINDS:]):,} others" if len(most) > _KINDS else ""
    return f" ({named}{more})"


def money(micros: int) -> str:
    """An amount of micro-units with as many decimals as it needs."""
    return f"{micros / 1_000_000:,.6f}".rstrip("0").rstrip(".")
