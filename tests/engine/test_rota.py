"""What one process does for all costs the same for any number of them, and goes on without the first."""

import pytest

from hornada.engine.rota import Rota
from tests.conftest import Hands

TICK_S = 0.5


def turns(clock: Hands, rotas: list[Rota], seconds: float) -> int:
    found = 0
    for _ in range(round(seconds / TICK_S)):
        found += sum(rota.due() for rota in rotas)
        clock.advance(TICK_S)
    return found


@pytest.mark.parametrize("number", [2, 5, 40])
def test_the_first_has_every_turn_and_the_others_together_as_many(clock: Hands, number: int) -> None:
    first = Rota(clock, TICK_S, lambda: True, lambda: number)
    others = [Rota(clock, TICK_S, lambda: False, lambda: number) for _ in range(number - 1)]
    turns(clock, [first, *others], 60)
    assert turns(clock, [first], 60) == 120
    assert turns(clock, others, 60) <= 180


def test_without_the_first_the_others_go_on(clock: Hands) -> None:
    others = [Rota(clock, TICK_S, lambda: False, lambda: 4) for _ in range(3)]
    assert turns(clock, others, 20) >= 25


def test_alone_it_is_always_ones_turn(clock: Hands) -> None:
    assert turns(clock, [Rota(clock, TICK_S)], 10) == 20
