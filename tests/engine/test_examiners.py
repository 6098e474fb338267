"""The process that stands ready to check a file."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import psutil
import pytest

from hornada.core.check_main import Question
from hornada.core.errors import Unavailable
from hornada.core.jsonl import Checked
from hornada.engine.examiners import Examiners
from tests.core.lines import check, line, rules

DATA = b"".join(line(str(number)) + b"\n" for number in range(3))


def processes() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "hornada.core.check_main" in child.cmdline()]


async def until(count: int) -> list[psutil.Process]:
    async with asyncio.timeout(60):
        while len(found := processes()) != count:
            await asyncio.sleep(0.001)
    return found


@pytest.fixture
async def examiners() -> AsyncIterator[Examiners]:
    made = Examiners()
    yield made
    await made.close()
    assert processes() == []


@pytest.fixture
def question(tmp_path: Path) -> bytes:
    (tmp_path / "input").write_bytes(DATA)
    return msgspec.json.encode(Question(rules=rules(), path=bytes(tmp_path / "input")))


async def right(examiners: Examiners, question: bytes) -> bool:
    return msgspec.json.decode(await examiners.ask(question), type=Checked) == check(DATA)


async def test_without_being_told_so_no_process_stands_ready(examiners: Examiners, question: bytes) -> None:
    assert await right(examiners, question)
    assert processes() == []


async def test_the_one_that_stands_ready_is_asked_and_another_takes_its_place(
    examiners: Examiners, question: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    examiners.stand_ready()
    [first] = await until(1)
    with monkeypatch.context() as changed:
        changed.setattr(sys, "executable", "/no/such/program")
        assert await right(examiners, question)
        assert processes() == []
    assert await right(examiners, question)
    [second] = await until(1)
    assert second.pid != first.pid


async def test_one_that_died_while_it_waited_is_not_asked(examiners: Examiners, question: bytes) -> None:
    examiners.stand_ready()
    [waiting] = await until(1)
    waiting.kill()
    async with asyncio.timeout(60):
        while waiting.status() != psutil.STATUS_ZOMBIE:
            await asyncio.sleep(0.001)
    assert await right(examiners, question)


async def test_several_files_at_once_have_a_process_each(examiners: Examiners, question: bytes) -> None:
    examiners.stand_ready()
    assert all(await asyncio.gather(*(right(examiners, question) for _ in range(3))))
    await until(1)


async def test_no_process_is_left_when_whoever_asked_is_gone(examiners: Examiners, question: bytes) -> None:
    for turns in range(20):
        asking = asyncio.create_task(examiners.ask(question))
        for _ in range(turns):
            await asyncio.sleep(0)
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        assert processes() == []


async def test_what_the_file_raises_is_raised(examiners: Examiners) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield DATA
        raise Unavailable("the store is away")

    with pytest.raises(Unavailable, match="the store is away"):
        await examiners.ask(msgspec.json.encode(Question(rules=rules(), path=None)), broken())


async def test_an_answer_is_heard_though_the_rest_of_the_file_is_not_read(examiners: Examiners) -> None:
    async def long() -> AsyncIterator[bytes]:
        for _ in range(2000):
            yield DATA * 100

    answer = await examiners.ask(msgspec.json.encode(Question(rules=rules(lines=2), path=None)), long())
    assert msgspec.json.decode(answer, type=Checked).total == 3
