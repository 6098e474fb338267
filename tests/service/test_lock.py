"""The lock on a data folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hornada.service.lock import Locked, lock


def test_a_folder_is_one_process_s_until_it_lets_go(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    held = lock(folder)
    with pytest.raises(Locked, match="in use"):
        lock(folder)
    os.close(held)
    os.close(lock(folder))


def test_a_child_does_not_keep_the_folder(tmp_path: Path) -> None:
    held = lock(tmp_path)
    program = [sys.executable, "-c", "print('here', flush=True); input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"here\n"
        os.close(held)
        os.close(lock(tmp_path))
        child.communicate(b"\n")
