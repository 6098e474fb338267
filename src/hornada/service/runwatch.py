"""How a run of one file goes, as it is told: how far, what it has used up, for how long nothing has come of it."""

from typing import Any

from msgspec.structs import replace

from hornada.core.batch import Batch, Finding, Status
from hornada.core.clock import Clock
from hornada.core.run import Progress
from hornada.dialects import DIALECTS
from hornada.service.runnote import Note
from hornada.service.wiring import Engine
from hornada.store import ledger

_QUIET_S = 20
"""Without a result for so long, the progress says that it waits."""


class Used:
    """What a run has used up, looked at once a second."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._looked_at = float("-inf")
        self._last: dict[str, Any] = {}

    async def added(self, batch: Batch, step: Progress) -> Progress:
        """The same progress with rate, time left, tokens, cost and the failures by their codes."""
        engine, now = self._engine, self._engine.clock.monotonic()
        if step.message or now - self._looked_at >= 1:
            self._looked_at = now
            async with engine.db.read() as tx:
                usage = await ledger.usage_of(tx, batch.id)
            found = (await engine.pace.of([batch]))[batch.id]
            self._last = {
                "input_tokens": usage.input,
                "output_tokens": usage.output,
                "cost": found.cost,
                "kinds": found.failures,
                "rate": found.rate,
                "eta_s": found.eta,
            }
        return replace(step, **self._last)


class Patience:
    """For how long no line has got a result. ``limit`` in seconds, None: without end."""

    def __init__(self, clock: Clock, limit: float | None) -> None:
        self._clock = clock
        self._limit = limit
        self._since = clock.monotonic()
        self._done = -1
        self.exhausted = False

    def quiet(self, batch: Batch) -> float:
        """Seconds since the last result, or since lines began to run; 0 while none can."""
        now, done = self._clock.monotonic(), batch.counts.completed + batch.counts.failed
        if done != self._done or batch.status is not Status.IN_PROGRESS:
            self._done, self._since = done, now
        self.exhausted = self._limit is not None and now - self._since >= self._limit
        return now - self._since


def trouble(engine: Engine, quiet: float) -> str | None:
    """Why nothing seems to happen. ``quiet``: seconds without a result."""
    away = [name for name in engine.models.catalog().models if engine.dispatcher.state(name)[1]]
    if away:
        return f"{', '.join(away)} does not answer, or fails every call; waiting"
    return "no line has got a result for a while; waiting" if quiet >= _QUIET_S else None


def refused(message: str) -> Progress:
    """A run that did not begin."""
    return Progress(total=0, completed=0, failed=0, status=Status.FAILED, message=message)


def told(note: Note, status: Status, message: str | None = None, *, already: bool = False) -> Progress:
    """How far a run was when it was noted."""
    return Progress(
        total=note.total,
        completed=note.completed,
        failed=note.failed,
        status=status,
        message=message,
        already=already,
        input_tokens=note.input_tokens,
        output_tokens=note.output_tokens,
        cost=note.cost,
        kinds=note.kinds,
    )


def progress(batch: Batch, message: str | None, status: Status | None = None) -> Progress:
    """How far a batch is."""
    counts = batch.counts
    return Progress(
        total=counts.total,
        completed=counts.completed,
        failed=counts.failed,
        status=status or batch.status,
        message=message,
    )


def spoken(finding: Finding, what: str) -> str:
    """A fault in words; ``what`` has it: a line or a row."""
    code = DIALECTS["infernode"].code(finding.code)
    where = f"{what} {finding.line}: " if finding.line is not None else ""
    return f"{where}{code}: {finding.message}"
