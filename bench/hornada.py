"""A real ``hornada serve`` process with its configuration, data folder and log under one folder."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.client import Client
from bench.process import NotReady, Process, free_port

KEY = "sk-test"
READY_LIMIT_S = 60.0
PROGRAM = Path(sys.executable).with_name("hornada")


def model(name: str, upstream: str, **more: Any) -> dict[str, Any]:
    """One ``[[models]]`` entry; ``more`` are its other settings (endpoints, capacity, batch, …)."""
    return {"name": name, "upstream": upstream, **more}


def table(name: str, values: Mapping[str, Any]) -> str:
    """A TOML table of plain values (JSON's strings, numbers, booleans and lists are TOML's)."""
    return f"{name}\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()) + "\n"


def settings(
    models: Sequence[Mapping[str, Any]],
    *,
    aliases: Mapping[str, str] | None = None,
    limits: Mapping[str, Any] | None = None,
    plan: Mapping[str, Any] | None = None,
) -> str:
    """A configuration file: these models, a generous plan, and the key ``sk-test``."""
    roomy = {"requests_per_minute": 10_000_000, "active_batches": 2000, "queued_lines": 100_000_000}
    quoted = {json.dumps(alias): name for alias, name in (aliases or {}).items()}
    return "".join(
        [
            table("[limits]", limits or {}),
            *(table("[[models]]", entry) for entry in models),
            table("[aliases]", quoted),
            table("[plans.default]", {**roomy, **(plan or {})}),
            table("[bootstrap]", {"organization": "default", "key": KEY}),
        ]
    )


class Hornada:
    """The server, startable again and again on the same data. ``env`` holds for every start."""

    def __init__(self, folder: Path, config: str, env: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.data = folder / "data"
        self.config = folder / "hornada.toml"
        self.env = dict(env or {})
        self.process: Process | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self.config.write_text(config)

    @property
    def base(self) -> str:
        """Where the InferNode dialect is mounted."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def client(self) -> Client:
        """A client with the bootstrap key."""
        return Client(self.base, KEY)

    @property
    def ledger(self) -> Path:
        """The SQLite file."""
        return self.data / "ledger.db"

    @property
    def blobs(self) -> Path:
        """The folder of the bytes."""
        return self.data / "blobs"

    @property
    def running(self) -> Process:
        """The process; it must have been started."""
        if self.process is None:
            message = "the server was not started"
            raise NotReady(message)
        return self.process

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.running.pid

    def start(self, env: Mapping[str, str] | None = None, timeout: float = READY_LIMIT_S) -> float:
        """Starts it and waits until ``/readyz`` answers 200; seconds from exec to then."""
        began = time.perf_counter()
        command: list[str | Path] = [PROGRAM, "serve", "--config", self.config, "--data", self.data]
        command += ["--host", "127.0.0.1", "--port", str(self.port)]
        self.process = Process(command, self.folder / "server.log", {**self.env, **(env or {})})
        probe = Client(f"http://127.0.0.1:{self.port}")
        self.process.until(lambda: answers(probe, "/readyz"), timeout)
        return time.perf_counter() - began

    def kill(self) -> None:
        """SIGKILL."""
        self.running.kill()

    def terminate(self, timeout: float = 60) -> int | None:
        """SIGTERM; the exit code, or None when it still runs after ``timeout`` seconds (it is killed then)."""
        self.running.send(signal.SIGTERM)
        code = self.running.wait(timeout)
        self.running.kill()
        return code

    def log(self) -> str:
        """The end of what it printed."""
        return self.running.tail()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None:
            self.process.kill()


def answers(client: Client, path: str) -> bool:
    """Whether a GET is answered 200 now."""
    try:
        return client.call("GET", path, timeout=5).status == 200
    except (OSError, HTTPException):
        return False


def version() -> str:
    """What ``hornada --version`` prints, or why it does not."""
    try:
        run = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (run.stdout or run.stderr).strip()
