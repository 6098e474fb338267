"""A stream of server-sent events on its way to a client: what it reports of its usage, and how much was written."""

import re

import msgspec
from msgspec import Raw, Struct

from hornada.core.answer import read_answer
from hornada.core.batch import Usage

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"\r\n|\n|\r")
_ENDS = (b"\n\n", b"\r\n\r\n")
_UNREAD_BYTES = 64 * 1024
MOST = 4 * 1024 * 1024
"""An event that is longer passes without being looked at."""


class _Delta(Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: Raw = Raw(b"")


class _Choice(Struct, gc=False):
    delta: _Delta | None = None
    text: str | None = None


class _Event(Struct, gc=False):
    """Of chat and completions (``choices``), and of responses (``type``, ``delta``, ``response``)."""

    type: Raw = Raw(b"null")
    error: Raw = Raw(b"null")
    choices: list[_Choice] | None = None
    delta: str | None = None
    usage: Raw = Raw(b"null")
    response: Raw = Raw(b"null")


_FAILED = frozenset({b'"error"', b'"response.failed"'})
_decode = msgspec.json.Decoder(_Event).decode


class Events:
    """Fed with pieces as they arrive, however they are cut.

    ``hide_usage``: the event that only tells the usage is for us and not for the client. Then ``feed`` holds back an
    event until it is whole; otherwise every piece goes on as it is.

    Whole events that surely tell neither usage nor error, which nearly all are, stay unread: what they wrote is only
    of interest when the stream ends without telling its usage.
    """

    def __init__(self, *, hide_usage: bool) -> None:
        self._hide = hide_usage
        self._open = b""
        self._skipping = False
        self._reported = b""
        self._written = 0
        self._failed = False
        self._unread: list[bytes] = []
        self._unread_bytes = 0

    def feed(self, piece: bytes) -> bytes:
        """What the client gets now."""
        if self._open or self._skipping or not piece.endswith(_ENDS) or _may_tell(piece):
            return self._read_on(piece)
        self._unread.append(piece)
        self._unread_bytes += len(piece)
        if self._unread_bytes > _UNREAD_BYTES:
            self._catch_up()
        return piece

    def _read_on(self, piece: bytes) -> bytes:
        data, passed, start = self._open + piece, [], 0
        for end in _END.finditer(data, max(0, len(self._open) - 3)):
            event = data[start : end.end()]
            start = end.end()
            hidden = not self._skipping and self._look(event) and self._hide
            self._skipping = False
            if not hidden:
                passed.append(event)
        self._open = data[start:]
        if len(self._open) > MOST:
            passed.append(self._open)
            self._open, self._skipping = b"", True
        return b"".join(passed) if self._hide else piece

    @property
    def written(self) -> int:
        """Bytes of text that the model has written."""
        self._catch_up()
        return self._written

    def _catch_up(self) -> None:
        """Reads what is unread."""
        data, start = b"".join(self._unread), 0
        self._unread, self._unread_bytes = [], 0
        for end in _END.finditer(data):
            self._look(data[start : end.end()])
            start = end.end()

    @property
    def fruitless(self) -> bool:
        """Whether the server has told an error and the model has written nothing."""
        return self._failed and not self.written

    def rest(self) -> bytes:
        """What was held back when the stream ended in the middle of an event."""
        rest, self._open = self._open, b""
        if not self._skipping:
            self._look(rest)
        return rest if self._hide else b""

    def usage(self) -> tuple[Usage | None, bool]:
        """What the last event that says so reports (chat and completions at its top), and whether it was clamped."""
        answered = read_answer(self._reported) if self._reported else None
        return (answered.usage, answered.odd) if answered else (None, False)

    def _look(self, event: bytes) -> bool:
        """Notes what an event tells; True if it tells the usage and nothing else."""
        data = _data(event)
        if not data.startswith(b"{"):
            return False
        try:
            found = _decode(data)
        except (msgspec.DecodeError, RecursionError):
            self._written += len(data) if b'"choices"' in data else 0
            return False
        self._written += _written(found)
        self._failed = self._failed or bytes(found.error) != b"null" or bytes(found.type) in _FAILED
        tells = bytes(found.usage)[:1] == b"{"
        if tells:
            self._reported = data
        elif b'"usage"' in (response := bytes(found.response)):
            self._reported = response
        return tells and found.choices == []


def _may_tell(events: bytes) -> bool:
    """False for whole events that surely tell neither a usage nor an error; letters of keys may be escaped."""
    if b"error" in events or b"failed" in events or b"\\u00" in events:
        return True
    told = events.count(b'"usage"')
    return told > 0 and told > events.count(b'"usage":null') + events.count(b'"usage": null')


def _data(event: bytes) -> bytes:
    """The value of an event's ``data`` fields."""
    lines = [line[5:].lstrip() for line in _LINE.split(event) if line.startswith(b"data:")]
    return lines[0] if len(lines) == 1 else b"\n".join(lines)


def _written(event: _Event) -> int:
    written = len(event.delta.encode()) if event.delta else 0
    for choice in event.choices or ():
        delta = choice.delta or _Delta()
        for text in (choice.text, delta.content, delta.reasoning_content or delta.reasoning):
            written += len(text.encode()) if text else 0
        written += len(bytes(delta.tool_calls)) if delta.tool_calls else 0
    return written
