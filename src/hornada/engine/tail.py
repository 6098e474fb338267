"""The end of an event stream, where model servers report what the answer used."""

import msgspec
from msgspec import Raw, Struct

from hornada.core.answer import read_answer
from hornada.core.batch import Usage

_KEPT = 64 * 1024
_MOST = 2 * _KEPT
_LOOKED_AT = 16


class _Event(Struct):
    response: Raw = Raw(b"null")


class Tail:
    """Keeps the last 64 KiB or more of a stream of server-sent events."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, piece: bytes) -> None:
        """Adds what went by."""
        self._bytes += piece
        if len(self._bytes) > _MOST:
            del self._bytes[:-_KEPT]

    def usage(self) -> Usage | None:
        """What the last event that says so reports: at its top (chat, completions), or of its ``response``."""
        lines = [line for line in self._bytes.splitlines() if line.startswith(b"data:") and b'"usage"' in line]
        for line in reversed(lines[-_LOOKED_AT:]):
            data = bytes(line[5:])
            usage = _usage(data) or _usage(_response(data))
            if usage is not None:
                return usage
        return None


def _usage(data: bytes) -> Usage | None:
    answered = read_answer(data)
    return None if answered is None else answered.usage


def _response(data: bytes) -> bytes:
    try:
        return bytes(msgspec.json.decode(data, type=_Event).response)
    except (msgspec.MsgspecError, RecursionError):
        return b"null"
