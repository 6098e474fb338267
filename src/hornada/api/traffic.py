"""Calls over HTTP: how many are under way, how many there were of each kind, and how long they took."""

from collections import Counter

from hornada.core.histogram import Histogram

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds: a control call takes milliseconds, an upload or a stream many seconds."""
GONE = 499
"""Stands for the status where the client hung up before there was an answer."""
UNKNOWN = "unknown"
"""Stands for the route, and for the method, where a call found no route: what clients send must not become a label."""


class Traffic:
    """``open``: calls under way on routes that ask for a key."""

    def __init__(self) -> None:
        self.open = 0
        self.calls = Counter[tuple[str, str, int]]()
        self.seconds: dict[str, Histogram] = {}

    def ended(self, route: str, method: str, status: int, seconds: float) -> None:
        """Notes a call that has ended."""
        self.calls[route, method, status] += 1
        found = self.seconds.get(route)
        if found is None:
            found = self.seconds[route] = Histogram(BOUNDS)
        found.observe(seconds)
