"""Input files on this machine: what they name, what is wrong with them, what they will use."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec
from msgspec import Struct

from hornada.client.faults import BadInput
from hornada.core.estimate import prompt_tokens
from hornada.core.jsonl import BOM, MAX_FINDINGS, Checked, Checker
from hornada.core.judge import CheckRules, Named
from hornada.core.limits import Limits

DEFAULT_ENDPOINT = "/v1/chat/completions"
MOST_LINES = 50_000
MOST_BYTES = 100 * 1024 * 1024

_BLOCK = 1 << 20
_MOST_AHEAD = 16 << 20
BLANK = b" \t\r\n"
"""What a line may hold that is none."""


class _Body(Struct):
    model: str | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    max_output_tokens: int | None = None


class _Line(Struct):
    url: str | None = None
    body: msgspec.Raw = msgspec.Raw(b"{}")


class Line(Struct, frozen=True):
    """A line as far as it can be read: ``body`` empty where it cannot."""

    url: str | None
    model: str | None
    most_output: int | None
    body: bytes


def read_line(text: bytes) -> Line:
    """What a line names; nothing for one that is no request."""
    try:
        found = msgspec.json.decode(text, type=_Line)
        body = msgspec.json.decode(found.body, type=_Body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Line(None, None, None, b"")
    most = (body.max_completion_tokens, body.max_output_tokens, body.max_tokens)
    return Line(found.url, body.model, next((each for each in most if each is not None), None), bytes(found.body))


def numbered(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, as an editor counts them; no byte order mark, each with its LF."""
    for number, raw in enumerate(source, 1):
        line = raw.removeprefix(BOM) if number == 1 else raw
        if line.strip(BLANK):
            yield number, line if line.endswith(b"\n") else line + b"\n"


def lines(source: BinaryIO) -> Iterator[bytes]:
    """The same without numbers."""
    return (line for _, line in numbered(source))


def endpoint_of(path: Path) -> str:
    """The endpoint that the first line names, or chat completions."""
    with opened(path) as source:
        return read_line(next(lines(source), b"")).url or DEFAULT_ENDPOINT


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file to read; raises BadInput where it cannot be."""
    try:
        source = path.open("rb")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    with source:
        yield source


class Peeked:
    """A stream whose first line can be looked at before it is read. ``size``: the bytes read so far."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._ahead = b""
        self.size = 0

    def first_line(self) -> bytes:
        """The first line that is not blank, or as much as a line may have."""
        while not any(line.strip(BLANK) for line in self._ahead.split(b"\n")[:-1]):
            piece = self._source.read(_BLOCK)
            self._ahead += piece
            if not piece or len(self._ahead) > _MOST_AHEAD:
                break
        lines = self._ahead.removeprefix(BOM).split(b"\n")
        return next((line for line in lines if line.strip(BLANK)), b"")

    def read(self, size: int) -> bytes:
        """The next bytes."""
        piece, self._ahead = (self._ahead, b"") if self._ahead else (self._source.read(size), b"")
        self.size += len(piece)
        return piece


class Readable(Protocol):
    """Anything with bytes to read."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, none at the end."""
        ...


def check(
    source: Readable,
    endpoint: str,
    *,
    models: tuple[str, ...] = (),
    most_lines: int = MOST_LINES,
    most_findings: int = MAX_FINDINGS,
) -> Checked:
    """All that is wrong with a file, as the server would find it. ``models``: the only ones that may be named."""
    names = {name: Named(name, allowed=True, offers=True, batchable=True) for name in models} or None
    rules = CheckRules(endpoint=endpoint, limits=Limits(lines=most_lines), names=names)
    checker = Checker(rules, most_findings)
    while not checker.stopped and (block := source.read(_BLOCK)):
        checker.feed(block)
    return checker.finish()


class Estimate(Struct, frozen=True, kw_only=True):
    """What a file will use. ``output_tokens``: the most that lines allow; ``unbounded``: lines that name no most."""

    lines: int
    bytes: int
    models: tuple[str, ...]
    input_tokens: int
    output_tokens: int
    unbounded: int


def estimate(source: BinaryIO, *, output_tokens: int | None = None) -> Estimate:
    """Counts lines, bytes and tokens. ``output_tokens``: of an answer, where its line names no maximum."""
    count = size = asked = answered = unbounded = 0
    models: dict[str, None] = {}
    for text in lines(source):
        line = read_line(text)
        count, size = count + 1, size + len(text)
        asked += prompt_tokens(line.body) if line.body else 0
        if line.model:
            models[line.model] = None
        if line.most_output is None or output_tokens is not None:
            unbounded += line.most_output is None
            answered += min(output_tokens or 0, line.most_output or output_tokens or 0)
        else:
            answered += line.most_output
    return Estimate(
        lines=count,
        bytes=size,
        models=tuple(models),
        input_tokens=asked,
        output_tokens=answered,
        unbounded=unbounded,
    )


def file_size(path: Path) -> int:
    """Bytes of a file; raises BadInput where there is none."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - a path or a name
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None


def check_file(
    path: str | Path, *, endpoint: str | None = None, models: tuple[str, ...] = (), most_findings: int = MAX_FINDINGS
) -> Checked:
    """Checks a file on this machine: ``findings``, none for a file that a server takes, ``total`` and ``model``."""
    with opened(Path(path)) as source:
        return check(source, endpoint or endpoint_of(Path(path)), models=models, most_findings=most_findings)


def estimate_file(path: str | Path, *, output_tokens: int | None = None) -> Estimate:
    """What the requests of a file on this machine will use; see Estimate."""
    with opened(Path(path)) as source:
        return estimate(source, output_tokens=output_tokens)
