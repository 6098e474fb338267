"""Packages that do not go together with ours, each set in a folder of its own, built once under ``build/``."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.build import ROOT

BUILD_S = 400
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")


def run_with(pinned: str, program: Path, *arguments: str, also: Sequence[str] = (), timeout: float = 150) -> str:
    """What a program prints that sees one package (``name==version``), what it needs, and nothing of ours.

    ``also``: packages that it needs without saying so.
    """
    folder = ROOT / "build" / pinned.replace("==", "-")
    built = folder / "built"
    if not built.exists():
        subprocess.run([*PIP, "--upgrade", "--target", folder, pinned, *also], check=True, timeout=BUILD_S)
        built.touch()
    command: list[str | Path] = [sys.executable, "-S", program, *arguments]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    run = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, env=env)
    assert run.returncode == 0, run.stderr
    return run.stdout
