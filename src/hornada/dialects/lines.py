"""The lines of result files: ids, envelope, and the user's answer spliced in as bytes."""

from collections.abc import Mapping

import msgspec

from hornada.core.batch import STOP_MESSAGES, StopReason
from hornada.core.errors import Code
from hornada.core.line import Reply
from hornada.dialects.codes import KINDS, STATUS, envelope, kind_of

_encode = msgspec.json.encode

_SEPARATORS = (
    ("\u2028", b"\xe2\x80\xa8", b"\\u2028"),
    ("\u2029", b"\xe2\x80\xa9", b"\\u2029"),
    ("\u0085", b"\xc2\x85", b"\\u0085"),
)
"""Line ends to weak readers (Python's ``splitlines``, Node's ``readline``), legal and unescaped in JSON."""

_STOPPED = {reason: _encode({"code": reason.value, "message": text}) for reason, text in STOP_MESSAGES.items()}

_GONE_STATUS = STATUS[Code.MODEL_NOT_FOUND]


def quoted(text: str) -> bytes:
    """A JSON string on one line for every reader."""
    data = _encode(text)
    if not text.isascii():
        for char, raw, escape in _SEPARATORS:
            if char in text:
                data = data.replace(raw, escape)
    return data


class Lines:
    """``core.line.LineWriter`` for OpenAI's result lines (four keys, ``request_id`` of our own making).

    A line's id is the batch's id and the line's number, so the same line always gets the same id.
    """

    def __init__(self, kinds: Mapping[int, str] = KINDS, prefix: bytes = b"batch_req_") -> None:
        self._gone_kind = kind_of(_GONE_STATUS, kinds)
        self._head = b'{"id":"' + prefix

    def reply(self, batch: str, line: int, custom_id: str, reply: Reply) -> bytes:
        """The line of an answered or refused request; ``reply.body`` is spliced in untouched."""
        own = b"%b%05x" % (batch.encode(), line)
        return b"".join(
            (
                self._head,
                own,
                b'","custom_id":',
                quoted(custom_id),
                b',"response":{"status_code":%d,"request_id":"req_' % reply.status,
                own,
                b'","body":',
                reply.body,
                b'},"error":null}\n',
            )
        )

    def stopped(self, batch: str, line: int, custom_id: str, reason: StopReason) -> bytes:
        """The line of a request that never ran; a retired model answers as a regular call would."""
        if reason is StopReason.MODEL_GONE:
            return self.reply(batch, line, custom_id, self._gone(batch, line, custom_id))
        own = b"%b%05x" % (batch.encode(), line)
        head = (self._head, own, b'","custom_id":', quoted(custom_id))
        return b"".join((*head, b',"response":null,"error":', _STOPPED[reason], b"}\n"))

    def request_id(self, batch: str, line: int, custom_id: str) -> str:  # noqa: ARG002 - a dialect may repeat it
        """The ``request_id`` of a line's response."""
        return f"req_{batch}{line:05x}"

    def _gone(self, batch: str, line: int, custom_id: str) -> Reply:
        message, code = STOP_MESSAGES[StopReason.MODEL_GONE], Code.MODEL_NOT_FOUND.value
        request_id = self.request_id(batch, line, custom_id)
        body = envelope(message, self._gone_kind, "model", code, request_id)
        return Reply(ok=False, status=_GONE_STATUS, body=one_line(_encode(body)))


class EchoingLines(Lines):
    """Novita's result lines: ``request_id`` repeats ``custom_id``."""

    def reply(self, batch: str, line: int, custom_id: str, reply: Reply) -> bytes:
        """The line of an answered or refused request; ``reply.body`` is spliced in untouched."""
        custom = quoted(custom_id)
        return b"".join(
            (
                self._head,
                b"%b%05x" % (batch.encode(), line),
                b'","custom_id":',
                custom,
                b',"response":{"status_code":%d,"request_id":' % reply.status,
                custom,
                b',"body":',
                reply.body,
                b'},"error":null}\n',
            )
        )

    def request_id(self, batch: str, line: int, custom_id: str) -> str:  # noqa: ARG002
        """The line's own ``custom_id``."""
        return custom_id


def one_line(data: bytes) -> bytes:
    """Encoded JSON with the three separators escaped."""
    for _, raw, escape in _SEPARATORS:
        data = data.replace(raw, escape)
    return data
