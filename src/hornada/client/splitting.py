"""Cuts an input file into parts that a server takes, between its lines."""

from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from hornada.client.faults import BadInput
from hornada.client.input import MOST_BYTES, MOST_LINES, numbered, opened, read_line
from hornada.client.order import safe_name
from hornada.client.partial import Partial

_MOST_MODELS = 256
"""Parts that are open at once."""


class Part(Struct, frozen=True, kw_only=True):
    """A part that was written. ``model``: the one that its lines name, if it was cut by model."""

    path: Path
    lines: int
    bytes: int
    model: str | None = None


def split(
    path: str | Path,
    folder: str | Path,
    *,
    most_lines: int = MOST_LINES,
    most_bytes: int = MOST_BYTES,
    by_model: bool = False,
) -> list[Part]:
    """Writes ``NAME-0001.jsonl`` and so on into ``folder``, in the order of their first lines.

    ``by_model``: the lines of a part name one model. Raises BadInput for a line that no part can hold; then no part is
    left behind.
    """
    path, folder = Path(path), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    parts = _Parts(path, folder, most_lines, most_bytes, by_model=by_model)
    try:
        with opened(path) as source:
            for number, line in numbered(source):
                parts.add(number, line)
        return parts.end()
    except BaseException:
        parts.drop()
        raise


class _Parts:
    def __init__(self, path: Path, folder: Path, most_lines: int, most_bytes: int, *, by_model: bool) -> None:
        self._source = path
        self._folder = folder
        self._most_lines = most_lines
        self._most_bytes = most_bytes
        self._by_model = by_model
        self._all: list[_Part] = []
        self._open: dict[str | None, _Part] = {}

    def add(self, number: int, line: bytes) -> None:
        if len(line) > self._most_bytes:
            where = f"{self._source}:{number}"
            raise BadInput(f"{where}: This line has {len(line):,} bytes; a part may have {self._most_bytes:,}.")
        model = read_line(line).model if self._by_model else None
        part = self._open.get(model)
        if part is not None and (part.lines == self._most_lines or part.bytes + len(line) > self._most_bytes):
            part.close()
            part = None
        if part is None:
            part = self._begin(model)
        part.add(line)

    def end(self) -> list[Part]:
        for part in self._open.values():
            part.close()
        for part in self._all:
            part.partial.commit()
        return [
            Part(path=part.partial.target, lines=part.lines, bytes=part.bytes, model=part.model) for part in self._all
        ]

    def drop(self) -> None:
        for part in self._open.values():
            part.close()
        for part in self._all:
            part.partial.drop()

    def _begin(self, model: str | None) -> "_Part":
        if model not in self._open and len(self._open) == _MOST_MODELS:
            raise BadInput(f"{self._source} names more than {_MOST_MODELS} models; it cannot be split by model.")
        named = f".{safe_name(model or 'none')}" if self._by_model else ""
        name = f"{self._source.stem}{named}-{len(self._all) + 1:04}.jsonl"
        part = self._open[model] = _Part(Partial(self._folder / name), model)
        self._all.append(part)
        return part


class _Part:
    """A part that is being written."""

    def __init__(self, partial: Partial, model: str | None) -> None:
        self.partial = partial
        self.model = model
        self.lines = self.bytes = 0
        self._file: BinaryIO = partial.path.open("wb")

    def add(self, line: bytes) -> None:
        self._file.write(line)
        self.lines += 1
        self.bytes += len(line)

    def close(self) -> None:
        self._file.close()
