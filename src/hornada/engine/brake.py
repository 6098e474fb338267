"""What keeps lines from being started, whoever finds it out; calls in flight go on and their results are kept."""

from collections.abc import Callable


class Brake:
    """On for as long as anybody holds it; ``on_released`` is called when nobody does any more."""

    def __init__(self) -> None:
        self._why: dict[str, str] = {}
        self.lapsed: Callable[[], bool] | None = None
        """Holds it too, without a word; asked each time: who slept must know before a line starts."""
        self.on_released: Callable[[], None] = lambda: None

    @property
    def on(self) -> bool:
        """Whether no line may start."""
        return bool(self._why) or (self.lapsed is not None and self.lapsed())

    @property
    def reasons(self) -> list[str]:
        """Why, in words for people."""
        return [f"no line is started: {why}" for why in self._why.values()]

    def hold(self, who: str, why: str) -> None:
        """Starts no line until ``who`` releases."""
        self._why[who] = why

    def release(self, who: str) -> None:
        """``who`` has no objection any more."""
        if self._why.pop(who, None) is not None and not self._why:
            self.on_released()
