"""Which process this is among all of its machine, so that another one there can tell for certain that it has ended.

A process that has ended has no call under way: the system has closed its connections. Nobody else can know that; to
them it may be stopped, or cut off.

Process ids mean something within their namespace. A container that is started again (as Kubernetes does in a pod whose
process was killed) has a new one, in the network namespace of the one before: both are process 1 of theirs, and the
first has ended, or the second would not be there.
"""

import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")


def here() -> str:
    """This process: the machine's boot, its namespace of process ids, its id and start; empty where none can say."""
    frame, started = _frame(), _started(os.getpid())
    return f"{frame} {os.getpid()} {started}" if frame and started else ""


def surely_ended(ground: str, mine: str | None = None) -> bool:
    """Whether the process that was ``here`` there has ended; False also when this cannot be told from here.

    ``mine``: the ground of who asks, by default this process's.
    """
    there, own = _Ground.read(ground), _Ground.read(here() if mine is None else mine)
    if there is None or own is None or there.pod != own.pod:
        return False
    if there.pids != own.pids:
        return there.pid == own.pid == 1
    return _started(there.pid) != there.started


class _Ground(NamedTuple):
    """``pod``: the machine's boot and the network namespace; ``pids``: where the id means something."""

    pod: str
    pids: str
    pid: int
    started: str

    @classmethod
    def read(cls, text: str) -> "_Ground | None":
        frame, _, rest = text.partition(" ")
        pid, _, started = rest.partition(" ")
        pod, _, pids = frame.rpartition("/")
        return cls(pod, pids, int(pid), started) if pod and pid.isdecimal() else None


@lru_cache(1)
def _frame() -> str:
    """The machine's boot, the network namespace and that of process ids."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{(_PROC / 'self/ns/net').readlink()}/{(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process started, in ticks since boot; empty when there is none, or it only waits to be forgotten."""
    try:
        state, *fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state in {"Z", "X"} else fields[18]
