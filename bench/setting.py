"""Where a measurement runs: a work folder, the stub, fresh servers, input files, yardsticks."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import build, lines, procstat, verify
from bench.client import Client
from bench.hornada import KEY, Hornada, answers, model, settings
from bench.process import Process, free_port
from bench.stub import Stub

PATIENCE_S = 150.0
TOKENS = 64


@dataclass
class Outcome:
    """One batch from upload to its files. Times in seconds, ``cpu`` in CPU seconds, all in."""

    lines: int
    upload_s: float = 0
    first_call_s: float = 0
    """Create to the first call at the model server."""
    run_s: float = 0
    """Create to the terminal status."""
    finish_s: float = 0
    """The model server's last answer to the terminal status."""
    cpu: float = 0
    peak_mib: float = 0
    status: str = ""
    verdict: verify.Verdict = field(default_factory=verify.Verdict)
    stats: dict[str, Any] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Lines a second, create to end."""
        return self.lines / self.run_s

    @property
    def cpu_per_1000(self) -> float:
        """CPU seconds per 1,000 lines."""
        return self.cpu / self.lines * 1000

    @property
    def sound(self) -> bool:
        """Completed, nothing lost, repeated or mixed up, no line failed."""
        return self.status == "completed" and self.verdict.sound and not self.verdict.failed


@dataclass
class Alone:
    """A client without a server around it."""

    lines: int
    wall_s: float
    cpu: float

    @property
    def rate(self) -> float:
        """Lines a second."""
        return self.lines / self.wall_s


class Setting:
    """Everything that the rows need. ``quick``: fewer lines and rounds."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self.stub = Stub(folder / "stub.log", tokens=TOKENS)
        self._servers = 0

    def pick(self, quick: int, whole: int) -> int:
        """A size for this run."""
        return quick if self.quick else whole

    def input(self, count: int, chars: int = lines.PROMPT_CHARS) -> Path:
        """An input file of ``count`` lines, written once."""
        path = self.folder / f"input-{count}-{chars}.jsonl"
        return path if path.exists() else lines.write(path, count, chars=chars)

    def quiet(self, **changes: float) -> None:
        """The stub without faults, with these settings, with nothing to remember."""
        calm = {"latency_ms": 0, "jitter_ms": 0, "max_inflight": 0, "queue": 0, "retry_after": 1, "sse_events": 0}
        self.stub.tune(**{**calm, **changes})
        self.stub.reset()

    @contextmanager
    def server(self, slots: int, **more: Any) -> Iterator[Hornada]:
        """A fresh server in front of the stub with ``slots`` concurrent calls, ready; gone with its data afterwards."""
        with self.configured(
            settings([model(lines.MODEL, self.stub.upstream, **{"capacity": slots, **more})])
        ) as server:
            yield server

    @contextmanager
    def configured(self, config: str, env: Mapping[str, str] | None = None) -> Iterator[Hornada]:
        """A fresh server with this configuration, ready; gone with its data afterwards."""
        self._servers += 1
        folder = self.folder / f"server-{self._servers}"
        try:
            with Hornada(folder, config, env) as hornada:
                hornada.start()
                yield hornada
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def batch(self, server: Hornada, path: Path, poll: float = 0.05) -> Outcome:
        """Runs one batch and checks its files."""
        client = server.client
        found = Outcome(lines=path.read_bytes().count(b"\n"))
        with procstat.Peak(server.pid) as peak:
            used, began = procstat.cpu([server.pid]), time.monotonic()
            file_id = str(client.upload(path).id)
            found.upload_s = time.monotonic() - began
            created = time.monotonic()
            batch_id = str(client.create(file_id).id)
            batch = client.finish(batch_id, PATIENCE_S, poll)
            over = time.monotonic()
            found.cpu = procstat.cpu([server.pid]) - used
        found.peak_mib = peak.mib
        found.status = batch["status"]
        found.stats = self.stub.stats()
        found.run_s = over - created
        found.first_call_s = found.stats["first_s"] - created
        found.finish_s = over - found.stats["last_s"]
        found.verdict = self.verify(server, batch, path)
        return found

    def verify(self, server: Hornada, batch: dict[str, Any], path: Path) -> verify.Verdict:
        """Downloads the result files and holds them against the input."""
        results = []
        for kind in ("output", "error"):
            if file_id := batch.get(f"{kind}_file_id"):
                results.append(self.folder / f"{kind}.jsonl")
                server.client.download(file_id, results[-1])
        return verify.check(path, *results)

    def alone(self, name: str, path: Path, connections: int) -> Alone:
        """Runs the yardstick client ``name`` on a file. Raises CalledProcessError when it fails."""
        command: list[str | Path] = [sys.executable, build.HERE / "yardsticks" / f"{name}.py"]
        target = self.folder / "alone.jsonl"
        began = time.monotonic()
        process = subprocess.Popen([*command, path, target, self.stub.root, str(connections)])
        cpu = wait_measuring(process)
        wall = time.monotonic() - began
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, name)
        return Alone(path.read_bytes().count(b"\n"), wall, cpu)

    def blast(self, path: Path, base: str, connections: int, key: str = "") -> dict[str, float]:
        """Runs the C client on a file; its figures."""
        command: list[str | Path] = [build.program("blast"), path, "/dev/null", base, str(connections)]
        command += [key] if key else []
        run = subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
        found: dict[str, float] = json.loads(run.stdout)
        return found

    @contextmanager
    def helper(self, command: Sequence[str | Path], env: dict[str, str] | None = None) -> Iterator[tuple[Process, int]]:
        """A yardstick server on a free port: ``PORT`` in ``command`` stands for it."""
        port = free_port()
        filled = [str(port) if part == "PORT" else part for part in command]
        with Process(filled, self.folder / "helper.log", env) as process:
            yield process, port

    @contextmanager
    def bare_gateway(self) -> Iterator[tuple[Process, str]]:
        """The yardstick gateway in front of the stub, answering: its process and its address without a path."""
        app = ["-m", "uvicorn", "bench.yardsticks.gateway:app", "--port", "PORT", "--no-access-log"]
        with self.helper([sys.executable, *app, "--log-level", "error"], {"UPSTREAM": self.stub.root}) as (
            process,
            port,
        ):
            base = f"http://127.0.0.1:{port}"
            process.until(lambda: answers(Client(base, KEY), "/"), 20)
            yield process, base

    def close(self) -> None:
        """Ends the stub."""
        self.stub.kill()


def wait_measuring(process: "subprocess.Popen[bytes]") -> float:
    """CPU seconds of a child when it has ended; it is killed when patience ends."""
    end = time.monotonic() + PATIENCE_S
    used = 0.0
    try:
        while process.poll() is None:
            used = max(used, procstat.cpu([process.pid]))
            if time.monotonic() > end:
                raise TimeoutError
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    return used


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of all lie; 0 when there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
