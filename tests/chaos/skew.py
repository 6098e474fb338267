"""Gives a process a clock that is off, whatever library asks for the time in it."""

from pathlib import Path

from bench.build import FOLDER, compiled

_SOURCE = Path(__file__).with_name("skew.c")


def skewed(seconds: int) -> dict[str, str]:
    """What to set in the environment of a process whose time of day is so many seconds ahead."""
    if not seconds:
        return {}
    library = compiled(_SOURCE, FOLDER / "skew.so", "-shared", "-fPIC", "-ldl")
    return {"LD_PRELOAD": str(library), "CHAOS_SKEW_S": str(seconds)}
