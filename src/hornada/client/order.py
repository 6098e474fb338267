"""The results of a batch in the order of its input, whatever the order and the number of its result files."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from hornada.client.faults import Garbled
from hornada.client.input import BLANK, lines
from hornada.core.result import Result, read_result


class _Id(msgspec.Struct):
    custom_id: str


_decode = msgspec.json.Decoder(_Id).decode


def requests(source: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """The id and the bytes of each line of an input file, with its LF; lines that are no requests are passed over."""
    for line in lines(source):
        try:
            yield _decode(line).custom_id, line
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue


class Pool:
    """Result files by id: where each line lies, not the lines. A context manager."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._places: dict[str, tuple[int, int]] = {}
        with contextlib.ExitStack() as stack:
            self._files = [stack.enter_context(path.open("rb")) for path in paths]
            for number, file in enumerate(self._files):
                for custom_id, offset in _places(paths[number], file):
                    self._places.setdefault(custom_id, (number, offset))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def get(self, custom_id: str) -> Result | None:
        """The result of a line; None where there is none."""
        place = self._places.get(custom_id)
        if place is None:
            return None
        file = self._files[place[0]]
        file.seek(place[1])
        return read_result(file.readline())

    def ids(self) -> Iterator[str]:
        """The ids in the order of the files."""
        yield from self._places


def _places(path: Path, file: BinaryIO) -> Iterator[tuple[str, int]]:
    offset = 0
    for number, line in enumerate(file, 1):
        if line.strip(BLANK):
            try:
                yield _decode(line).custom_id, offset
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise Garbled(f"{path.name}:{number}: This is no result line: {error}") from None
        offset += len(line)


def safe_name(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:80] or "none"
