"""How often something took how long."""

from hornada.core.histogram import Histogram


def test_a_value_counts_in_every_bucket_that_holds_it() -> None:
    histogram = Histogram((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 3.0):
        histogram.observe(seconds)
    assert histogram.cumulative() == [(0.1, 2), (1.0, 3), (float("inf"), 4)]
    assert histogram.sum == 3.65


def test_nothing_that_was_seen_is_all_zeros() -> None:
    assert Histogram((1.0,)).cumulative() == [(1.0, 0), (float("inf"), 0)]
