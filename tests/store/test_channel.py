"""The session that carries words between processes: a real PostgreSQL, whose sessions are ended at times."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import asyncpg
import pytest

from hornada.core.errors import Unavailable
from hornada.store.channel import Channel

END = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hornada channel' AND datname = $1"
)


class Ear:
    """A channel and what it heard."""

    def __init__(self, url: str) -> None:
        self.channel = Channel(url)
        self.heard: list[str] = []
        self.lost = asyncio.Event()
        self._more = asyncio.Condition()
        self.channel.on_heard = self.heard.append
        self.channel.on_lost = self.lost.set

    async def hears(self, *texts: str) -> None:
        async with asyncio.timeout(60):
            while self.heard[-len(texts) :] != list(texts):
                await asyncio.sleep(0.002)


@pytest.fixture
def url(fresh_postgres: Callable[[], str]) -> str:
    return fresh_postgres()


@pytest.fixture
async def ears(url: str) -> AsyncIterator[list[Ear]]:
    async with AsyncExitStack() as stack:
        made = [Ear(url) for _ in range(3)]
        for ear in made:
            stack.push_async_callback(ear.channel.close)
            assert await ear.channel.open()
        yield made


async def test_everybody_but_the_speaker_hears_each_text_in_order(ears: list[Ear]) -> None:
    one, two, three = ears
    await one.channel.send(["created", "stopped b1 batch_cancelled"])
    await two.channel.send(["rights"])
    await three.hears("created", "stopped b1 batch_cancelled", "rights")
    await one.hears("rights")
    await two.hears("created", "stopped b1 batch_cancelled")
    assert (one.heard, len(two.heard)) == (["rights"], 2)


async def test_it_is_open_only_once(ears: list[Ear]) -> None:
    assert not await ears[0].channel.open()


async def test_a_session_that_ends_is_told_and_opened_anew(ears: list[Ear], url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(END, await connection.fetchval("SELECT current_database()"))
    await connection.close()
    async with asyncio.timeout(60):
        for ear in ears:
            await ear.lost.wait()
    with pytest.raises(Unavailable):
        await ears[0].channel.send(["lost"])
    assert [await ear.channel.open() for ear in ears] == [True] * 3
    await ears[0].channel.send(["again"])
    await ears[1].hears("again")


async def test_a_database_that_is_not_there_is_said() -> None:
    channel = Channel("postgresql://postgres@127.0.0.1:1/nothing")
    with pytest.raises(Unavailable, match="the channel to other processes"):
        await channel.open()
    await channel.close()
