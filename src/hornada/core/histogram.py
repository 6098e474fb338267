"""How often something took how long: a few whole numbers, gathered at hardly any cost."""

from bisect import bisect_left
from itertools import accumulate


class Histogram:
    """``bounds`` are the upper ends of its buckets, in seconds and in order; what takes longer has one of its own."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        """Counts one."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds

    def cumulative(self) -> list[tuple[float, int]]:
        """For each bound, the endless one last, how many took at most so long."""
        return list(zip((*self.bounds, float("inf")), accumulate(self.counts), strict=True))
