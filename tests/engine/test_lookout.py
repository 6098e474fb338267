"""Models whose servers take calls and answer none."""

import logging

import pytest

from hornada.core.catalog import Catalog, Model, Server
from hornada.engine.capacity import Gates
from hornada.engine.lookout import SILENCE_S, Lookout
from hornada.engine.tally import Tally, Waiting
from tests.conftest import Hands

SLOTS = 3


class View:
    """A lookout on one model, and its calls."""

    def __init__(self, clock: Hands) -> None:
        self.clock = clock
        model = Model(name="m", servers=(Server(url="http://x"),), capacity=SLOTS, batch_slots=SLOTS)
        tally = Tally(clock)
        self.waiting: Waiting = tally.of("m").waiting
        self.lookout = Lookout(clock, lambda: Catalog(models={"m": model}, aliases={}), Gates(clock), tally)

    async def after(self, seconds: float) -> float | None:
        self.clock.advance(seconds)
        await self.lookout.once()
        return self.lookout.silent_s("m")


@pytest.fixture
def view(clock: Hands) -> View:
    return View(clock)


async def test_a_model_that_leaves_every_slot_without_an_answer_is_told_once(
    view: View, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(SLOTS):
        view.waiting.begin()
    assert await view.after(SILENCE_S - 1) is None
    assert await view.after(2) == 31
    assert await view.after(60) == 91
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("model m: no answer for 31 s; every slot")
    assert "(3 of them)" in record.getMessage()


async def test_it_is_told_once_more_when_it_answers(view: View, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    tickets = [view.waiting.begin() for _ in range(SLOTS)]
    await view.after(SILENCE_S + 1)
    view.waiting.end(tickets[0], answered=True)
    assert await view.after(1) is None
    assert [record.getMessage() for record in caplog.records][1:] == ["model m answers again after 31 s"]


async def test_a_slow_answer_beside_free_slots_is_nothing_to_tell(view: View) -> None:
    for _ in range(SLOTS - 1):
        view.waiting.begin()
    assert await view.after(300) is None


async def test_a_model_that_answers_some_calls_is_not_silent(view: View) -> None:
    for _ in range(SLOTS):
        view.waiting.begin()
    for _ in range(10):
        view.waiting.end(view.waiting.begin(), answered=True)
        assert await view.after(SILENCE_S - 1) is None


async def test_calls_that_end_without_an_answer_do_not_end_the_silence(view: View) -> None:
    tickets = [view.waiting.begin() for _ in range(SLOTS)]
    await view.after(SILENCE_S + 1)
    for ticket in tickets:
        view.waiting.end(ticket, answered=False)
    assert await view.after(9) == 40
