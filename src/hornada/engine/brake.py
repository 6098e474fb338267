"""What keeps lines from being started, whoever finds it out; calls in flight go on and their results are kept."""

from collections.abc import Callable


class Brake:
    """On for as long as anybody holds it, and then until somebody has ``looked``; ``on_released`` asks for that.

    What this process holds may have been stopped meanwhile, and nobody could tell it.
    """

    def __init__(self) -> None:
        self._why: dict[str, str] = {}
        self._unsure = False
        self.lapsed: Callable[[], bool] | None = None
        """Holds it too, without a word; asked each time: who slept must know before a line starts."""
        self.on_released: Callable[[], None] = lambda: None

    @property
    def on(self) -> bool:
        """Whether no line may start."""
        return bool(self._why) or self._unsure or (self.lapsed is not None and self.lapsed())

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
            self._unsure = True
            self.on_released()

    def looked(self) -> bool:
        """Everything that is held was looked at just now; whether lines may start again because of it."""
        sure_now, self._unsure = self._unsure, False
        return sure_now and not self.on
