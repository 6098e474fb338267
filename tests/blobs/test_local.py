"""What a local folder does beyond the behaviour of every store."""

import asyncio
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hornada.blobs import open_blobs
from hornada.blobs.local import LocalBlobs
from hornada.core.errors import Unavailable


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "blobs"


@pytest.fixture
def local(root: Path) -> LocalBlobs:
    return LocalBlobs(root, open_segments=2)


def files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def descriptors_below(root: Path) -> list[int]:
    links = [(int(entry.name), entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return [descriptor for descriptor, target in links if target.is_relative_to(root)]


def test_a_relative_address_lies_below_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blobs = open_blobs("file://hornada-data/blobs")
    assert blobs.path("input/a") == Path("hornada-data/blobs/input/a")
    assert (tmp_path / "hornada-data" / "blobs").is_dir()


def test_an_absolute_address_is_taken_as_it_is(tmp_path: Path) -> None:
    assert open_blobs(f"file://{tmp_path}/a%20b").path("input/a") == tmp_path / "a%20b" / "input" / "a"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://host/prefix", "expected file://FOLDER or s3://"),
        ("/tmp/x", "expected file://"),
        ("file://", "expected file://"),
    ],
)
def test_an_address_of_another_kind_is_an_error(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        open_blobs(url)


def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match=r"cannot store blobs in .*: File exists"):
        open_blobs(f"file://{tmp_path}/file/blobs")


async def test_what_a_killed_process_left_unfinished_is_removed(root: Path) -> None:
    left = f"""
import asyncio, os
from pathlib import Path
from hornada.blobs.local import LocalBlobs
async def main():
    writer = await LocalBlobs(Path({str(root)!r})).writer("input/a")
    await writer.write(b"x" * 2**21)
    os._exit(9)
asyncio.run(main())
"""
    assert await asyncio.to_thread(subprocess.call, [sys.executable, "-c", left]) == 9
    assert len(files(root)) == 1
    LocalBlobs(root)
    assert files(root) == []


async def test_what_another_process_still_writes_is_left_alone(root: Path) -> None:
    writer = await LocalBlobs(root).writer("input/a")
    await writer.write(b"x")
    LocalBlobs(root)
    await writer.commit()
    assert files(root) == ["input/a"]


async def test_each_process_start_has_its_own_segment_file(root: Path) -> None:
    first = await LocalBlobs(root).append("b", [b"1"])
    second = await LocalBlobs(root).append("b", [b"2"])
    assert first.object != second.object
    assert second.offsets == (0,)


async def test_a_batch_keeps_its_segment_file_when_it_was_closed_for_others(local: LocalBlobs, root: Path) -> None:
    for round_ in range(3):
        for batch in ("a", "b", "c", "d"):
            placed = await local.append(batch, [b"12345"])
            assert placed.offsets == (5 * round_,)
    assert len(files(root)) == 4
    assert len(descriptors_below(root)) == 2


async def test_no_open_file_passes_to_a_child_process(local: LocalBlobs, root: Path) -> None:
    await local.append("a", [b"x"])
    writer = await local.writer("input/a")
    opened = descriptors_below(root)
    assert len(opened) == 2
    assert not any(os.get_inheritable(descriptor) for descriptor in opened)
    await writer.abort()


async def test_after_a_failed_append_a_new_file_begins_and_old_offsets_still_hold(
    local: LocalBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await local.append("b", [b"one"])
    real = os.fdatasync

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fdatasync", full)
    with pytest.raises(Unavailable, match=rf"cannot store {first.object}: the disk is full"):
        await local.append("b", [b"lost"])
    monkeypatch.setattr(os, "fdatasync", real)
    second = await local.append("b", [b"two", b"three"])
    third = await local.append("b", [b"four"])
    assert (second.object != first.object, third.object) == (True, second.object)
    assert (second.offsets, third.offsets) == ((0, 3), (8,))
    assert await local.read(first.object, 0, 3) == b"one"
    assert await local.read(third.object, 8, 4) == b"four"


async def test_a_full_disk_is_unavailable_and_leaves_nothing(
    local: LocalBlobs, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = await local.writer("input/a")

    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(Unavailable, match="cannot store input/a: the disk is full"):
            await writer.write(b"x" * 2**20)
    with pytest.raises(Unavailable):
        await writer.commit()
    await writer.abort()
    assert files(root) == []


async def test_a_commit_that_fails_at_its_last_step_can_be_aborted_without_trace(
    local: LocalBlobs, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = await local.writer("input/a")
    await writer.write(b"x")
    (root / "input").mkdir()

    def broken(_folder: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("hornada.blobs.local.sync_folder", broken)
    with pytest.raises(Unavailable, match="Input/output error"):
        await writer.commit()
    await writer.abort()
    assert files(root) == []


async def test_a_write_that_was_cancelled_can_be_aborted_while_its_thread_still_runs(
    local: LocalBlobs, root: Path
) -> None:
    writer = await local.writer("input/a")
    writing = asyncio.create_task(writer.write(b"x" * 2**24))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await writer.abort()
    assert files(root) == []
    assert descriptors_below(root) == []


async def test_deleting_the_last_blob_of_a_folder_removes_the_folder(local: LocalBlobs, root: Path) -> None:
    for name in ("output", "errors"):
        writer = await local.writer(f"out/b/1/{name}")
        await writer.commit()
    await local.delete("out/b/1/output")
    assert (root / "out" / "b" / "1").is_dir()
    await local.delete("out/b/1/errors")
    assert [path.name for path in root.iterdir() if path.name != ".tmp"] == ["out"]
    assert list((root / "out").iterdir()) == []


async def test_what_is_stored_is_this_user_s_alone(local: LocalBlobs, root: Path) -> None:
    writer = await local.writer("input/a")
    await writer.write(b"abc")
    await writer.commit()
    await local.append("b", [b"abc"])
    made = [root, *root.rglob("*")]
    assert len(made) == 7
    assert [path for path in made if path.stat().st_mode & 0o077] == []


async def test_a_probe_leaves_nothing_behind(local: LocalBlobs, root: Path) -> None:
    await local.probe()
    assert files(root) == []


async def test_a_probe_notices_a_folder_that_is_gone_or_another(local: LocalBlobs, root: Path) -> None:
    root.rename(root.with_name("elsewhere"))
    with pytest.raises(Unavailable, match=f"blobs in {root}: No such file"):
        await local.probe()
    (root / ".tmp").mkdir(parents=True)
    with pytest.raises(Unavailable, match="was replaced by another"):
        await local.probe()


async def test_a_probe_notices_a_folder_that_takes_nothing(local: LocalBlobs, root: Path) -> None:
    (root / ".tmp").rmdir()
    with pytest.raises(Unavailable, match=f"blobs in {root}"):
        await local.probe()
