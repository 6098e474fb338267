"""One gate per model: regular calls pass at once, lines use what they leave free (contract 7)."""

from collections.abc import Callable

from hornada.core.catalog import Model


class Gate:
    """Counts both kinds of calls to one model.

    Lines may use ``capacity - regular - reserve`` slots, and no more than the model's batch share; a regular call takes
    its slot whatever is free.
    """

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._capacity = model.capacity
        self._batch_slots = model.batch_slots
        self._reserve = model.reserve
        self._on_room: Callable[[], None] | None = None
        self.regular = 0
        self.lines = 0

    def resize(self, model: Model) -> None:
        """Takes over a changed catalog entry."""
        self._capacity, self._batch_slots, self._reserve = model.capacity, model.batch_slots, model.reserve
        self._tell()

    def watch(self, on_room: Callable[[], None]) -> None:
        """Has ``on_room`` called whenever lines may use more slots than before."""
        self._on_room = on_room

    def enter(self) -> None:
        """A regular call starts."""
        self.regular += 1

    def leave(self) -> None:
        """A regular call ended."""
        self.regular -= 1
        self._tell()

    @property
    def allowed(self) -> int:
        """Slots that lines may use at this moment."""
        return max(0, min(self._batch_slots, self._capacity - self.regular - self._reserve))

    @property
    def slots(self) -> int:
        """Slots that a batch may use while nobody else calls; all of them, where lines get none."""
        return max(0, min(self._batch_slots, self._capacity - self._reserve)) or self._capacity

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

    def _tell(self) -> None:
        if self._on_room is not None and self.lines < self.allowed:
            self._on_room()


class Gates:
    """The gates of all models, made when first asked for."""

    def __init__(self) -> None:
        self._gates: dict[str, Gate] = {}

    def of(self, model: Model) -> Gate:
        """The gate of a model."""
        gate = self._gates.get(model.name)
        if gate is None:
            gate = self._gates[model.name] = Gate(model)
        return gate

    def resize(self, model: Model) -> None:
        """Takes over a changed catalog entry, if the model has a gate."""
        if model.name in self._gates:
            self._gates[model.name].resize(model)
