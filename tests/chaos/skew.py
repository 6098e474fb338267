"""Gives a process a clock that is off, whatever library asks for the time in it."""

import subprocess
from pathlib import Path

from bench.build import FOLDER

_SOURCE = Path(__file__).with_name("skew.c")


def skewed(seconds: int) -> dict[str, str]:
    """What to set in the environment of a process whose time of day is so many seconds ahead."""
    return {"LD_PRELOAD": str(_library()), "CHAOS_SKEW_S": str(seconds)} if seconds else {}


def _library() -> Path:
    target = FOLDER / "skew.so"
    if not target.exists() or target.stat().st_mtime < _SOURCE.stat().st_mtime:
        FOLDER.mkdir(parents=True, exist_ok=True)
        fresh = target.with_suffix(".new")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", fresh, _SOURCE, "-ldl"], check=True)
        fresh.replace(target)
    return target
