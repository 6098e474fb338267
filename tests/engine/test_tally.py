"""What is counted of calls to models."""

import asyncio

import pytest

from hornada.core.batch import Usage
from hornada.engine.tally import Tally
from hornada.upstream.protocol import Answer, Failure, Fault
from tests.conftest import Hands

ANSWER = Answer(200, {}, b"{}")


async def after(clock: Hands, seconds: float, outcome: Answer | Failure) -> Answer | Failure:
    clock.advance(seconds)
    return outcome


async def test_an_answer_is_measured(clock: Hands) -> None:
    tally = Tally(clock).of("m")
    assert await tally.batch.timed(after(clock, 3, ANSWER)) is ANSWER
    assert (tally.batch.seconds.sum, sum(tally.batch.seconds.counts)) == (3, 1)
    assert sum(tally.regular.seconds.counts) == 0
    assert tally.waiting.answered_at == clock.monotonic()


async def test_what_is_no_answer_is_not_measured_and_waits_no_more(clock: Hands) -> None:
    tally = Tally(clock).of("m")
    began = clock.monotonic()
    await tally.batch.timed(after(clock, 3, Failure(Fault.TIMEOUT, "it did not answer.")))
    assert sum(tally.batch.seconds.counts) == 0
    assert (tally.waiting.answered_at, tally.waiting.oldest_s) == (began, 0)


async def test_a_call_that_is_cancelled_waits_no_more(clock: Hands) -> None:
    tally = Tally(clock).of("m")
    task = asyncio.create_task(tally.regular.timed(asyncio.Event().wait()))
    await asyncio.sleep(0)
    clock.advance(7)
    assert tally.waiting.oldest_s == 7
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tally.waiting.oldest_s == 0


def test_the_oldest_call_is_the_one_that_was_sent_first(clock: Hands) -> None:
    waiting = Tally(clock).of("m").waiting
    first = waiting.begin()
    clock.advance(5)
    waiting.begin()
    assert (waiting.oldest_s, waiting.since(clock.monotonic() - 1)) == (5, 1)
    assert waiting.end(first, answered=True) == 5
    assert (waiting.oldest_s, waiting.since(clock.monotonic())) == (0, 1)


def test_tokens_are_summed(clock: Hands) -> None:
    tally = Tally(clock)
    for _ in range(2):
        tally.of("m").regular.used(Usage(input=10, cached=4, output=3))
    regular = tally.of("m").regular
    assert (regular.input, regular.cached, regular.output) == (20, 8, 6)
