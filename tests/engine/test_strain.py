"""The bound on lines in flight while the event loop is full."""

from hornada.engine.strain import FLOOR, Strain
from tests.conftest import Hands


async def started(lines: int, clock: Hands, heard: list[bool]) -> Strain:
    strain = Strain(clock, lambda: heard.append(True))
    assert all(strain.try_line() for _ in range(lines))
    return strain


async def test_an_easy_loop_bounds_nothing(clock: Hands) -> None:
    strain = await started(1000, clock, [])
    strain.judge(0.5)
    assert strain.try_line()
    assert strain.keep_line()


async def test_a_full_loop_lets_lines_end_until_a_quarter_is_left(clock: Hands) -> None:
    strain = await started(256, clock, [])
    strain.judge(0.95)
    assert not strain.keep_line()
    for _ in range(192):
        strain.line_done()
    assert strain.keep_line()
    assert not strain.try_line()


async def test_a_floor_of_lines_is_always_allowed(clock: Hands) -> None:
    strain = await started(FLOOR - 1, clock, [])
    for _ in range(10):
        strain.judge(1.0)
    assert strain.try_line()
    assert not strain.try_line()


async def test_an_easy_loop_is_given_more_lines_and_says_so(clock: Hands) -> None:
    heard: list[bool] = []
    strain = await started(200, clock, heard)
    strain.judge(1.0)
    for _ in range(200 - 50):
        strain.line_done()
    assert not strain.try_line()
    strain.judge(0.2)
    assert heard == [True]
    assert all(strain.try_line() for _ in range(50))
    assert not strain.try_line()
