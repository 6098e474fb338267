"""One gate per model: regular calls pass at once, lines use what they leave free."""

from collections.abc import Callable

from msgspec import Struct

from hornada.core.catalog import Model
from hornada.core.clock import Clock, SystemClock
from hornada.core.line import Reply
from hornada.engine.gauge import Load
from hornada.engine.harm import Harm
from hornada.engine.learning import Limiter
from hornada.engine.remains import Remains

_REFUSED = frozenset({429, 503})
_TIMED_OUT = 504
_RECENT_S = 60.0
"""How long after the last regular call slots are kept free for the next."""
_MOST_RESERVE = 4
_WANTED_S = 1.5
"""How long it counts that there were lines to be had: whoever finds that looks twice a second."""
_WATCHED_S = 10.0
_CLOCK = SystemClock()


class Others(Struct, frozen=True, kw_only=True):
    """What other processes do to a model, as last heard.

    ``lines``, ``regular``: their calls under way; ``waiting``: they have lines without a slot; ``recent``: they had
    regular calls in the last minute; ``reserve``: slots to leave free because theirs were slower beside lines;
    ``pausing``: lines must not run, so that one of them can measure.
    """

    lines: int = 0
    regular: int = 0
    waiting: bool = False
    recent: bool = False
    reserve: int = 0
    pausing: bool = False


ALONE = Others()


class Gate:
    """Counts both kinds of calls to one model.

    Lines may use ``capacity - regular - reserve`` slots, and no more than the model's batch share; a regular call takes
    its slot whatever is free. Capacity and reserve are those in force: see ``Limiter`` and ``Harm``.

    Where several processes share the model, that is the ``room`` of all of them, and lines here may use what this one
    has been granted of it: see ``Sharing``. One process ``leads``: it learns the capacity, and the others follow.
    """

    def __init__(self, model: Model, clock: Clock = _CLOCK) -> None:
        self.name = model.name
        self._model = model
        self._clock = clock
        self._limiter = _limiter(model, model.capacity)
        self.harm = Harm(model.harm)
        self.remains = Remains(clock)
        self._on_room: Callable[[], None] | None = None
        self._on_answer: Callable[[], None] | None = None
        self.on_want: Callable[[], None] | None = None
        """Whom to ask for slots where they have to be granted; None: they need not be."""
        self._regular_at: float | None = None
        self._learned = model.capacity
        self.reserve = 0
        self.allowed = 0
        """Slots that lines may use at this moment."""
        self.timed = model.auto
        """Whether it is of use to know how long lines take."""
        self.regular = 0
        self.lines = 0
        self.calls = 0
        """Regular calls since the start."""
        self.others = ALONE
        self.leads = True
        self.granted: int | None = None
        """Slots that this process has been granted, None where it has all that there are."""
        self._granted_until: float | None = None
        self._regular_then = 0
        self._wanted_at = self._looked_at = float("-inf")
        self.refused = self.late = False
        """Whether the model's servers have refused a request, or left one unanswered, since somebody looked."""
        self.room = 0
        """Slots that lines of all processes may use at this moment."""
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
        self.calls += 1
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
        slots = max(0, min(self._model.batch_slots, free)) or self.capacity
        return slots if self.granted is None else max(1, min(slots, self.granted))

    @property
    def capacity(self) -> int:
        """The capacity in force."""
        return self._limiter.limit

    def try_line(self) -> bool:
        """Takes a slot for a line if one is free."""
        if self.lines >= self.allowed or (self._granted_until is not None and self._lapsed()):
            return False
        self.lines += 1
        return True

    def keep_line(self) -> bool:
        """Whether a slot that a line has just used may be used for the next one."""
        return self.lines <= self.allowed and (self._granted_until is None or not self._lapsed())

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
            self.refused = True
        elif status == _TIMED_OUT:
            self.late = True
        else:
            return
        if self.leads:
            self.heed(refused=status in _REFUSED, late=status == _TIMED_OUT)

    def heed(self, *, refused: bool, late: bool) -> None:
        """The model's servers have refused a request or left one unanswered, here or elsewhere; for who ``leads``."""
        if refused:
            self._limiter.refused(self.under_way)
        if late:
            self._limiter.timed_out(self.under_way)
        self._settle()

    def began(self, entered: float, *, beside: bool) -> None:
        """The answer to a regular call begins; ``beside``: lines were under way when it entered."""
        now = self._clock.monotonic()
        self.harm.note(now, now - entered, beside=beside)
        if self._on_answer is not None:
            self._on_answer()

    def returned(self) -> None:
        """The model answers again after it was away; if nothing else was under way, it did not refuse for its load."""
        if self.leads and self.under_way <= 1:
            self._limiter.restore()
            self._settle()

    def tick(self, *, waiting: bool, load: Load | None = None) -> None:
        """Looks, every half second or so, at what has happened since; ``waiting``: there are lines without a slot."""
        now = self._clock.monotonic()
        if self.leads:
            used, waiting = self.under_way, waiting or self.others.waiting
            full = waiting and not self.pausing and used + self.reserve >= self.capacity
            self._limiter.tick(now, full=full, in_flight=used, load=load)
        self.harm.tick(now, lines=self.lines + self.others.lines, capacity=self.capacity)
        if self.regular:
            self._regular_at = now
        elif self._regular_at is not None and now - self._regular_at >= _RECENT_S:
            self._regular_at = None
        self._settle()
        self._tell()

    @property
    def under_way(self) -> int:
        """Calls of both kinds that the model is answering, for whatever process."""
        return self.lines + self.regular + self.others.lines + self.others.regular

    @property
    def beside(self) -> bool:
        """Whether lines are under way, here or elsewhere, where lines that wait may run before that is heard."""
        return self.lines > 0 or self.others.lines > 0 or (self.others.waiting and not self.pausing)

    @property
    def pausing(self) -> bool:
        """Whether lines pause so that regular calls can be measured alone."""
        return self.harm.pausing or self.others.pausing

    @property
    def recent(self) -> bool:
        """Whether there were regular calls here in the last minute."""
        return self._regular_at is not None

    @property
    def reason(self) -> str:
        """Why the capacity is lower than it was; empty when nothing has lowered it."""
        return self._limiter.reason

    @property
    def auto(self) -> bool:
        """Whether the capacity is to be found."""
        return self._limiter.learns

    def want(self) -> bool:
        """There are lines to be had: whether one may start here. If not, slots are asked for."""
        self._wanted_at = self._clock.monotonic()
        if self.allowed <= 0 and self.on_want is not None:
            self.on_want()
        return self.allowed > 0

    @property
    def wanted(self) -> bool:
        """Whether there were lines to be had a moment ago."""
        return self._clock.monotonic() - self._wanted_at < _WANTED_S

    def look(self) -> None:
        """Somebody wants to know what all processes do to the model: that is heard for the next while."""
        self._looked_at = self._clock.monotonic()

    @property
    def watched(self) -> bool:
        """Whether somebody looked a while ago."""
        return self._clock.monotonic() - self._looked_at < _WATCHED_S

    @property
    def closed(self) -> bool:
        """Whether no line may start, and none could if slots were asked for."""
        return self.allowed <= 0 and (self.on_want is None or self.granted != 0)

    def hear(self, others: Others, *, leads: bool, capacity: int | None = None, reason: str = "") -> None:
        """Takes in what other processes do; ``capacity``: what one of them has learned, None for what is known here."""
        self.others, self.leads = others, leads
        if capacity is not None:
            self._limiter.follow(capacity, reason)
        self._settle()

    def grant(self, slots: int, until: float) -> None:
        """Lets lines here use so many slots, until the clock's ``monotonic`` says ``until``."""
        self.granted, self._granted_until, self._regular_then = slots, until, self.regular
        self._settle()
        self._tell()

    def shrink(self, slots: int) -> None:
        """Lets lines here use so many slots only; for as long as before."""
        self.granted = slots
        self._settle()

    @property
    def why(self) -> str:
        """One sentence about how many slots lines have and for what reason."""
        parts = [self._limiter.why]
        if regular := self.regular + self.others.regular:
            parts.append(f"{regular} regular call{'s' if regular != 1 else ''}")
        if self.reserve:
            for_harm = " because regular calls were slower beside lines" if self._harm_reserve else ""
            parts.append(f"{self.reserve} reserved{for_harm}")
        if self.pausing:
            parts.append("lines pause to measure regular calls alone")
        return ", ".join(parts)

    def _settle(self) -> None:
        """Works out what lines may use."""
        capacity = self._limiter.limit
        if self._model.reserve is not None:
            reserve = self._model.reserve
        elif self._regular_at is None and not self.others.recent:
            reserve = 0
        else:
            reserve = min(max(1, capacity // 16), _MOST_RESERVE, capacity - 1)
        self.reserve = max(reserve, min(capacity, reserve + self._harm_reserve))
        free = 0 if self.pausing else capacity - self.reserve - self.regular - self.others.regular
        self.room = self.allowed = max(0, min(self._model.batch_slots, free))
        if self.granted is not None:
            since = max(0, self.regular - self._regular_then)
            self.allowed = max(0, min(self.granted - since, self.room))
        self.timed = self._limiter.timed

    @property
    def _harm_reserve(self) -> int:
        return max(self.harm.reserve, self.others.reserve)

    def _lapsed(self) -> bool:
        """Whether the grant was not renewed in time: its slots may be somebody else's."""
        return self._granted_until is not None and self._clock.monotonic() >= self._granted_until

    def _tell(self) -> None:
        if self._on_room is not None and self.lines < self.allowed:
            self._on_room()


class Gates:
    """The gates of all models, made when first asked for."""

    def __init__(self, clock: Clock = _CLOCK) -> None:
        self._clock = clock
        self._gates: dict[str, Gate] = {}
        self._made: Callable[[Gate], None] = lambda _: None

    def on_made(self, prepare: Callable[[Gate], None]) -> None:
        """What is done to each gate before anybody uses it."""
        self._made = prepare
        for gate in self._gates.values():
            prepare(gate)

    def of(self, model: Model) -> Gate:
        """The gate of a model."""
        gate = self._gates.get(model.name)
        if gate is None:
            gate = self._gates[model.name] = Gate(model, self._clock)
            self._made(gate)
        return gate

    def resize(self, model: Model) -> None:
        """Takes over a changed catalog entry, if the model has a gate."""
        if model.name in self._gates:
            self._gates[model.name].resize(model)


def _limiter(model: Model, start: int) -> Limiter:
    return Limiter.auto(start) if model.auto else Limiter.fixed(model.capacity)
