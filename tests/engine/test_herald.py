"""What a process tells others, and what it does with what it hears."""

from collections.abc import AsyncIterator, Callable

import pytest

from hornada.core.errors import Unavailable
from hornada.engine.herald import Herald
from hornada.engine.news import News, Topic
from hornada.store.channel import Channel
from tests.store.test_channel import Ear


class Desk:
    """The news of a process, and everything that its parts are told."""

    def __init__(self, channel: Channel) -> None:
        self.told: list[tuple[str, ...]] = []
        self.news = News()
        for topic in Topic:
            self.news.on(topic, lambda *words, topic=topic: self.told.append((topic, *words)))
        self.herald = Herald(channel, self.news)
        self.news.elsewhere = self.herald.told
        channel.on_heard = self.herald.heard


@pytest.fixture
def database(fresh_postgres: Callable[[], str]) -> str:
    return fresh_postgres()


@pytest.fixture
async def pair(database: str) -> AsyncIterator[tuple[Desk, Ear]]:
    """A desk that is connected, and somebody who hears what it says."""
    url = database
    ear, channel = Ear(url), Channel(url)
    await ear.channel.open()
    desk = Desk(channel)
    await desk.herald.once()
    desk.told.clear()
    yield desk, ear
    await channel.close()
    await ear.channel.close()


async def test_what_is_told_here_is_told_there_once_with_its_words(pair: tuple[Desk, Ear]) -> None:
    desk, ear = pair
    for _ in range(3):
        desk.news.tell(Topic.CREATED)
    desk.news.tell(Topic.STOPPED, "b1", "batch_cancelled")
    assert ear.heard == []
    assert not await desk.herald.once()
    await ear.hears("created", "stopped b1 batch_cancelled")
    assert desk.told == [("created",)] * 3 + [("stopped", "b1", "batch_cancelled")]


async def test_what_a_tick_tells_stays_here(pair: tuple[Desk, Ear]) -> None:
    desk, ear = pair
    for topic in (Topic.DRAINED, Topic.ENDED):
        desk.news.tell(topic)
    desk.news.tell(Topic.RIGHTS)
    await desk.herald.once()
    await ear.hears("rights")
    assert ear.heard == ["rights"]


async def test_what_is_heard_is_told_here_and_goes_no_further(pair: tuple[Desk, Ear]) -> None:
    desk, ear = pair
    desk.herald.heard("stopped b1 batch_expired")
    desk.herald.heard("catalog")
    assert desk.told == [("stopped", "b1", "batch_expired"), ("catalog",)]
    desk.news.tell(Topic.PAUSED, "b2")
    await desk.herald.once()
    await ear.hears("paused b2")
    assert ear.heard == ["paused b2"]


@pytest.mark.parametrize("text", ["", "nothing known", "drained", "Created"])
async def test_what_nobody_knows_is_let_pass(pair: tuple[Desk, Ear], text: str) -> None:
    desk, _ = pair
    desk.herald.heard(text)
    assert desk.told == []


async def test_who_may_have_missed_something_looks(database: str) -> None:
    channel = Channel(database)
    desk = Desk(channel)
    await desk.herald.once()
    assert {topic for topic, *_ in desk.told} == {"created", "ready", "rights", "catalog"}
    await desk.herald.once()
    assert len(desk.told) == 4
    await channel.close()


async def test_news_that_cannot_be_told_are_found_out_otherwise() -> None:
    desk = Desk(Channel("postgresql://postgres@127.0.0.1:1/nothing"))
    desk.news.tell(Topic.RIGHTS)
    with pytest.raises(Unavailable):
        await desk.herald.once()
    assert desk.told == [("rights",)]


async def test_what_waits_to_be_told_is_bounded(pair: tuple[Desk, Ear]) -> None:
    desk, ear = pair
    for at in range(1500):
        desk.news.tell(Topic.PAUSED, f"b{at}")
    await desk.herald.once()
    await ear.hears("paused b999")
    assert len(ear.heard) == 1000
