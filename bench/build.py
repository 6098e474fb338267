"""Compiles the C parts of the kit into ``build/bench`` when their source is newer."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "bench"
FOLDER = ROOT / "build" / "bench"
SOURCES = {"stub": HERE / "stub.c", "blast": HERE / "yardsticks" / "blast.c"}


def program(name: str) -> Path:
    """The compiled program ``stub`` or ``blast``. Raises CalledProcessError when the compiler refuses."""
    return compiled(SOURCES[name], FOLDER / name, "-pthread")


def compiled(source: Path, target: Path, *options: str) -> Path:
    """``target``, compiled anew where its source is newer; several processes may ask for it at once."""
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        FOLDER.mkdir(parents=True, exist_ok=True)
        fresh = target.with_suffix(f".{os.getpid()}")
        subprocess.run(["cc", "-O2", "-o", fresh, source, *options], check=True)
        fresh.replace(target)
    return target
