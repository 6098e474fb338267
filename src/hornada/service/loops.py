"""The loops: which there are, and what wakes each of them."""

from hornada.core.batch import StopReason
from hornada.engine.budget import REFRESH_S
from hornada.engine.dispatcher import FLUSH_S
from hornada.engine.looper import Looper
from hornada.engine.news import Reaction, Topic
from hornada.engine.room import EVERY_S as MEASURE_S
from hornada.engine.tuner import EVERY_S as TUNE_S
from hornada.service.installation import Installation
from hornada.service.keeping import removing
from hornada.service.parts import Parts

_DISCOVER_S = 30.0
_DISCOVER_SOON_S = 1.0


class Loops:
    """``all`` of them, not yet running."""

    def __init__(self, parts: Parts, installation: Installation) -> None:
        self._parts = parts
        self._delivers = installation.webhooks.enabled
        self._keep = installation.keep
        self._asked_at = -_DISCOVER_S
        self._dispatch = Looper("dispatcher", parts.dispatcher.once, FLUSH_S)
        self._validate = Looper("validator", parts.validator.once, 2.0)
        self._finalize = Looper("finalizer", parts.finalizer.once, 1.0)
        self._watch = Looper("warden", parts.warden.once, 0.5)
        self._tidy = Looper("tidier", self._tidied, 30.0)
        self._erase = Looper("eraser", parts.eraser.once, 1.0)
        self._deliver = Looper("courier", parts.courier.once, 1.0)
        self._ask_models = Looper("discovery", self._discover, _DISCOVER_SOON_S)
        self.all = [
            self._dispatch,
            self._validate,
            self._finalize,
            Looper("reaper", parts.reaper.once, 1.0),
            self._watch,
            self._tidy,
            Looper("usage", parts.usage.once, 0.5),
            self._erase,
            *([self._deliver] if self._delivers else []),
            Looper("key uses", parts.admission.uses.once, 5.0),
            Looper("budget", parts.budget.once, REFRESH_S),
            Looper("tuner", parts.tuner.once, TUNE_S),
            self._ask_models,
            Looper("room", parts.room.once, MEASURE_S),
            Looper("lookout", parts.lookout.once, 1.0),
        ]
        self._listen()

    def configured(self) -> None:
        """The configuration was changed: servers are asked for their models now, and what waits for one is tried."""
        self._asked_at = -_DISCOVER_S
        self._ask_models.ring()
        self._validate.ring()

    def _listen(self) -> None:
        """Who reacts to what."""
        parts, on = self._parts, self._parts.news.on
        on(Topic.CREATED, self._validate.ring)
        on(Topic.READY, self._dispatch.ring)
        on(Topic.STOPPED, self._stop, _deaf(self._dispatch), _deaf(self._finalize))
        on(Topic.PAUSED, parts.dispatcher.give_up, _deaf(self._dispatch))
        on(Topic.DRAINED, self._finalize.ring)
        on(Topic.ENDED, self._tidy.ring)
        on(Topic.RIGHTS, parts.admission.forget, self._watch.ring)
        on(Topic.CATALOG, self._watch.ring, self._dispatch.ring)
        on(Topic.ERASING, self._erase.ring)
        on(Topic.EVENTS, self._deliver.ring)
        parts.courier.bell(self._deliver.ring)
        parts.dispatcher.bell(self._dispatch.ring)
        parts.budget.bell(self._dispatch.ring)

    def _stop(self, batch: str, reason: str) -> None:
        self._parts.dispatcher.stop_batch(batch, StopReason(reason))

    async def _tidied(self) -> bool:
        with removing(self._keep) as may:
            if not may:
                return False
            more = await self._parts.uploads.tidy()
            return await self._parts.reaper.tidy() or more

    async def _discover(self) -> bool:
        """Asks model servers every 30 s, every second until each has answered once."""
        now = self._parts.clock.monotonic()
        if self._parts.models.complete and now - self._asked_at < _DISCOVER_S:
            return False
        self._asked_at = now
        await self._parts.models.once()
        return False


def _deaf(looper: Looper) -> Reaction:
    """Rings, whatever the words are."""
    return lambda *_: looper.ring()
