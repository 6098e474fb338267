"""The C stub as a process: its settings, its counters."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench import build
from bench.client import Client, granted
from bench.hornada import answers
from bench.process import Process, free_port


class Stub(Process):
    """A stand-in model server on a free loopback port; see ``stub.c`` for its settings."""

    def __init__(self, log: Path, **settings: float) -> None:
        self.port = free_port()
        options = [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", str(value))]
        super().__init__([build.program("stub"), "--port", str(self.port), *options], log)
        self.client = Client(f"http://127.0.0.1:{self.port}")
        self.until(lambda: answers(self.client, "/health"), 60)

    @property
    def root(self) -> str:
        """Its address without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def upstream(self) -> str:
        """Its address as a model server."""
        return f"{self.root}/v1"

    def tune(self, **settings: float) -> None:
        """Changes settings while it runs; what is not named keeps its value."""
        asked = "&".join(f"{name}={value}" for name, value in settings.items())
        granted(self.client.call("GET", f"/set?{asked}"), "set")

    def reset(self) -> None:
        """Forgets its counters and the markers it saw."""
        granted(self.client.call("GET", "/reset"), "reset")

    def stats(self) -> dict[str, Any]:
        """Its counters."""
        return granted(self.client.call("GET", "/stats"), "stats")

    def answered(self, lines: int) -> set[int]:
        """The markers below ``lines`` that got an answer since the last reset."""
        missing = json.loads(self.client.call("GET", f"/missing?n={lines}&limit={lines}").body)
        return set(range(lines)) - set(missing)


def spread(ids: Iterable[int], limit: int = 5) -> str:
    """The first few of some ids, for messages."""
    found = sorted(ids)
    return f"{len(found)} ({', '.join(map(str, found[:limit]))}{', …' if len(found) > limit else ''})"
