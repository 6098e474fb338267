"""The processes of one installation: started, killed, stopped, replaced; who ends without being asked is noticed."""

import random
import signal
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from pathlib import Path

import psutil

from bench.client import Client
from bench.hornada import PROGRAM
from bench.process import NotReady, Process, free_port
from tests.chaos.findings import Findings
from tests.chaos.weather import Weather

GRACE_S = 5
_LEAVES_S = 45.0
_AGAIN_S = 1.0
_KEPT = "could not be kept, their lines run again"
"""Said when a process has to end while storage is away."""


class Node:
    """One ``hornada serve``. ``host``: where it listens; ``before``: what stands before its command."""

    def __init__(
        self, name: str, folder: Path, config: str, env: Mapping[str, str], *, host: str, before: Sequence[str]
    ) -> None:
        self.name = name
        self.host = host
        self.port = free_port()
        self.log = folder / "server.log"
        self._env = dict(env)
        folder.mkdir(parents=True)
        path = folder / "hornada.toml"
        path.write_text(config)
        self._command = [*before, str(PROGRAM), "serve", "--config", str(path), "--data", str(folder / "data")]
        self._command += ["--host", host, "--port", str(self.port)]
        self.process: Process | None = None
        self.wanted = False
        self.frozen = False
        self.leaving: float | None = None
        self.served = False
        self.again_at = 0.0
        self.peak_mib = 0.0

    @property
    def is_worker(self) -> bool:
        """Whether it runs batches and answers nothing."""
        return self.name.startswith("worker")

    @property
    def client(self) -> Client:
        """A client of its root."""
        return Client(f"http://{self.host}:{self.port}")

    @property
    def up(self) -> bool:
        """Whether the process runs and is not stopped."""
        return self.process is not None and self.process.exit_code is None and not self.frozen

    def start(self) -> None:
        """Starts it, and does not wait."""
        self.process = Process(self._command, self.log, self._env)
        self.wanted, self.frozen, self.leaving, self.served = True, False, None, False

    def ready(self) -> bool:
        """Whether it says so."""
        try:
            self.served = self.served or self.client.call("GET", "/readyz", timeout=1).status == 200
        except (OSError, HTTPException):
            return False
        return self.served

    def kill(self) -> None:
        """SIGKILL."""
        self.wanted = self.frozen = False
        if self.process is not None:
            self.process.kill()

    def send(self, number: signal.Signals) -> None:
        """Any signal."""
        assert self.process is not None
        self.process.send(number)


class Fleet:
    """All nodes, and who looks after them."""

    def __init__(self, nodes: Sequence[Node], weather: Weather, findings: Findings) -> None:
        self.nodes = list(nodes)
        self._weather = weather
        self._findings = findings
        self._chance = random.Random()
        self.counts = {"kills": 0, "stops": 0, "replaced": 0}

    @property
    def apis(self) -> list[Node]:
        """Those that answer calls."""
        return [node for node in self.nodes if not node.is_worker]

    def an_api(self) -> Node:
        """One that answers calls, as a balancer would choose it."""
        up = [node for node in self.apis if node.up and node.leaving is None]
        return self._chance.choice(up or self.apis)

    def start(self, patience_s: float = 60) -> None:
        """Starts all; the first alone, for it makes the ledger."""
        for some in (self.nodes[:1], self.nodes[1:]):
            for node in some:
                node.start()
            for node in some:
                assert node.process is not None
                node.process.until(node.ready, patience_s)

    def kill(self, node: Node) -> None:
        """SIGKILL; it comes back when ``revive`` says so."""
        self.counts["kills"] += 1
        self._weather.end(f"frozen {node.name}")
        self._weather.begin(f"down {node.name}")
        node.kill()

    def revive(self, node: Node) -> None:
        """Starts it if it is dead."""
        if not node.wanted:
            node.start()

    def freeze(self, node: Node) -> None:
        """SIGSTOP."""
        self.counts["stops"] += 1
        self._weather.begin(f"frozen {node.name}")
        node.frozen = True
        node.send(signal.SIGSTOP)

    def thaw(self, node: Node) -> None:
        """SIGCONT."""
        if node.frozen:
            node.send(signal.SIGCONT)
            node.frozen = False
            self._weather.end(f"frozen {node.name}")

    def replace(self, node: Node) -> None:
        """SIGTERM; a new one is started when it has ended."""
        self.counts["replaced"] += 1
        self._weather.begin(f"down {node.name}")
        node.leaving = time.monotonic()
        node.send(signal.SIGTERM)

    def look(self) -> None:
        """Starts again who has ended and should run; says who ended without being asked."""
        for node in self.nodes:
            if not node.wanted or node.process is None:
                continue
            code = node.process.exit_code
            if code is None:
                self._measure(node)
                if not node.served and not node.frozen and node.leaving is None and node.ready():
                    self._weather.end(f"down {node.name}")
                self._late(node)
            elif node.leaving is not None:
                self._left(node, code)
            elif time.monotonic() > node.again_at:
                self._ended(node, code)

    def _measure(self, node: Node) -> None:
        try:
            node.peak_mib = max(node.peak_mib, psutil.Process(node.process.pid).memory_info().rss / 2**20)
        except psutil.Error:
            return

    def _late(self, node: Node) -> None:
        if node.leaving is not None and not node.frozen and time.monotonic() > node.leaving + _LEAVES_S:
            self._findings.broke("SIGTERM", f"{node.name} did not end within {_LEAVES_S:.0f} s:\n{_tail(node)}")
            self.kill(node)

    def _left(self, node: Node, code: int) -> None:
        assert node.leaving is not None
        troubles = self._weather.among(node.leaving - 5, time.monotonic(), "ledger", "bucket", "cut", "frozen")
        self._findings.looked("SIGTERM")
        if code and not troubles:
            self._findings.broke("SIGTERM", f"{node.name} ended with {code}:\n{_tail(node)}")
        node.process.kill()
        node.start()

    def _ended(self, node: Node, code: int) -> None:
        """A start fails while the database is away, and is tried again; nobody ends in the middle of its work."""
        if code != 2 or node.served:
            self._findings.broke("nobody ends by itself", f"{node.name} ended with {code}:\n{_tail(node)}")
        node.process.kill()
        node.start()
        node.again_at = time.monotonic() + _AGAIN_S

    def settle(self, patience_s: float = 60) -> None:
        """Everybody runs again."""
        for node in self.nodes:
            self.thaw(node)
            self.revive(node)
        end = time.monotonic() + patience_s
        while not all(node.wanted and node.leaving is None and node.up and node.ready() for node in self.nodes):
            self.look()
            if time.monotonic() > end:
                late = [node for node in self.nodes if not (node.up and node.ready())]
                raise NotReady("".join(f"{node.name} is not ready:\n{_tail(node)}" for node in late))
            time.sleep(0.2)
        self.look()

    def read_logs(self) -> None:
        """Nobody met what it does not know how to handle."""
        for node in self.nodes:
            self._findings.looked("no internal error")
            for line in node.log.read_text(errors="replace").splitlines():
                if "Traceback" in line or (" ERROR " in line and _KEPT not in line):
                    self._findings.broke("no internal error", f"{node.name} logged: {line}")

    def end(self) -> None:
        """Kills all."""
        for node in self.nodes:
            if node.process is not None:
                node.process.send(signal.SIGCONT)
                node.process.kill()


def _tail(node: Node) -> str:
    return node.process.tail(1500) if node.process is not None else ""
