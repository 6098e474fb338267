"""One model server as this process sees it: its client, its calls in flight, and whether it answers."""

import logging
from urllib.parse import urlsplit

from hornada.core.catalog import Server
from hornada.core.clock import Clock
from hornada.upstream.protocol import Answer, AnswerStream, Failure, Fault, Upstream

log = logging.getLogger("hornada")

FAILURES = 3
"""So many calls in a row that came to nothing put a server out; one that cannot be reached is out at once."""
FIRST_S = 1.0
LONGEST_S = 30.0
"""How long a server is out at first, and at most: twice as long after each probe that failed."""

_GATEWAY = frozenset({502, 503, 504})
_NEITHER = 500
"""Says little about the server: some answer so to what they do not understand."""
_PORTS = {"http": 80, "https": 443}

Outcome = Answer | AnswerStream | Failure


class Station:
    """A server is out while calls to it came to nothing; then one call now and then is its probe."""

    __slots__ = (
        "_clock",
        "_row",
        "_wait",
        "busy",
        "healthy",
        "label",
        "out_until",
        "probing",
        "server",
        "turn",
        "upstream",
    )

    def __init__(self, server: Server, upstream: Upstream, clock: Clock) -> None:
        parts = urlsplit(server.url)
        self.server = server
        self.upstream = upstream
        self.label = f"{parts.hostname}:{parts.port or _PORTS.get(parts.scheme, 80)}"
        self.busy = 0
        """Calls in flight."""
        self.turn = 0
        """When its last call began, counted in calls."""
        self.healthy = True
        self.probing = False
        self.out_until = 0.0
        self._clock = clock
        self._row = 0
        self._wait = FIRST_S

    def ready(self, now: float) -> bool:
        """Whether it may be called: it is healthy, or its time is over and nobody probes it."""
        return self.healthy or (now >= self.out_until and not self.probing)

    def heard(self, outcome: Outcome, *, out: bool) -> None:
        """What came of a call; ``out``: the server was out when it began."""
        if isinstance(outcome, Failure):
            if outcome.fault is not Fault.TOO_LARGE:
                self._failed(outcome.message, at_once=outcome.fault is Fault.UNREACHABLE)
        elif outcome.status in _GATEWAY:
            self._failed(f"{self.label} answered with status {outcome.status}.", at_once=False)
        elif outcome.status == _NEITHER or (self.healthy and not isinstance(outcome, Answer)):
            return  # the beginning of a stream is enough to be back, but not to forget streams that broke off
        elif self.healthy or out:
            self.answered()

    def answered(self) -> None:
        """A call was answered."""
        self._row = 0
        if not self.healthy:
            self.healthy, self._wait = True, FIRST_S
            log.info("model server %s answers again", self.label)

    def _failed(self, why: str, *, at_once: bool) -> None:
        self._row += 1
        now = self._clock.monotonic()
        if not self.healthy:
            if now >= self.out_until:  # others were sent before it was out, or because every server is
                self._wait = min(LONGEST_S, self._wait * 2)
                self.out_until = now + self._wait
        elif at_once or self._row >= FAILURES:
            self.healthy = False
            self.out_until = now + self._wait
            log.warning("model server out of use: %s", why)
