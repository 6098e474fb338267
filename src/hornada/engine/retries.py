"""When a line is tried again, and when a model server counts as away."""

import logging
import random
from enum import Enum

from msgspec import Struct

from hornada.core.clock import Clock
from hornada.core.line import Reply

log = logging.getLogger("hornada")

MAX_TRIES = 4
"""Tries of a line whose answers are its own fault or nobody's: 408, 500, 504, deadlines, resets, no answers."""
BUSY_TRIES = 8
BUSY_SPAN_S = 60.0
"""A line that was told "busy" so often over so long, while others of its model succeeded, is at fault itself."""
AWAY_CALLS = 20
AWAY_LINES = 10
"""So many calls in a row, of so many lines, without a success between: the model is away."""

_BASE_S = 0.5
_CAP_S = 20.0
_RETRY_AFTER_CAP_S = 60.0
_PROBE_FIRST_S = 0.5
_PROBE_CAP_S = 5.0


class Kind(Enum):
    """What an attempt says about where the fault lies."""

    BUSY = "busy"
    """Refused connection, name not found, 429, 502, 503: the server is busy or away; no try is used up."""
    FAILED = "failed"
    """408, 500, 504, a deadline, a reset, a 200 that is no answer: a try is used up."""


class Again(Struct, frozen=True):
    """An attempt that may be repeated. ``retry_after`` in seconds, as the server asked.

    ``unreached``: no server of the model was there to be asked. ``why``: what came back, in words for people.
    """

    kind: Kind
    retry_after: float | None = None
    unreached: bool = False
    why: str = ""


class Elsewhere(Struct, frozen=True):
    """The name that a line uses stands for another model than the one that runs its chunk (an alias was moved)."""

    model: str


Result = Reply | Elsewhere | tuple[Again | None, Reply]
"""What an attempt comes to: the line's result; or the result it has unless it is tried again; None: it was not sent.

Elsewhere: it was not sent and has no result.
"""


class Tries:
    """The attempts of one line so far."""

    __slots__ = ("busy", "busy_since", "failed", "successes_then")

    def __init__(self) -> None:
        self.failed = 0
        self.busy = 0
        self.busy_since = 0.0
        self.successes_then = 0


def backoff(tries: int, retry_after: float | None) -> float:
    """Seconds to wait before try ``tries + 1``: full jitter, never sooner than the server asked (capped)."""
    wait = random.uniform(0, min(_CAP_S, _BASE_S * 2**tries))  # noqa: S311 - not a secret
    if retry_after is not None:
        wait = max(0.0, min(retry_after, _RETRY_AFTER_CAP_S)) + wait * 0.1
    return wait


class Health:
    """Whether a model answers. While it is away nothing is sent but one probe at growing intervals.

    ``model`` is its name in the log, which is told once when it goes away and once when it is back.
    """

    def __init__(self, clock: Clock, model: str = "") -> None:
        self._clock = clock
        self._model = model
        self._away_since = 0.0
        self._row = 0
        self._lines: set[tuple[str, int, int]] = set()
        self._probe_every = _PROBE_FIRST_S
        self._probe_at = 0.0
        self.probing = False
        self.away = False
        self.reason = ""
        """Why it counts as away, in words for people."""
        self.successes = 0

    def answered(self) -> bool:
        """The server gave an answer of its own; True if it was away until now."""
        self.successes += 1
        was_away, self.away, self.probing = self.away, False, False
        if was_away:
            away_s = self._clock.monotonic() - self._away_since
            log.info("model %s answers again after %.0f s; its lines go on", self._model, away_s)
        if self._row:
            self._row = 0
            self._lines.clear()
        self._probe_every = _PROBE_FIRST_S
        return was_away

    def failed(self, line: tuple[str, int, int], again: Again) -> None:
        """An attempt of ``line`` (batch, chunk, index) came to nothing."""
        if self.away:
            if self.probing:  # or else it was sent before the model was known to be away
                self.probing = False
                self._probe_every = min(_PROBE_CAP_S, self._probe_every * 2)
                self._probe_at = self._clock.monotonic() + self._probe_every
            return
        self._row += 1
        if len(self._lines) < AWAY_LINES:
            self._lines.add(line)
        if again.unreached or (self._row >= AWAY_CALLS and len(self._lines) >= AWAY_LINES):
            self._leave(again.why)

    def _leave(self, reason: str) -> None:
        self.away, self.reason = True, reason
        self._away_since = self._clock.monotonic()
        self._probe_at = self._away_since + self._probe_every
        log.warning("model %s is away: %s Its lines wait; one asks for it now and then", self._model, reason)

    def may_start(self) -> bool:
        """Whether a line may be sent now; a True while the model is away makes that line the probe."""
        if not self.away:
            return True
        if self.probing or self._clock.monotonic() < self._probe_at:
            return False
        self.probing = True
        return True

    def probe_lost(self) -> None:
        """The probe ended without saying anything (it was aborted, or not sent)."""
        self.probing = False

    @property
    def away_s(self) -> float | None:
        """For how many seconds it has been away; None when it is not."""
        return self._clock.monotonic() - self._away_since if self.away else None

    def wait(self) -> float:
        """Seconds until the next probe may start."""
        return max(0.0, self._probe_at - self._clock.monotonic())
