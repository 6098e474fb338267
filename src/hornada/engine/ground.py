"""Which process this is among all of its machine, so that another one there can tell for certain that it has ended.

A process that has ended has no call under way: the system has closed its connections. Nobody else can know that; to
them it may be stopped, or cut off.
"""

import os
from functools import lru_cache
from pathlib import Path

_PROC = Path("/proc")


def here() -> str:
    """This process: the machine's boot, its namespace of process ids, its id and start; empty where none can say."""
    frame, started = _frame(), _started(os.getpid())
    return f"{frame} {os.getpid()} {started}" if frame and started else ""


def surely_ended(ground: str) -> bool:
    """Whether the process that was ``here`` there has ended; False also when this cannot be told from here."""
    frame, _, rest = ground.partition(" ")
    pid, _, started = rest.partition(" ")
    if not frame or frame != _frame() or not pid.isdecimal():
        return False
    return _started(int(pid)) != started


@lru_cache(1)
def _frame() -> str:
    """Where process ids mean the same as here."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process started, in ticks since boot; empty when there is none, or it only waits to be forgotten."""
    try:
        state, *fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state in {"Z", "X"} else fields[18]
