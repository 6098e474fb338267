"""One gate per model: regular calls pass at once, lines use what they leave free (contract 7)."""

from collections.abc import Callable

from hornada.core.catalog import Model
from hornada.core.clock import Clock, SystemClock
from hornada.core.line import Reply
from hornada.engine.gauge import Load
from hornada.engine.harm import Harm
from hornada.engine.learning import Limiter

_REFUSED = frozenset({429, 503})
_TIMED_OUT = 504
_RECENT_S = 60.0
"""How long after the last regular call slots are kept free for the next."""
_MOST_RESERVE = 4
_CLOCK = SystemClock()


class Gate:
    """Counts both kinds of calls to one model.

    Lines may use ``capacity - regular - reserve`` slots, and no more than the model's batch share; a regular call takes
    its slot whatever is free. Capacity and reserve are those in force: see ``Limiter`` and ``Harm``.
    """

    def __init__(self, model: Model, clock: Clock = _CLOCK) -> None:
        self.name = model.name
        self._model = model
        self._clock = clock
        self._limiter = _limiter(model, model.capacity)
        self.harm = Harm(model.harm)
        self._on_room: Callable[[], None] | None = None
        self._on_answer: Callable[[], None] | None = None
        self._regular_at: float | None = None
        self._learned = model.capacity
        self.reserve = 0
        self.allowed = 0
        """Slots that lines may use at this moment."""
        self.timed = model.auto
        """Whether it is of use to know how long lines take."""
        self.regular = 0
        self.lines = 0
        self._settle()

    def resize(self, model: Model) -> None:
        """Takes over a changed catalog entry; what was learned stays."""
        before, self._model = self._model, model
        if before.auto:
            self._learned = self._limiter.limit
        if (model.auto, model.capacity) != (before.auto, before.capacity):
            self._limiter = _limiter(model, self._learned)
        self.harm.most = model.harm
        if model.harm is None:
            self.harm.reserve, self.harm.pausing = 0, False
        self._settle()
        self._tell()

    def watch(self, on_room: Callable[[], None], on_answer: Callable[[], None] | None = None) -> None:
        """Has ``on_room`` called whenever lines may use more slots, ``on_answer`` when a regular call is answered."""
        self._on_room, self._on_answer = on_room, on_answer

    def enter(self) -> float:
        """A regular call starts; the moment, for ``began``."""
        self.regular += 1
        now = self._clock.monotonic()
        self._regular_at = now
        self._settle()
        return now

    def leave(self) -> None:
        """A regular call ended."""
        self.regular -= 1
        self._regular_at = self._clock.monotonic()
        self._limiter.turned += 1
        self._settle()
        self._tell()

    @property
    def slots(self) -> int:
        """Slots that a batch may use while nobody else calls; all of them, where lines get none."""
        free = self.capacity - (self._model.reserve or 0)
        return max(0, min(self._model.batch_slots, free)) or self.capacity

    @property
    def capacity(self) -> int:
        """The capacity in force."""
        return self._limiter.limit

    def try_line(self) -> bool:
        """Takes a slot for a line if one is free."""
        if self.lines >= self.allowed:
            return False
        self.lines += 1
        return True

    def keep_line(self) -> bool:
        """Whether a slot that a line has just used may be used for the next one."""
        return self.lines <= self.allowed

    def line_done(self) -> None:
        """Gives a line's slot back."""
        self.lines -= 1

    def answered(self, seconds: float) -> None:
        """A line was answered, after so long if that was ``timed``, else 0."""
        self._limiter.turned += 1
        if seconds:
            self._limiter.answered(seconds)
            self.timed = self._limiter.timed

    def came_back(self, last: Reply) -> None:
        """A line is to be tried again after this."""
        self._limiter.turned += 1
        self.status(last.status)

    def status(self, status: int) -> None:
        """The model server answered a line or a regular call, still counted here, with this status; 504: in no time."""
        if status in _REFUSED:
            self._limiter.refused(self.lines + self.regular)
        elif status == _TIMED_OUT:
            self._limiter.timed_out(self.lines + self.regular)
        else:
            return
        self._settle()

    def began(self, entered: float, *, beside: bool) -> None:
        """The answer to a regular call begins; ``beside``: lines were under way when it entered."""
        now = self._clock.monotonic()
        self.harm.note(now, now - entered, beside=beside)
        if self._on_answer is not None:
            self._on_answer()

    def returned(self) -> None:
        """The model answers again after it was away; if nothing else was under way, it did not refuse for its load."""
        if self.lines + self.regular <= 1:
            self._limiter.restore()
            self._settle()

    def tick(self, *, waiting: bool, load: Load | None = None) -> None:
        """Looks, every half second or so, at what has happened since; ``waiting``: there are lines without a slot."""
        now = self._clock.monotonic()
        used = self.lines + self.regular
        full = waiting and not self.harm.pausing and used + self.reserve >= self.capacity
        self._limiter.tick(now, full=full, in_flight=used, load=load)
        self.harm.tick(now, lines=self.lines, capacity=self.capacity)
        if self.regular:
            self._regular_at = now
        elif self._regular_at is not None and now - self._regular_at >= _RECENT_S:
            self._regular_at = None
        self._settle()
        self._tell()

    @property
    def why(self) -> str:
        """One sentence about how many slots lines have and for what reason."""
        parts = [self._limiter.why]
        if self.regular:
            parts.append(f"{self.regular} regular call{'s' if self.regular != 1 else ''}")
        if self.reserve:
            for_harm = " because regular calls were slower beside lines" if self.harm.reserve else ""
            parts.append(f"{self.reserve} reserved{for_harm}")
        if self.harm.pausing:
            parts.append("lines pause to measure regular calls alone")
        return ", ".join(parts)

    def _settle(self) -> None:
        """Works out what lines may use."""
        capacity = self._limiter.limit
        if self._model.reserve is not None:
            reserve = self._model.reserve
        elif self._regular_at is None:
            reserve = 0
        else:
            reserve = min(max(1, capacity // 16), _MOST_RESERVE, capacity - 1)
        self.reserve = max(reserve, min(capacity, reserve + self.harm.reserve))
        free = 0 if self.harm.pausing else capacity - self.reserve - self.regular
        self.allowed = max(0, min(self._model.batch_slots, free))
        self.timed = self._limiter.timed

    def _tell(self) -> None:
        if self._on_room is not None and self.lines < self.allowed:
            self._on_room()


class Gates:
    """The gates of all models, made when first asked for."""

    def __init__(self, clock: Clock = _CLOCK) -> None:
        self._clock = clock
        self._gates: dict[str, Gate] = {}

    def of(self, model: Model) -> Gate:
        """The gate of a model."""
        gate = self._gates.get(model.name)
        if gate is None:
            gate = self._gates[model.name] = Gate(model, self._clock)
        return gate

    def resize(self, model: Model) -> None:
        """Takes over a changed catalog entry, if the model has a gate."""
        if model.name in self._gates:
            self._gates[model.name].resize(model)


def _limiter(model: Model, start: int) -> Limiter:
    return Limiter.auto(start) if model.auto else Limiter.fixed(model.capacity)
