"""openai-node, the official client of JavaScript, in its two lines of versions."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.build import ROOT
from bench.hornada import KEY, Hornada
from tests.acceptance.conftest import MODEL

HERE = Path(__file__).parent
PROGRAM = HERE / "openai_node.mjs"
LARGE = 100 << 20
"""As large as a file may be; the program sends a little more."""


def tool(name: str) -> str:
    """Where node or npm is."""
    found = shutil.which(name)
    assert found, f"{name} is not installed, and these tests need it: `apt-get install nodejs npm`"
    return found


@pytest.fixture(scope="session", params=["6", "7"], ids=["openai-node 6", "openai-node 7"])
def folder(request: pytest.FixtureRequest) -> Path:
    """A folder with one version in its ``node_modules``, built once under ``build/``."""
    pinned, target = HERE / "node" / request.param, ROOT / "build" / f"openai-node-{request.param}"
    lock = (pinned / "package-lock.json").read_text()
    built = target / "built"
    if not built.exists() or built.read_text() != lock:
        target.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(pinned / name, target)
        install = [tool("npm"), "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        subprocess.run(install, cwd=target, check=True, timeout=240, capture_output=True)
        built.write_text(lock)
    return target


@pytest.mark.timeout(400)
@pytest.mark.parametrize("base", ["/v1", "/openai/v1"])
def test_all_that_its_users_do(folder: Path, server: Hornada, base: str) -> None:
    url = f"http://127.0.0.1:{server.port}{base}"
    command = [tool("node"), PROGRAM, folder, url, KEY, MODEL, str(LARGE)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["failures"] == []
    assert found["checks"] > 30
