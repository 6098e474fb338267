"""While a backup is made, the server removes no bytes: the two agree through a lock on a file of the data folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NAME = "keep"


@contextmanager
def keeping(folder: Path) -> Iterator[None]:
    """For as long as it is open nothing is removed; waits for a removal that is under way."""
    with _opened(folder) as handle:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield


@contextmanager
def removing(folder: Path | None) -> Iterator[bool]:
    """Whether bytes may be removed while it is open: not while a backup is made."""
    if folder is None:
        yield True
        return
    with _opened(folder) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    handle = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)
