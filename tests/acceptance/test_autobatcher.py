"""autobatcher, the drop-in AsyncOpenAI that turns concurrent calls into a batch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.build import ROOT
from bench.hornada import KEY, Hornada
from tests.acceptance.conftest import MODEL

PINNED = "autobatcher==0.12.0"
PROGRAM = Path(__file__).with_name("autobatcher_program.py")


@pytest.fixture(scope="session")
def python() -> Path:
    """An interpreter with autobatcher, built once under ``build/``."""
    folder = ROOT / "build" / PINNED.replace("==", "-")
    found, built = folder / "bin" / "python", folder / "built"
    if not built.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True, timeout=120)
        install: list[str | Path] = [found, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PINNED]
        subprocess.run(install, check=True, timeout=240)
        built.touch()
    return found


@pytest.mark.timeout(400)
def test_concurrent_calls_become_one_batch_and_all_are_answered(python: Path, server: Hornada) -> None:
    run = subprocess.run(
        [python, PROGRAM, server.base, KEY, MODEL], capture_output=True, text=True, timeout=150, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["failures"] == []
    assert found["batches"] == [20], "one batch carried all twenty"
    assert len(found["tokens"]) == 20
    assert all(tokens > 0 for tokens in found["tokens"])
    assert found["vectors"] == [1] * 5
