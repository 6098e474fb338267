"""The end of a batch's segment file, where results are appended and made durable."""

import os
import threading
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from hornada.blobs.durable import make_folder, reason, sync_folder, write_all
from hornada.blobs.protocol import Placed
from hornada.core.errors import Unavailable
from hornada.core.ids import new_id


class Tail:
    """One batch's append-only file; every method blocks and may be called from any thread.

    The file is opened again where it ended after ``close``. After a failure a new one is begun: what a failed write
    left behind is unknown, and offsets must be exact.
    """

    def __init__(self, root: Path, batch: str, start: str) -> None:
        self._root = root
        self._batch = batch
        self._start = start
        self._lock = threading.Lock()
        self._descriptor = -1
        self._size = 0

    def append(self, parts: Sequence[bytes]) -> Placed:
        """Adds parts in one write and one fdatasync; raises Unavailable."""
        with self._lock:
            try:
                return self._append(parts)
            except OSError as error:
                key = self._key
                self._close()
                self._start = new_id()
                raise Unavailable(f"cannot store {key}: {reason(error)}") from error

    def close(self) -> None:
        """Lets the file go until the next append."""
        with self._lock:
            self._close()

    @property
    def _key(self) -> str:
        return f"seg/{self._batch}/{self._start}"

    def _append(self, parts: Sequence[bytes]) -> Placed:
        if self._descriptor < 0:
            self._open()
        write_all(self._descriptor, b"".join(parts))
        os.fdatasync(self._descriptor)
        *offsets, self._size = accumulate(map(len, parts), initial=self._size)
        return Placed(self._key, tuple(offsets))

    def _open(self) -> None:
        path = self._root / self._key
        make_folder(path.parent)
        fresh = not path.exists()
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._descriptor).st_size
        if fresh:
            os.fsync(self._descriptor)
            sync_folder(path.parent)

    def _close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)
