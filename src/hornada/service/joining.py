"""One result file of a batch's two, in the order of its input."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hornada.core.jsonl import parse_requests


def join(source: Path, results: list[Path], output: Path) -> None:
    """Writes ``output``, which appears whole or not at all: the lines of ``results`` in the order of ``source``.

    Each result file is in input order itself, so that the next line is at the head of one of them.
    """
    partial = output.with_name(output.name + ".partial")
    with contextlib.ExitStack() as stack:
        heads = [_Head(stack.enter_context(path.open("rb"))) for path in results]
        target = stack.enter_context(partial.open("wb"))
        for custom_id in _ids(stack.enter_context(source.open("rb"))):
            target.writelines(head.take() for head in heads if head.custom_id == custom_id)
        target.flush()
        os.fsync(target.fileno())  # the ledger, which could write it again, goes next
    partial.replace(output)


class _Id(msgspec.Struct):
    custom_id: str


class _Head:
    """The next line of a result file."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._next = b""
        self.custom_id: str | None = None
        self.take()

    def take(self) -> bytes:
        """The line at the head; the one behind it is the head then."""
        taken, self._next = self._next, next(self._lines, b"")
        self.custom_id = msgspec.json.decode(self._next, type=_Id).custom_id if self._next else None
        return taken


def _ids(source: Iterator[bytes]) -> Iterator[str]:
    at_start = True
    for line in source:
        for found in parse_requests(line, at_start=at_start):
            yield found.custom_id
        at_start = False
