"""Several real processes of one installation, on one PostgreSQL and one bucket."""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.client import Client
from bench.hornada import Hornada
from tests.object_store import CREDENTIALS

PATIENCE_S = 60.0
TTL_S = 2


class Fleet:
    """Processes of one installation; each has a folder, a port and a log of its own. ``url``: of its database."""

    def __init__(self, folder: Path, config: str, url: str) -> None:
        self.url = url
        self._folder = folder
        self._config = config
        self._all: list[Hornada] = []

    def add(self, role: str, ttl_s: float = TTL_S) -> Hornada:
        """A process that is ready."""
        env = {**CREDENTIALS, "HORNADA_ROLE": role, "HORNADA_ENGINE_LEASE_TTL_S": str(ttl_s)}
        hornada = Hornada(self._folder / f"{role}-{len(self._all)}", self._config, env)
        self._all.append(hornada)
        hornada.start()
        return hornada

    def end(self) -> None:
        """Kills whatever still runs."""
        for hornada in self._all:
            if hornada.process is not None:
                hornada.process.send(signal.SIGCONT)
                hornada.process.kill()


def until(happened: Callable[[], Any], patience_s: float = PATIENCE_S) -> float:
    """Seconds until it has happened."""
    began = time.monotonic()
    while not happened():
        assert time.monotonic() < began + patience_s
        time.sleep(0.02)
    return time.monotonic() - began


def soon(limit_s: float, measure: Callable[[], float]) -> bool:
    """Whether what is measured came within so many seconds: a busy machine spoils some of five tries, not all."""
    return any(measure() < limit_s for _ in range(5))


def metric(hornada: Hornada, name: str) -> float:
    text = Client(f"http://127.0.0.1:{hornada.port}").call("GET", "/metrics").body.decode()
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name))
