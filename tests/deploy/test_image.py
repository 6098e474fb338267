"""The Dockerfile: linted, and its steps run in a plain environment, since no container engine is at hand."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.client import Client
from bench.hornada import answers
from bench.process import Process, free_port
from tests.deploy.files import DEPLOY, ROOT, program

pytestmark = pytest.mark.timeout(600)
"""Packages are fetched and compiled."""

DOCKERFILE = DEPLOY / "Dockerfile"


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def last(name: str) -> str:
    return [rest for word, rest in instructions() if word == name][-1]


def environment(root: Path) -> dict[str, str]:
    """What ENV says in the last stage, with its folders below ``root``."""
    pairs = [pair.split("=", 1) for pair in shlex.split(last("ENV"))]
    found = {name: value.replace("/opt", f"{root}/opt").replace("/var", f"{root}/var") for name, value in pairs}
    return {**found, "PATH": found["PATH"].replace("$PATH", os.environ["PATH"])}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the steps of the stage ``build`` have run: the folders of the image lie below it."""
    root = tmp_path_factory.mktemp("image")
    source = root / "src"
    source.mkdir()
    (root / "opt").mkdir()
    (root / "var" / "lib" / "hornada").mkdir(parents=True)
    for word, rest in instructions()[: [word for word, _ in instructions()].index("FROM", 2)]:
        if word == "COPY":
            *paths, target = rest.split()
            for path in paths:
                copy(ROOT / path, source / target, path)
        elif word == "RUN":
            command = rest.replace("/opt/", f"{root}/opt/").replace("python -m venv", f"{sys.executable} -m venv")
            done = subprocess.run(["sh", "-ec", command], cwd=source, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[-2000:]
    return root


def copy(path: Path, target: Path, name: str) -> None:
    if path.is_dir():
        shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
        return
    place = target / Path(name).name if target.name == "requirements" or target.is_dir() else target
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, place)


def test_hadolint_has_nothing_to_say_against_it() -> None:
    done = subprocess.run([program("hadolint"), DOCKERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_it_copies_is_let_through() -> None:
    """The file ``.dockerignore`` hides all but what it names."""
    allowed = [line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[0] == "!"]
    for word, rest in instructions():
        if word == "COPY" and "--from" not in rest:
            for path in rest.split()[:-1]:
                assert (ROOT / path).exists()
                assert path in allowed


def test_the_process_is_nobody_and_gets_the_signal_itself() -> None:
    assert last("USER") == "10001:10001"
    assert last("STOPSIGNAL") == "SIGTERM"
    assert last("ENTRYPOINT").startswith("["), "a shell would keep the signal to itself"
    assert last("VOLUME") == last("WORKDIR") == "/var/lib/hornada"


def test_what_it_installs_serves_is_seen_to_be_healthy_and_stops(root: Path) -> None:
    port = str(free_port())
    environ = environment(root) | {"HORNADA_SERVER_PORT": port}
    assert environ["HORNADA_DATA"] == f"{root}/var/lib/hornada"
    command = [*json.loads(last("ENTRYPOINT")), *json.loads(last("CMD"))]
    check = json.loads(last("HEALTHCHECK").split(" CMD ")[1])

    def healthy() -> bool:
        return subprocess.run(check, env={**os.environ, **environ}, capture_output=True, check=False).returncode == 0

    found = shutil.which(command[0], path=environ["PATH"])
    assert found == f"{root}/opt/hornada/bin/hornada"
    assert not healthy()
    with Process([found, *command[1:]], root / "server.log", environ) as server:
        server.until(lambda: answers(Client(f"http://127.0.0.1:{port}"), "/readyz"), 30)
        assert healthy()
        server.send(getattr(signal, last("STOPSIGNAL")))
        assert server.wait(30) == 0
    assert (root / "var" / "lib" / "hornada" / "ledger.db").exists()


@pytest.mark.parametrize("module", ["asyncpg", "obstore", "opentelemetry.sdk"])
def test_it_has_what_the_scaled_out_shape_needs(root: Path, module: str) -> None:
    done = subprocess.run([root / "opt/hornada/bin/python", "-c", f"import {module}"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_has_nothing_that_only_tests_need(root: Path) -> None:
    done = subprocess.run([root / "opt/hornada/bin/python", "-c", "import pytest"], capture_output=True, check=False)
    assert done.returncode == 1
