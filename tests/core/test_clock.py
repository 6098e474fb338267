"""A clock that all processes of a ledger agree on."""

from hornada.core.clock import SECOND, SharedClock, SystemClock


def test_it_says_what_the_machine_does_until_it_is_told_otherwise() -> None:
    clock, machine = SharedClock(), SystemClock()
    assert machine.now() <= clock.now() <= machine.now()


def test_a_machine_that_is_a_minute_late_or_early_is_set_right() -> None:
    for skew in (-60, 60):
        clock, machine = SharedClock(), SystemClock()
        asked = clock.now()
        assert clock.agree(asked + skew * SECOND, asked)
        assert abs(clock.now() - machine.now() - skew * SECOND) < SECOND
        assert not clock.agree(clock.now(), clock.now())


def test_what_the_asking_takes_changes_nothing() -> None:
    clock = SharedClock()
    asked = clock.now()
    assert not clock.agree(asked + SECOND // 4, asked)
    assert clock.ahead == 0


def test_a_ledger_that_changes_its_mind_is_followed() -> None:
    clock, machine = SharedClock(), SystemClock()
    clock.agree(clock.now() + 60 * SECOND, clock.now())
    clock.agree(clock.now() - 60 * SECOND, clock.now())
    assert abs(clock.now() - machine.now()) < SECOND
