"""What a batch that does not move waits for, in words for its owner."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from msgspec import Struct

from hornada.core.batch import Batch, Status
from hornada.core.catalog import Catalog, Model
from hornada.core.clock import SECOND, Clock
from hornada.engine.capacity import Gate, Gates
from hornada.engine.dispatcher import Dispatcher
from hornada.store.grant import WELL, Ailing


class Load(Struct, frozen=True, kw_only=True):
    """How the slots of a model are used at this moment: ``regular`` and ``lines`` under way, ``reserve`` kept free.

    ``free``: what both may still take. ``away_at``: since when it answers nothing, in microseconds since 1970.
    """

    capacity: int
    regular: int
    lines: int
    reserve: int
    free: int
    away_at: int | None
    why: str


class Outlook:
    """Reads what this process knows. ``silent_s``: for how long a model has left calls of this process unanswered.

    ``said``: what workers that share the ledger say is amiss with models.
    """

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        gates: Gates,
        dispatcher: Dispatcher,
        clock: Clock,
        *,
        silent_s: Callable[[str], float | None] = lambda _: None,
        said: Callable[[], Mapping[str, Ailing]] = dict,
    ) -> None:
        self._catalog = catalog
        self._gates = gates
        self._dispatcher = dispatcher
        self._clock = clock
        self._silent_s = silent_s
        self._said = said

    def waiting_for(self, batch: Batch, *, held: bool = False) -> str | None:
        """One phrase; None while lines of the batch run, and for one that has nothing to wait for.

        ``held``: whether some process holds chunks of it.
        """
        if batch.status is Status.VALIDATING:
            return "checking the file"
        model = self._catalog().resolve(batch.model or "")
        if batch.status is not Status.IN_PROGRESS or model is None:
            return None
        return "paused" if batch.paused else self._model(model, batch.id, held=held)

    def load(self, model: Model) -> Load:
        """What all processes together do to a model, as this one has last heard."""
        gate = self._gates.of(model)
        gate.look()
        regular, lines = gate.regular + gate.others.regular, gate.lines + gate.others.lines
        reserve = min(gate.reserve, max(0, gate.capacity - regular - lines))
        return Load(
            capacity=gate.capacity,
            regular=regular,
            lines=lines,
            reserve=reserve,
            free=max(0, gate.capacity - regular - lines - reserve),
            away_at=self.ailing(model).away_at,
            why=gate.why,
        )

    def seen(self, model: str) -> Ailing:
        """What is amiss with a model by what calls of this process have met with."""
        return Ailing(
            away_at=self._ago(self._dispatcher.away_s(model)),
            silent_at=self._ago(self._silent_s(model)),
        )

    def ailing(self, model: Model) -> Ailing:
        """The same; where it is not being asked anything here, by what others say."""
        seen = self.seen(model.name)
        if seen != WELL or self._gates.of(model).lines:
            return seen
        return self._said().get(model.name, WELL)

    def _ago(self, seconds: float | None) -> int | None:
        return None if seconds is None else round(self._clock.now() - seconds * SECOND)

    def _model(self, model: Model, batch: str, *, held: bool) -> str | None:
        if model.name in self._catalog().paused:
            return f"model {model.name} is paused"
        away_at = self.ailing(model).away_at
        if away_at is not None:
            since = datetime.fromtimestamp(away_at / SECOND, UTC)
            return f"model {model.name} is away since {since:%Y-%m-%dT%H:%M:%SZ}"
        return None if self._dispatcher.runs(batch) else self._capacity(model, held=held)

    def _capacity(self, model: Model, *, held: bool) -> str | None:
        """Where several processes share the model, one that holds chunks of the batch is taken to run its lines."""
        gate = self._gates.of(model)
        gate.look()
        if gate.lines < gate.allowed or (gate.granted is not None and _elsewhere(gate, held=held)):
            return None
        regular = gate.regular + gate.others.regular
        busy = f"capacity: {gate.under_way} of {gate.capacity} slots busy"
        if regular:
            busy += f" ({regular} regular)"
        return f"{busy}, {gate.reserve} reserved" if gate.reserve else busy


def _elsewhere(gate: Gate, *, held: bool) -> bool:
    """Whether lines of a batch may be taken to run, or to start at once, in whatever process."""
    lines = gate.lines + gate.others.lines
    return lines < gate.room or (held and lines > 0)
