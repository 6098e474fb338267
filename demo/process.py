"""A child process with its log, stopped whatever happens."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

START_S = 60
STOP_S = 15


class Child:
    """Runs a command with its output in ``log``; a context manager."""

    def __init__(self, command: Sequence[str], log: Path, environ: Mapping[str, str] | None = None) -> None:
        self._command, self._log, self._environ = list(command), log, {**os.environ, **(environ or {})}

    def __enter__(self) -> Self:
        with self._log.open("wb") as out:
            self._process = subprocess.Popen(
                self._command, stdout=out, stderr=subprocess.STDOUT, env=self._environ, start_new_session=True
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def until(self, ready: Callable[[], str | None]) -> str:
        """What ``ready`` gives as soon as it gives something; SystemExit with the log's end if it never does."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            found = ready()
            if found:
                return found
            time.sleep(0.1)
        raise SystemExit(f"{self._command} did not start. The end of {self._log}:\n{self.log()[-2000:]}")

    def log(self) -> str:
        """All that the process has printed."""
        return self._log.read_text(errors="replace")
