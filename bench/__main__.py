"""``python -m bench``: measures Hornada against yardsticks of the same minute and prints the target table's rows."""

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from subprocess import SubprocessError
from types import FrameType

from bench import build
from bench.hornada import version
from bench.process import NotReady
from bench.report import Result, save, table
from bench.rows import Measure, wanted
from bench.setting import Setting

FAILURES = (OSError, RuntimeError, ValueError, KeyError, ArithmeticError, HTTPException, SubprocessError)
"""What a measurement may die of without taking the others along."""


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer lines and rounds: about three minutes")
    parser.add_argument(
        "--only", default="", metavar="P1,P8", help="these rows (and those measured together with them)"
    )
    parser.add_argument("--report", type=Path, default=build.FOLDER / "report.json", help="where the JSON goes")
    return parser.parse_args(given)


def measured(measure: Measure, setting: Setting) -> list[Result]:
    """What one function found; a row that says why where it could not."""
    began = time.monotonic()
    try:
        found = list(measure(setting))
    except FAILURES as error:
        print(f"{measure.__name__} failed: {error}", file=sys.stderr)
        reason = (str(error).splitlines() or [repr(error)])[-1]
        found = [Result("?", measure.__name__.replace("_", " "), f"failed: {reason}"[:80], "-", met=False)]
    print(f"{measure.__name__}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def stop(number: int, _: FrameType | None) -> None:
    """Ends through every ``with`` block, so that no child stays."""
    raise SystemExit(128 + number)


def main(given: Sequence[str] | None = None) -> int:
    """Runs it; the exit code."""
    asked = arguments(given)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell started us with it ignored
    folder = build.FOLDER / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    results: list[Result] = []
    try:
        setting = Setting(folder, quick=asked.quick)
    except NotReady as error:
        print(error, file=sys.stderr)
        return 2
    try:
        for measure in wanted([row for row in asked.only.split(",") if row]):
            results += measured(measure, setting)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        setting.close()
        shutil.rmtree(folder, ignore_errors=True)
        if results:
            print(table(results))
            save(results, asked.report, version=version(), quick=asked.quick)
    print(f"\nreport: {asked.report}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
