"""How fast lines are done, and when the last one will be."""

from collections import deque

_WINDOW_S = 60.0


class Pace:
    """Looks back one minute."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def saw(self, done: int, now: float) -> None:
        """So many lines are done; ``now`` in seconds of a monotonic clock."""
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[1][0] > _WINDOW_S:
            self._seen.popleft()

    @property
    def rate(self) -> float:
        """Lines a second; 0 while nothing is known."""
        if not self._seen:
            return 0.0
        (since, before), (until, now) = self._seen[0], self._seen[-1]
        return (now - before) / (until - since) if until > since else 0.0

    def left_s(self, lines: int) -> float | None:
        """Seconds that so many more lines will take; None while that cannot be told."""
        return lines / self.rate if self.rate else None


def spoken_time(seconds: float) -> str:
    """A time in words of two units, such as ``3 min 20 s``."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"
