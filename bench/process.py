"""Child processes of the kit: each in its own group, waited for with a limit, ended whatever happens."""

import atexit
import contextlib
import functools
import itertools
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

_BLOCKS = range(10_000, 32_000, 200)
"""The first ports of blocks below those which Linux gives to connections by itself (from 32768 on)."""
_running: set["Process"] = set()


class NotReady(RuntimeError):
    """A child ended or stayed silent where it should have become ready; the message ends with its last output."""


def free_port() -> int:
    """A loopback port that nobody listened on a moment ago, and that nobody else is given while this process lives.

    It is none of those that the system gives to whoever asks for any, so that it is still free when a server that was
    killed comes back to it.
    """
    while True:
        port = next(_ports())
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@functools.cache
def _ports() -> Iterator[int]:
    """The ports of this process: a block, which is taken for as long as its first port is."""
    for first in random.sample(_BLOCKS, len(_BLOCKS)):
        guard = socket.socket()
        try:
            guard.bind(("127.0.0.1", first))
        except OSError:
            guard.close()
        else:
            atexit.register(guard.close)
            return itertools.cycle(range(first + 1, first + _BLOCKS.step))
    message = "no block of ports is free"
    raise NotReady(message)


class Process:
    """A running command whose output goes to ``log``. Leaving its ``with`` block kills its whole group."""

    def __init__(self, command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        self.pid = self._popen.pid
        _running.add(self)

    @property
    def exit_code(self) -> int | None:
        """None while it runs, ``-signal`` when a signal ended it."""
        return self._popen.poll()

    def wait(self, timeout: float) -> int | None:
        """The exit code, or None when ``timeout`` seconds pass first."""
        try:
            return self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def send(self, number: signal.Signals) -> None:
        """Sends one signal to the process itself, not to its children."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL, as a crash would be, and the end of what it left behind."""
        self.send(signal.SIGKILL)
        self._popen.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        _running.discard(self)

    def until(self, ready: Callable[[], bool], timeout: float) -> float:
        """Seconds until ``ready()`` is true. Raises NotReady when the process ends or ``timeout`` passes."""
        began = time.perf_counter()
        while not ready():
            if self.exit_code is not None:
                message = f"ended with {self.exit_code} before it was ready:\n{self.tail()}"
                raise NotReady(message)
            if time.perf_counter() - began > timeout:
                message = f"not ready after {timeout:.0f} s:\n{self.tail()}"
                raise NotReady(message)
            time.sleep(0.01)
        return time.perf_counter() - began

    def tail(self, size: int = 4000) -> str:
        """The end of its output."""
        return self.log.read_bytes()[-size:].decode(errors="replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


@atexit.register
def _end_all() -> None:
    for process in list(_running):
        process.kill()
