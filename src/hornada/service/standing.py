"""Whether this process can serve, as ``/readyz`` tells it."""

import asyncio
from pathlib import Path

from hornada.api.services import Readiness
from hornada.config import Config
from hornada.core.clock import SECOND
from hornada.core.errors import Unavailable
from hornada.service.lock import data_folder
from hornada.service.wiring import Engine


class Standing:
    """``ready`` gives reasons when calls cannot be served, and notes about what is amiss elsewhere."""

    def __init__(self, engine: Engine, config: Config) -> None:
        self._engine = engine
        self._config = config
        self._ground = {path: _identity(path) for path in _ground(config)}
        self.stopping = False

    async def ready(self) -> Readiness:
        """Looks at the loops, at the folders and at the storage; notes name models and no hosts: anybody may ask."""
        reasons = ["the server is stopping"] if self.stopping else []
        reasons += await asyncio.to_thread(self._lost)
        if not reasons:
            try:
                await self._engine.blobs.probe()
            except Unavailable as error:
                reasons.append(str(error))
        reasons += self._engine.troubles
        return Readiness(not reasons, reasons, self._notes())

    def _lost(self) -> list[str]:
        """A ledger whose file is gone goes on in memory that nobody can open again; so this is looked at."""
        found = {path: (known, _identity(path)) for path, known in self._ground.items()}
        gone = [f"{path} is gone" for path, (_, now) in found.items() if now is None]
        return gone or [f"{path} was replaced by another" for path, (known, now) in found.items() if now != known]

    def _notes(self) -> list[str]:
        engine = self._engine
        said = {name: engine.outlook.ailing(model) for name, model in engine.models.catalog().models.items()}
        notes = [f"model {name} is away; its lines wait" for name, each in said.items() if each.away_at is not None]
        notes += [
            f"model {name}: no answer for {(engine.clock.now() - each.silent_at) / SECOND:.0f} s"
            for name, each in said.items()
            if each.silent_at is not None
        ]
        if mute := engine.models.mute:
            notes.append(f"{mute} of {len(self._config.upstream)} model servers do not say which models they run")
        if not engine.models.catalog().models:
            notes.append("there is no model")
        if not engine.membership.workers:
            notes.append("no worker is alive; batches wait")
        return notes


def _ground(config: Config) -> list[Path]:
    """What must stay where it is: the data folder, and the ledger if it is a file."""
    folder, ledger = data_folder(config), config.storage.ledger
    return [*([folder] if folder else []), *([ledger] if ledger else [])]


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
