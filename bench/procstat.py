"""CPU time and memory of a process and its descendants, from ``/proc`` (Linux)."""

import os
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20


class Stat(NamedTuple):
    """One line of ``/proc/PID/stat``: parent, CPU ticks of its own and of reaped children, resident pages."""

    parent: int
    own: int
    reaped: int
    pages: int


def stat(pid: int) -> Stat | None:
    """A process now, or None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    return Stat(int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14]), int(fields[21]))


def tree(root: int) -> dict[int, Stat]:
    """The process and all its living descendants."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    every = {pid: found for pid in pids if (found := stat(pid))}
    children: dict[int, list[int]] = {}
    for child, found in every.items():
        children.setdefault(found.parent, []).append(child)
    members: dict[int, Stat] = {}
    todo = [root]
    while todo:
        member = todo.pop()
        if member in every and member not in members:
            members[member] = every[member]
            todo += children.get(member, [])
    return members


def cpu(pids: Iterable[int]) -> float:
    """CPU seconds that these processes, their descendants and their reaped children have used."""
    return sum(found.own + found.reaped for pid in pids for found in tree(pid).values()) / TICK


def rss(pid: int) -> int:
    """Resident bytes of the tree; shared pages count once a process."""
    return sum(found.pages for found in tree(pid).values()) * PAGE


class Peak:
    """The highest resident size of a tree while its ``with`` block runs, sampled ten times a second."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.bytes = rss(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    @property
    def mib(self) -> float:
        """The peak in MiB."""
        return self.bytes / MIB

    def _sample(self) -> None:
        while not self._over.wait(0.1):
            self.bytes = max(self.bytes, rss(self.pid))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self.bytes = max(self.bytes, rss(self.pid))
