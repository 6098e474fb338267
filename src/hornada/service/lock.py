"""The lock on a data folder: two processes on one ledger file would each take the other's leases for abandoned."""

import fcntl
import os
from pathlib import Path

from hornada.config import Config
from hornada.core.errors import Unavailable


class Locked(Exception):
    """Another process uses the folder."""


def data_folder(config: Config) -> Path | None:
    """The folder to lock: the ledger's, wherever the process was started; None with PostgreSQL and a bucket.

    With PostgreSQL and a folder for the bytes it is the data folder; who works on that ledger, the database tells.
    """
    if config.storage.ledger is not None:
        return config.storage.ledger.parent
    return Path(config.data) if config.storage.folder is not None else None


def folders(config: Config) -> list[Path]:
    """Where bytes are written on this machine: the folders of ledger and blobs, as far as they lie in folders."""
    ledger, blobs = config.storage.ledger, config.storage.folder
    return [*([ledger.parent] if ledger else []), *([blobs] if blobs else [])]


def lock(folder: Path) -> int:
    """Takes the folder for this process; the lock ends with the process, and no child inherits it.

    A folder that is missing is made, for this user only; one that is there keeps its mode. Raises Locked, and
    Unavailable when the folder cannot be made or used.
    """
    handle = _opened(folder)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise Locked(f"{folder} is in use by another hornada process") from None
    return handle


def _opened(folder: Path) -> int:
    what = "made"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        what = "used"
        return os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unavailable(f"the data folder {folder} cannot be {what}: {error.strerror}") from error
