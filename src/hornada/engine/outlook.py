"""What a batch that does not move waits for, in words for its owner (contract 7)."""

from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct

from hornada.core.batch import Batch, Status
from hornada.core.catalog import Catalog, Model
from hornada.core.clock import SECOND, Clock
from hornada.engine.capacity import Gates
from hornada.engine.dispatcher import Dispatcher


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
    """Reads the state of this process; nothing is asked of the ledger."""

    def __init__(self, catalog: Callable[[], Catalog], gates: Gates, dispatcher: Dispatcher, clock: Clock) -> None:
        self._catalog = catalog
        self._gates = gates
        self._dispatcher = dispatcher
        self._clock = clock

    def waiting_for(self, batch: Batch) -> str | None:
        """One phrase; None while lines of the batch run, and for one that has nothing to wait for."""
        if batch.status is Status.VALIDATING:
            return "checking the file"
        model = self._catalog().resolve(batch.model or "")
        if batch.status is not Status.IN_PROGRESS or model is None:
            return None
        return "paused" if batch.paused else self._model(model, batch.id)

    def load(self, model: Model) -> Load:
        """What all processes together do to a model, as this one has last heard."""
        gate = self._gates.of(model)
        gate.look()
        away_s = self._dispatcher.away_s(model.name)
        regular, lines = gate.regular + gate.others.regular, gate.lines + gate.others.lines
        reserve = min(gate.reserve, max(0, gate.capacity - regular - lines))
        return Load(
            capacity=gate.capacity,
            regular=regular,
            lines=lines,
            reserve=reserve,
            free=max(0, gate.capacity - regular - lines - reserve),
            away_at=None if away_s is None else round(self._clock.now() - away_s * SECOND),
            why=gate.why,
        )

    def _model(self, model: Model, batch: str) -> str | None:
        if model.name in self._catalog().paused:
            return f"model {model.name} is paused"
        away_s = self._dispatcher.away_s(model.name)
        if away_s is not None:
            since = datetime.fromtimestamp(self._clock.now() / SECOND - away_s, UTC)
            return f"model {model.name} is away since {since:%Y-%m-%dT%H:%M:%SZ}"
        return None if self._dispatcher.runs(batch) else self._capacity(model)

    def _capacity(self, model: Model) -> str | None:
        """Where several processes share the model, lines of the batch may run in another one as long as any may."""
        gate = self._gates.of(model)
        gate.look()
        if gate.lines < gate.allowed or (gate.granted is not None and gate.room > 0):
            return None
        regular = gate.regular + gate.others.regular
        busy = f"capacity: {gate.under_way} of {gate.capacity} slots busy"
        if regular:
            busy += f" ({regular} regular)"
        return f"{busy}, {gate.reserve} reserved" if gate.reserve else busy
