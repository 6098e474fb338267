"""Notices model servers that take calls and answer none, which look busy from everywhere else."""

import logging
from collections.abc import Callable

from hornada.core.catalog import Catalog
from hornada.core.clock import Clock
from hornada.engine.capacity import Gates
from hornada.engine.tally import Tally, Waiting

log = logging.getLogger("hornada")

SILENCE_S = 30.0
"""For so long a model may leave all its slots without an answer before it is told, in seconds."""


class Lookout:
    """``once`` looks at every model; a silent one is told once, and once more when it answers again."""

    def __init__(self, clock: Clock, catalog: Callable[[], Catalog], gates: Gates, tally: Tally) -> None:
        self._clock = clock
        self._catalog = catalog
        self._gates = gates
        self._tally = tally
        self._since: dict[str, float] = {}

    def silent_s(self, model: str) -> float | None:
        """For how many seconds a model has answered none of the calls of this process; None when it answers."""
        since = self._since.get(model)
        return None if since is None else self._clock.monotonic() - since

    async def once(self) -> bool:
        """Never more to do at once."""
        long_ago = self._clock.monotonic() - SILENCE_S
        for model in self._catalog().models.values():
            waiting = self._tally.of(model.name).waiting
            since = self._since.get(model.name)
            if since is not None:
                if waiting.answered_at > since:
                    log.info("model %s answers again after %.0f s", model.name, waiting.answered_at - since)
                    del self._since[model.name]
            elif waiting.answered_at <= long_ago and waiting.since(long_ago) >= self._gates.of(model).slots:
                self._note(model.name, waiting)
        return False

    def _note(self, model: str, waiting: Waiting) -> None:
        quiet_s = waiting.oldest_s
        self._since[model] = self._clock.monotonic() - quiet_s
        log.warning(
            "model %s: no answer for %.0f s; every slot is taken by a call that waits for one (%d of them)",
            model,
            quiet_s,
            waiting.since(self._clock.monotonic()),
        )
