"""A process that checks one file: ``python -m hornada.core.check_main PARENT_PID``.

Standard input carries a ``Question`` (JSON, one line; none: there is nothing to check) and, where that names no path,
then the file itself; standard output gets the ``Checked`` as JSON, one line. It imports msgspec and the core alone, so
that it starts fast and stays small.
"""

import os
import signal
import sys
from typing import BinaryIO

import msgspec
from msgspec import Struct

from hornada.core.checkup import checker as checker_of
from hornada.core.jsonl import Checked, CheckRules

BLOCK = 256 * 1024
"""Bytes read at a time."""

_PR_SET_PDEATHSIG = 1


class Question(Struct, frozen=True, kw_only=True):
    """What a file is held against, and where it lies, in bytes as the system has it; ``path`` None: it follows."""

    rules: CheckRules
    path: bytes | None


def check_stream(source: BinaryIO, rules: CheckRules) -> Checked:
    """Reads ``source`` to its end, or until more can change nothing, and checks it."""
    checker = checker_of(rules)
    while not checker.stopped and (block := source.read(BLOCK)):
        checker.feed(block)
    return checker.finish()


def main(arguments: list[str]) -> None:
    """Checks as the arguments say; see the module."""
    die_with_parent(int(arguments[0]))
    line = sys.stdin.buffer.readline()
    if not line:
        return
    question = msgspec.json.decode(line, type=Question)
    if question.path is not None:
        with open(question.path, "rb", buffering=0) as file:  # noqa: PTH123 - pathlib takes 10 ms to import
            checked = check_stream(file, question.rules)
    else:
        checked = check_stream(sys.stdin.buffer, question.rules)
    sys.stdout.buffer.write(msgspec.json.encode(checked) + b"\n")
    sys.stdout.buffer.flush()
    os._exit(0)  # the answer is complete when the process ends, and giving its memory back piece by piece takes long


def die_with_parent(parent: int) -> None:
    """Has Linux kill this process when its parent, the process ``parent``, is gone."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the parent process is gone")


if __name__ == "__main__":
    main(sys.argv[1:])
