"""Named moments between two durable steps at which a test can have the process killed, as a power cut would."""

import os
import signal

_armed: dict[str, int] = {}


def arm(spec: str | None) -> None:
    """Arms one point: ``segment_written`` or ``segment_written:3`` for the third time it is reached."""
    _armed.clear()
    if spec:
        point, _, nth = spec.partition(":")
        _armed[point] = int(nth or 1)


def reach(point: str) -> None:
    """Says that the process is at a point; does not return when it is armed and this is the time."""
    if not _armed or point not in _armed:
        return
    _armed[point] -= 1
    if _armed[point] <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
