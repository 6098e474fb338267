"""Folders and errors of a file system that must not forget what it was told to keep."""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hornada.core.errors import Broken, Unavailable

_FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up"}
_folders = threading.Lock()


def make_folder(folder: Path) -> None:
    """Creates a folder and its parents, for this user only; they outlast a crash when this returns."""
    with _folders:
        _make(folder)


def _make(folder: Path) -> None:
    if folder.is_dir():
        return
    _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(folder.parent)


def private(path: str, flags: int) -> int:
    """Opens a file that, when this makes it, only this user can read: what ``open`` takes as its opener."""
    return os.open(path, flags, 0o600)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes | bytearray | memoryview) -> None:
    """Writes every byte, in as many steps as the system wants."""
    left = memoryview(data).cast("B")
    while left:
        left = left[os.write(descriptor, left) :]


def read_exactly(descriptor: int, key: str, offset: int, length: int) -> bytes:
    """Exactly ``length`` bytes from ``offset``; raises Broken when the file ends before."""
    data = os.pread(descriptor, length, offset)
    while len(data) < length:
        more = os.pread(descriptor, length - len(data), offset + len(data))
        if not more:
            raise Broken(f"{key} ends at byte {offset + len(data)}, {length - len(data)} bytes short")
        data += more
    return data


@contextmanager
def changing(key: str) -> Iterator[None]:
    """Turns what the system says while ``key`` is written or removed into Unavailable."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"cannot store {key}: {reason(error)}") from error


@contextmanager
def reading(key: str) -> Iterator[None]:
    """The same while ``key`` is read; a missing file is Broken."""
    try:
        yield
    except FileNotFoundError as error:
        raise Broken(f"{key} is missing") from error
    except OSError as error:
        raise Unavailable(f"cannot read {key}: {reason(error)}") from error


def reason(error: OSError) -> str:
    """Why, in a word that an operator can act on."""
    return _FULL.get(error.errno or 0) or error.strerror or type(error).__name__
