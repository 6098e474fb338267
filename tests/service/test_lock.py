"""The lock on a data folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hornada.config import load
from hornada.core.errors import Unavailable
from hornada.service.lock import Locked, data_folder, lock


def test_a_folder_is_one_process_s_until_it_lets_go(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    held = lock(folder)
    with pytest.raises(Locked, match="in use"):
        lock(folder)
    os.close(held)
    os.close(lock(folder))


@pytest.mark.parametrize(
    ("database", "blobs", "folder"),
    [
        (None, None, "data"),
        ("sqlite:////srv/ledger.db", None, "/srv"),
        ("postgresql://u@h/d", None, "data"),
        ("postgresql://u@h/d", "s3://bucket", None),
    ],
)
def test_what_is_locked_is_where_the_ledger_lies(database: str | None, blobs: str | None, folder: str | None) -> None:
    flags = {"data": "data", "storage.database": database, "storage.blobs": blobs}
    assert data_folder(load(None, {}, flags)) == (None if folder is None else Path(folder))


def test_a_child_does_not_keep_the_folder(tmp_path: Path) -> None:
    held = lock(tmp_path)
    program = [sys.executable, "-c", "print('here', flush=True); input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"here\n"
        os.close(held)
        os.close(lock(tmp_path))
        child.communicate(b"\n")


def test_a_folder_that_is_made_is_this_user_s_alone_and_one_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    os.close(lock(tmp_path / "new"))
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    (tmp_path / "old").mkdir(mode=0o755)
    os.close(lock(tmp_path / "old"))
    assert (tmp_path / "old").stat().st_mode & 0o777 == 0o755


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match=f"the data folder {tmp_path}/file cannot be made: File exists"):
        lock(tmp_path / "file")
    (tmp_path / "folder" / "lock").mkdir(parents=True)
    with pytest.raises(Unavailable, match=f"the data folder {tmp_path}/folder cannot be used: Is a directory"):
        lock(tmp_path / "folder")
