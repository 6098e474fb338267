"""What a batch that does not move waits for, in words for its owner (contract 7)."""

from collections.abc import Callable
from datetime import UTC, datetime

from hornada.core.batch import Batch, Status
from hornada.core.catalog import Catalog, Model
from hornada.core.clock import SECOND, Clock
from hornada.engine.capacity import Gates
from hornada.engine.dispatcher import Dispatcher


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

    def _model(self, model: Model, batch: str) -> str | None:
        if model.name in self._catalog().paused:
            return f"model {model.name} is paused"
        away_s = self._dispatcher.away_s(model.name)
        if away_s is not None:
            since = datetime.fromtimestamp(self._clock.now() / SECOND - away_s, UTC)
            return f"model {model.name} is away since {since:%Y-%m-%dT%H:%M:%SZ}"
        return None if self._dispatcher.runs(batch) else self._capacity(model)

    def _capacity(self, model: Model) -> str | None:
        gate = self._gates.of(model)
        if gate.lines < gate.allowed:
            return None
        busy = f"capacity: {gate.lines + gate.regular} of {gate.capacity} slots busy"
        if gate.regular:
            busy += f" ({gate.regular} regular)"
        return f"{busy}, {gate.reserve} reserved" if gate.reserve else busy
