"""Reads input files: splits lines, has each judged, and lays out the chunks."""

import itertools
from collections.abc import Sequence
from io import BytesIO

import msgspec
from msgspec import Raw, Struct

from hornada.core.batch import Finding
from hornada.core.chunk import CHUNK_BYTES, CHUNK_LINES, Span
from hornada.core.errors import Code
from hornada.core.estimate import Estimate
from hornada.core.judge import CheckRules, Judge, Named
from hornada.core.line import Request

__all__ = [
    "MAX_FINDINGS",
    "CheckRules",
    "Checked",
    "Checker",
    "Doubtful",
    "Named",
    "parse_requests",
]

MAX_FINDINGS = 100
"""Findings kept of one file (InferNode: up to 100 causes)."""

BOM = b"\xef\xbb\xbf"
"""A byte order mark: at the start of a file it is no part of the first line."""
_BLANK = b" \t\r"
_BLANKS = _BLANK + b"\n"


class Checked(Struct, frozen=True, kw_only=True):
    """What one pass over an input file found.

    ``model``: what the file's model resolves to, None when no line names one; ``names``: what the lines call it.
    ``total``: requests read (one more than the limit when reading stopped there). ``inputs``: embedding inputs, 0 for
    other endpoints. ``spans``: the chunks, none when there are findings.
    """

    model: str | None
    names: tuple[str, ...]
    findings: tuple[Finding, ...]
    total: int
    inputs: int
    spans: tuple[Span, ...]
    found: int = 0
    """Findings in all, of a checkup."""
    estimate: Estimate | None = None
    """What the lines would use, of a checkup."""


class Doubtful(Exception):
    """More of a file needs a close look than its reader has time for."""


class Checker:
    """Checks an input file in one streaming pass with flat memory, however it is cut into blocks.

    Lines end at LF only; a CR before it is tolerated; lines of spaces, tabs and CRs are counted but are no requests;
    a byte order mark at the start of the file is dropped.
    """

    def __init__(self, rules: CheckRules, most_findings: int = MAX_FINDINGS, most_doubtful: int | None = None) -> None:
        """``most_doubtful``: Doubtful is raised when lines of more bytes than this are not clean at a glance."""
        self._limits = rules.limits
        self._most_findings = most_findings
        self._room_for_doubt = most_doubtful
        self._judge = Judge(rules)
        self._layout = _Layout()
        self._open = _OpenLine(keep=rules.limits.line_bytes + len(BOM) + 1)
        self._findings: list[Finding] = []
        self._offset = 0
        self._number = 0
        self._total = 0
        self.stopped = False

    def feed(self, block: bytes) -> None:
        """Takes the next bytes of the file. Once ``stopped``, the rest of the file changes nothing."""
        lines = BytesIO(block).readlines()  # cut at LF alone, and three times as fast as split
        if lines and self._open.size:
            first = lines.pop(0)
            self._open.add(first.removesuffix(b"\n"))
            if first.endswith(b"\n"):
                self._end_open_line(1)
        rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        self._take_all(lines)
        self._open.add(rest)

    def finish(self) -> Checked:
        """What was found; the file ends here, with or without a last LF."""
        if self._open.size:
            self._end_open_line(0)
        findings = (*self._file_findings(), *self._findings)[: self._most_findings]
        return Checked(
            model=self._judge.model,
            names=self._judge.names,
            findings=findings,
            total=self._total,
            inputs=self._judge.inputs,
            spans=() if findings else self._layout.spans(),
        )

    def _take_all(self, lines: list[bytes]) -> None:
        """Lines that follow each other, each with its LF."""
        if not self._number:  # the first names the model, and may begin with a byte order mark
            self._take_each(lines[:1])
            del lines[:1]
        if lines and not self._takes_run(lines):
            self._take_each(lines)

    def _take_each(self, lines: list[bytes]) -> None:
        for line in lines:
            if not line.strip(_BLANKS):  # here, because a file may hold a hundred million of them
                self._offset += len(line)
                self._number += 1
            elif self.stopped:
                return
            else:
                self._take(line[:-1], len(line))

    def _takes_run(self, lines: list[bytes]) -> bool:
        """Takes lines that are clean at one glance; False, and nothing is done, when they may not be."""
        sizes = [*map(len, lines)]
        if self._total + len(lines) > self._limits.lines or max(sizes) > self._limits.line_bytes:
            return False
        if not self._judge.accepts_all(lines, self._number + 1):
            return False
        ends = [*itertools.accumulate(sizes, initial=self._offset)]
        self._layout.place_all(self._total, ends)
        self._number += len(lines)
        self._total += len(lines)
        self._offset = ends[-1]
        return True

    def _end_open_line(self, ending: int) -> None:
        line = self._open
        if self.stopped:
            pass
        elif line.is_whole:
            self._take(bytes(line.kept), line.size + ending)
        else:
            self._take_overlong(line, line.size + ending)
        line.clear()

    def _take(self, line: bytes, advance: int) -> None:
        """One line without its LF; ``advance`` with it."""
        start = self._step(advance)
        if self._number == 1:
            line = line.removeprefix(BOM)
        if len(line) <= self._limits.line_bytes and self._judge.accepts(line, self._number):
            good = self._counts()
        else:
            good = bool(line.strip(_BLANK)) and self._counts() and self._passes(line)
        if good:
            self._layout.place(self._total - 1, start, self._offset)

    def _take_overlong(self, line: "_OpenLine", advance: int) -> None:
        self._step(advance)
        kept = line.kept.removeprefix(BOM) if self._number == 1 else line.kept
        if (kept.strip(_BLANK) or not line.is_rest_blank) and self._counts():
            self._refuse_size(line.size - len(line.kept) + len(kept) - line.ends_in_cr)

    def _step(self, advance: int) -> int:
        """Moves on by one line; answers where it starts in the file."""
        start = self._offset
        self._offset += advance
        self._number += 1
        return start

    def _counts(self) -> bool:
        """Counts a request; False, and the end of reading, for the one over the limit."""
        self._total += 1
        self.stopped = self._total > self._limits.lines
        return not self.stopped

    def _passes(self, line: bytes) -> bool:
        size = len(line.removesuffix(b"\r"))
        if size > self._limits.line_bytes:
            return self._refuse_size(size)
        if len(self._findings) >= self._most_findings and not self._judge.counts_inputs:
            return False
        self._doubt(size)
        faults = list(self._judge.faults(line, self._number))
        self._findings.extend(faults)
        return not faults

    def _doubt(self, size: int) -> None:
        if self._room_for_doubt is not None:
            self._room_for_doubt -= size
            if self._room_for_doubt < 0:
                raise Doubtful

    def _refuse_size(self, size: int) -> bool:
        message = f"This line has {size} bytes; at most {self._limits.line_bytes} are allowed."
        self._findings.append(Finding(code=Code.INVALID_JSON_LINE, message=message, line=self._number))
        return False

    def _file_findings(self) -> list[Finding]:
        limits, inputs, found = self._limits, self._judge.inputs, []
        if not self._total:
            found.append(
                Finding(
                    code=Code.EMPTY_FILE,
                    message="The file has no requests: its lines are all blank.",
                )
            )
        if self.stopped:
            message = f"The file has more than {limits.lines} requests; at most {limits.lines} are allowed."
            found.append(Finding(code=Code.TOO_MANY_TASKS, message=message))
        if inputs > limits.embedding_inputs:
            message = f"The file has {inputs} embedding inputs; at most {limits.embedding_inputs} are allowed."
            found.append(Finding(code=Code.TOO_MANY_TASKS, message=message))
        return found


class _OpenLine:
    """A line whose end has not come yet; of a line that is surely too long only the first ``keep`` bytes are kept."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.clear()

    def clear(self) -> None:
        self.kept = bytearray()
        self.size = 0
        self.is_rest_blank = True
        self.ends_in_cr = False

    @property
    def is_whole(self) -> bool:
        return self.size == len(self.kept)

    def add(self, piece: bytes) -> None:
        room = self._keep - len(self.kept)
        self.kept += piece[:room]
        self.size += len(piece)
        if len(piece) > room:
            self.is_rest_blank = self.is_rest_blank and not piece[room:].strip(_BLANK)
            self.ends_in_cr = piece.endswith(b"\r")


class _Layout:
    """Gathers consecutive requests into spans of up to CHUNK_LINES lines and CHUNK_BYTES (a larger line is alone)."""

    def __init__(self) -> None:
        self._closed: list[Span] = []
        self._first = self._n = self._start = self._end = 0

    def place(self, request: int, start: int, end: int) -> None:
        """The line of a request (from 0) lies in the bytes ``start`` to ``end``, its LF included."""
        if self._n and (self._n == CHUNK_LINES or end - self._start > CHUNK_BYTES):
            self._close()
        if not self._n:
            self._first, self._start = request, start
        self._n += 1
        self._end = end

    def place_all(self, request: int, bounds: Sequence[int]) -> None:
        """The lines of requests that follow each other: each lies between two of the ``bounds``."""
        at, last = 0, len(bounds) - 1
        while at < last:
            n = min(last - at, CHUNK_LINES - self._n)
            if 0 < self._n < CHUNK_LINES and bounds[at + n] - self._start <= CHUNK_BYTES:
                self._n += n
                self._end = bounds[at + n]
            else:
                n = 1
                self.place(request + at, bounds[at], bounds[at + 1])
            at += n

    def spans(self) -> tuple[Span, ...]:
        if self._n:
            self._close()
        return tuple(self._closed)

    def _close(self) -> None:
        self._closed.append(Span(self._first, self._n, self._start, self._end - self._start))
        self._n = 0


class _Line(Struct, gc=False):
    custom_id: str
    body: Raw


_decode = msgspec.json.Decoder(_Line).decode


def parse_requests(data: bytes, *, at_start: bool) -> list[Request]:
    """The requests in the bytes of a span of a file that passed the check, bodies as the user wrote them.

    ``at_start``: the span starts the file, so that a byte order mark is dropped.
    """
    if at_start:
        data = data.removeprefix(BOM)
    lines = (_decode(line) for line in data.split(b"\n") if line.strip(_BLANK))
    return [Request(line.custom_id, bytes(line.body)) for line in lines]
