"""The two files of a run: what is asked, line by line, and the results in that order, joined with it."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from hornada.client.input import lines
from hornada.client.joined import Joint
from hornada.client.partial import whole
from hornada.client.tables import Row, is_table, open_table, open_writer
from hornada.core.jsonl import parse_requests
from hornada.core.recipe import Recipe
from hornada.core.result import read_result
from hornada.core.run import Changed


class Source(Protocol):
    """What is asked: requests as they go to the model server, and for each its id and its row, if it comes from one."""

    def requests(self) -> Iterator[bytes]:
        """The lines, each with its LF."""
        ...

    def items(self) -> Iterator[tuple[str, Row | None]]:
        """The id and the row of each line."""
        ...

    def joint(self) -> Joint | None:
        """The columns of an output of rows; None where lines have none of their own."""
        ...


class Lines:
    """A JSONL file of requests."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def requests(self) -> Iterator[bytes]:
        """The lines as they are."""
        with self._path.open("rb") as source:
            yield from lines(source)

    def items(self) -> Iterator[tuple[str, Row | None]]:
        """Ids without rows."""
        for line in self.requests():
            for found in parse_requests(line, at_start=False):
                yield found.custom_id, None

    def joint(self) -> Joint | None:
        """Their ids stand for them."""
        return None


class Rows:
    """A table and what is asked of each row. ``model``: called where the recipe names none."""

    def __init__(self, path: Path, recipe: Recipe, model: str | None = None) -> None:
        self._table = open_table(path)
        self._recipe = recipe
        self._model = model
        recipe.check(column.name for column in self._table.columns)

    def requests(self) -> Iterator[bytes]:
        """A line for each row."""
        return self._recipe.requests(self._table, self._model)

    def items(self) -> Iterator[tuple[str, Row | None]]:
        """The rows and their ids."""
        for number, row in enumerate(self._table, 1):
            yield self._recipe.custom_id(row, number), row

    def joint(self) -> Joint | None:
        """The table's columns and those of the results."""
        return Joint(self._table.columns)


def join(
    source: Source, answers: Path | None, failures: Path | None, output: Path, *, merge: bool = False
) -> Counter[str]:
    """Writes ``output``, which appears whole or not at all, in the order of ``source``; failures by kind.

    Both result files are in that order themselves, so that the next line is at the head of one of them. ``merge``: a
    line without a result keeps the one that it has in ``output``. Raises Changed when that is not of this source.
    """
    kinds: Counter[str] = Counter()
    with contextlib.ExitStack() as stack:
        files = ((answers, False), (failures, True))
        heads = [_Head(stack.enter_context(path.open("rb")), failed=failed) for path, failed in files if path]
        earlier = iter(_Earlier(source, output)) if merge else None
        partial = stack.enter_context(whole(output))
        write = stack.enter_context(_writing(source, partial, output))
        for custom_id, row in source.items():
            before = _next(earlier, output) if earlier is not None else None
            head = next((head for head in heads if head.custom_id == custom_id), None)
            if head is not None:
                line = head.take()
                if head.failed:
                    kinds[read_result(line).kind] += 1
                write(row, line)
            elif before is not None:
                before.keep(write)
            else:
                raise Changed(f"There is no result for {custom_id!r}: the input is not what was run.")
    return kinds


def failed(source: Source, output: Path) -> Iterator[bytes]:
    """The requests whose results in ``output`` are failures. Raises Changed when they are not of this source."""
    earlier = iter(_Earlier(source, output))
    for line in source.requests():
        before = _next(earlier, output)
        before.check(line)
        if before.failed:
            yield line
    if next(earlier, None) is not None:
        raise Changed(f"{output} holds more results than the input has lines.")


class _Id(msgspec.Struct):
    custom_id: str


class _Head:
    """The next line of a result file."""

    def __init__(self, source: Iterator[bytes], *, failed: bool) -> None:
        self._lines = source
        self.failed = failed
        self._next = b""
        self.custom_id: str | None = None
        self.take()

    def take(self) -> bytes:
        """The line at the head; the one behind it is the head then."""
        taken, self._next = self._next, next(self._lines, b"")
        self.custom_id = msgspec.json.decode(self._next, type=_Id).custom_id if self._next else None
        return taken


class _Write(Protocol):
    """Writes a result line, joined with its row; ``again`` writes what was written before."""

    def __call__(self, row: Row | None, line: bytes, /) -> None: ...

    def again(self, written: Any, /) -> None: ...


class _RawWrite:
    """Result lines as the engine wrote them."""

    def __init__(self, put: Callable[[bytes], object]) -> None:
        self._put = put

    def __call__(self, row: Row | None, line: bytes, /) -> None:  # noqa: ARG002 - as _Write
        self._put(line)

    def again(self, written: bytes, /) -> None:
        self._put(written)


class _RowWrite:
    """Rows with their results."""

    def __init__(self, joint: Joint, put: Callable[[Row], object]) -> None:
        self._joint = joint
        self._put = put

    def __call__(self, row: Row | None, line: bytes, /) -> None:
        self._put(self._joint.row(row, read_result(line)))

    def again(self, written: Row, /) -> None:
        self._put(written)


@contextlib.contextmanager
def _writing(source: Source, partial: Path, output: Path) -> Iterator[_Write]:
    joint = _joint(source, output)
    if joint is None:
        with partial.open("wb") as out:
            yield _RawWrite(out.write)
        return
    writer = open_writer(partial, joint.columns, like=output)
    try:
        yield _RowWrite(joint, writer.write)
    finally:
        writer.close()


def _joint(source: Source, output: Path) -> Joint | None:
    """The columns of an output of rows; None for result lines."""
    joint = source.joint()
    return joint or (Joint() if is_table(output) else None)


class _Before:
    """What an output holds of one line."""

    def __init__(self, written: Any, *, failed: bool, custom_id: str | None) -> None:
        self._written = written
        self.failed = failed
        self._custom_id = custom_id

    def keep(self, write: _Write) -> None:
        write.again(self._written)

    def check(self, line: bytes) -> None:
        if self._custom_id is not None and msgspec.json.decode(line, type=_Id).custom_id != self._custom_id:
            raise Changed(f"The output holds a result of {self._custom_id!r}, which is not the input's line there.")


class _Earlier:
    """The results that an output holds."""

    def __init__(self, source: Source, output: Path) -> None:
        self._joint = _joint(source, output)
        self._output = output

    def __iter__(self) -> Iterator[_Before]:
        if self._joint is None:
            with self._output.open("rb") as results:
                for line in results:
                    found = read_result(line)
                    yield _Before(line, failed=not found.ok, custom_id=found.custom_id)
            return
        table = open_table(self._output)
        names = [column.name for column in table.columns]
        wanted = [column.name for column in self._joint.columns]
        if sorted(names) != sorted(wanted):
            raise Changed(f"{self._output} has the columns {', '.join(names)}, not {', '.join(wanted)}.")
        for row in table:
            yield _Before(row, failed=self._joint.failed(row), custom_id=None)


def _next(earlier: Iterator[_Before], output: Path) -> _Before:
    try:
        found = next(earlier, None)
    except ValueError as error:
        raise Changed(f"{output} holds something else than results: {error}") from None
    if found is None:
        raise Changed(f"{output} holds fewer results than the input has lines.")
    return found


def blocks(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Lines gathered into blocks of about ``size`` bytes."""
    waiting, held = list[bytes](), 0
    for line in pieces:
        waiting.append(line)
        held += len(line)
        if held >= size:
            yield b"".join(waiting)
            waiting, held = [], 0
    if waiting:
        yield b"".join(waiting)
