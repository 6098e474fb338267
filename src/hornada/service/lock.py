"""The lock on a data folder: two processes on one ledger file would each take the other's leases for abandoned."""

import fcntl
import os
from pathlib import Path


class Locked(Exception):
    """Another process uses the folder."""


def lock(folder: Path) -> int:
    """Takes the folder for this process, making it if need be; the lock ends with the process.

    Raises Locked, and OSError when the folder cannot be made. No child process inherits it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise Locked(f"{folder} is in use by another hornada process") from None
    return handle
