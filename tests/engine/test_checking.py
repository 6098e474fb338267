"""Checking files beside the event loop."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from hornada.blobs import open_blobs
from hornada.blobs.protocol import Blobs
from hornada.core.errors import Broken, Unavailable
from hornada.engine.checking import GLANCED_BYTES, INLINE_BYTES, check_file
from hornada.engine.examiners import Examiners
from tests.core.lines import body, check, line, rules

FILE = b"\n".join(line(str(number), body=body("é" * 200)) for number in range(2000)) + b"\n"
BROKEN = FILE + b"{oops\n" + line("0") + b"\n"


class FarBlobs:
    """A store whose blobs are no local files. ``before_last`` runs when all but a stream's last byte was read."""

    before_last: Callable[[], Awaitable[object]] | None = None

    def __init__(self, root: Path) -> None:
        self._near = open_blobs(f"file://{root}")
        self.writer, self.read = self._near.writer, self._near.read

    def path(self, key: str) -> Path | None:
        return None

    async def stream(self, key: str, offset: int, length: int) -> AsyncIterator[bytes]:
        async for piece in self._near.stream(key, offset, length - 1):
            yield piece
        if self.before_last:
            await self.before_last()
        yield await self.read(key, offset + length - 1, 1)


@pytest.fixture(params=["near", "far", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "s3":
        return open_blobs(request.getfixturevalue("object_store").url())
    return open_blobs(f"file://{tmp_path}") if request.param == "near" else FarBlobs(tmp_path)


async def put(blobs: Blobs, data: bytes) -> None:
    writer = await blobs.writer("input/a")
    await writer.write(data)
    await writer.commit()


def workers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "hornada.core.check_main" in child.cmdline()]


@pytest.mark.parametrize("data", [line("a"), FILE, BROKEN, FILE * 3])
async def test_a_file_is_checked_the_same_in_any_process(blobs: Blobs, data: bytes) -> None:
    await put(blobs, data)
    assert await check_file(Examiners(), blobs, "input/a", len(data), rules()) == check(data)
    assert workers() == []


async def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    blobs = open_blobs(f"file://{tmp_path}/" + os.fsdecode(b"caf\xe9"))
    await put(blobs, FILE)
    assert await check_file(Examiners(), blobs, "input/a", len(FILE), rules()) == check(FILE)


def test_the_files_of_these_tests_need_a_process() -> None:
    assert len(FILE) > INLINE_BYTES


async def test_reading_may_stop_before_the_file_ends(blobs: Blobs) -> None:
    data = FILE * 20
    await put(blobs, data)
    checked = await check_file(Examiners(), blobs, "input/a", len(data), rules(lines=10))
    assert [(finding.line, finding.code) for finding in checked.findings] == [(None, "too_many_tasks")]
    assert checked.total == 11


async def test_the_event_loop_goes_on_meanwhile(blobs: Blobs) -> None:
    data = b"\n".join(line(str(number), body=body("x" * 2000)) for number in range(5000))
    await put(blobs, data)
    checking = asyncio.create_task(check_file(Examiners(), blobs, "input/a", len(data), rules()))
    turns = 0
    while not checking.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert (await checking).total == 5000
    assert turns > 20


async def test_a_killed_process_is_unavailable(tmp_path: Path) -> None:
    blobs = FarBlobs(tmp_path)
    await put(blobs, FILE)

    async def kill() -> None:
        [worker] = workers()
        worker.kill()

    blobs.before_last = kill
    with pytest.raises(Unavailable, match="ended with status -9"):
        await check_file(Examiners(), blobs, "input/a", len(FILE), rules())
    assert workers() == []


async def test_a_check_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    blobs = FarBlobs(tmp_path)
    await put(blobs, FILE)
    there = asyncio.Event()

    async def wait() -> None:
        there.set()
        await asyncio.Event().wait()

    blobs.before_last = wait
    checking = asyncio.create_task(check_file(Examiners(), blobs, "input/a", len(FILE), rules()))
    await there.wait()
    assert len(workers()) == 1
    checking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await checking
    assert workers() == []


async def test_a_missing_or_short_file_is_broken(blobs: Blobs) -> None:
    await put(blobs, FILE)
    with pytest.raises(Broken):
        await check_file(Examiners(), blobs, "input/b", len(FILE), rules())
    with pytest.raises(Broken):
        await check_file(Examiners(), blobs, "input/a", len(FILE) + 1, rules())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent is gone")
async def test_the_process_dies_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(
        "import asyncio, os, sys\n"
        "async def main():\n"
        "    command = (sys.executable, '-P', '-m', 'hornada.core.check_main', str(os.getpid()))\n"
        "    pipe = asyncio.subprocess.PIPE\n"
        "    reading = os.open(sys.argv[1], os.O_RDWR)\n"
        "    child = await asyncio.create_subprocess_exec(*command, stdin=reading, stdout=pipe)\n"
        "    print(child.pid, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    os.mkfifo(tmp_path / "pipe")
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, str(tmp_path / "parent.py"), str(tmp_path / "pipe"))
    parent = await asyncio.create_subprocess_exec(*command, stdout=pipe)
    assert parent.stdout is not None
    child = psutil.Process(int(await parent.stdout.readline()))
    parent.kill()
    await parent.communicate()
    child.wait(timeout=30)
    assert not child.is_running()


async def test_a_file_of_some_size_that_is_clean_at_a_glance_needs_no_process(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"\n".join(line(str(number), body=body("é" * 200)) for number in range(600))
    assert INLINE_BYTES < len(data) < GLANCED_BYTES
    await put(blobs, data)
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    assert await check_file(Examiners(), blobs, "input/a", len(data), rules()) == check(data)


async def test_a_file_of_some_size_with_much_that_needs_a_close_look_is_checked_apart(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"\n".join(line(str(number), body=body("é" * 200), method="Post") for number in range(600))
    await put(blobs, data)
    assert await check_file(Examiners(), blobs, "input/a", len(data), rules()) == check(data)
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    with pytest.raises(Unavailable):
        await check_file(Examiners(), blobs, "input/a", len(data), rules())
