"""The processes of the scaled-out compose file, as it says, but on addresses of this machine."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.client import Client, granted
from bench.hornada import PROGRAM, answers
from bench.process import Process, free_port
from tests.deploy.files import DEPLOY
from tests.deploy.test_compose import GIVEN, read
from tests.object_store import CREDENTIALS, ObjectStore
from tests.platform.work import Work

LINES = 200


class Fleet:
    """Starts services of the file."""

    def __init__(self, folder: Path, database: str, store: ObjectStore, backend: Client) -> None:
        self._folder = folder
        self._services = read(DEPLOY / "compose" / "compose.scale-out.yaml")["services"]
        self._here = {
            "HORNADA_STORAGE_DATABASE": database,
            "HORNADA_STORAGE_BLOBS": store.url(),
            "HORNADA_UPSTREAM": f"http://127.0.0.1:{backend.port}/v1",
            **CREDENTIALS,
        }

    def environ(self, service: str, port: int) -> dict[str, str]:
        """What the file gives it, with this machine's addresses in place of the names of containers."""
        found = {name: str(value or "") for name, value in self._services[service]["environment"].items()}
        assert found.keys() >= self._here.keys()
        return {**found, **self._here, "HORNADA_SERVER_PORT": str(port), "HORNADA_DATA": str(self._folder / "none")}

    def migrate(self) -> subprocess.CompletedProcess[str]:
        command = [PROGRAM, *self._services["migrate"]["command"]]
        environ = self.environ("migrate", 0)
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)

    def start(self, service: str, stack: ExitStack) -> tuple[Process, Client]:
        port = free_port()
        environ = self.environ(service, port)
        process = stack.enter_context(Process([PROGRAM, "serve"], self._folder / f"{port}.log", environ))
        process.until(lambda: answers(Client(f"http://127.0.0.1:{port}"), "/readyz"), 60)
        return process, Client(f"http://127.0.0.1:{port}/v1", GIVEN["HORNADA_BOOTSTRAP_KEY"])


@pytest.fixture
def fleet(
    tmp_path: Path,
    fresh_postgres: Callable[[], str],
    object_store: ObjectStore,
    backend: Client,
) -> Fleet:
    return Fleet(tmp_path, fresh_postgres(), object_store, backend)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def test_a_batch_made_at_one_api_process_runs_and_is_read_at_the_other(
    fleet: Fleet,
    stack: ExitStack,
    backend: Client,
    tmp_path: Path,
) -> None:
    work = Work(backend)
    assert fleet.migrate().returncode == 0
    replicas = {service: [fleet.start(service, stack) for _ in range(2)] for service in ("api", "worker")}
    (_, here), (_, there) = replicas["api"]
    batch = here.submit(work.lines(LINES))
    assert granted(there.call("GET", f"/batches/{batch}"), "get")["id"] == batch
    found = there.finish(batch, 60)
    assert (found["status"], found["request_counts"]["completed"], work.calls()) == ("completed", LINES, LINES)
    assert len(there.content(found["output_file_id"]).splitlines()) == LINES
    metrics = Client(f"http://127.0.0.1:{there.port}").call("GET", "/metrics").body.decode()
    assert dict(re.findall(r'hornada_processes_live\{role="(\w+)"\} (\d)', metrics)) == {"api": "2", "worker": "2"}
    assert not (tmp_path / "none").exists(), "a process of this shape writes nothing to its own disk"


def test_no_process_starts_before_the_ledger_is_up_to_date(fleet: Fleet, stack: ExitStack) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)ended with 2 .*run hornada migrate"):
        fleet.start("worker", stack)
