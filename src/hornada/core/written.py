"""Result lines as they were written: their number, their custom_id, and how a line's input is joined to them."""

import msgspec

from hornada.core.answer import one_line
from hornada.core.errors import Broken

HEAD_BYTES = 256
"""The number of a line stands within so many bytes of its beginning."""
_CUSTOM_ID = b'","custom_id":'
_OK = b'"status":"succeeded"'
_FAILED = b'"status":"failed"'


def number_of(line: bytes, batch: str) -> int:
    """Which line of its batch a result line is, from 0: its id ends in the batch's id and that number.

    The first HEAD_BYTES of the line are enough. Raises Broken when it is no result line of the batch.
    """
    found = line.find(batch.encode(), 0, HEAD_BYTES)
    start = found + len(batch)
    end = line.find(b'"', start, start + HEAD_BYTES)
    try:
        return int(line[start:end], 16) if 0 <= found < end else _no_line(batch)
    except ValueError:
        return _no_line(batch)


def prefix_of(custom_id: str) -> bytes:
    """How the custom_id of a line is spelled in it, when it begins with this text."""
    return _CUSTOM_ID + one_line(msgspec.json.encode(custom_id))[:-1]


def begins(line: bytes, prefix: bytes) -> bool:
    """Whether a result line's custom_id begins as ``prefix_of`` says; an empty ``prefix`` is of every line."""
    return not prefix or line.startswith(prefix, max(line.find(_CUSTOM_ID), 0))


def joined(line: bytes, number: int, *, ok: bool, body: bytes | None) -> bytes:
    """A result line, without its LF, with keys of our own behind its four: ``line`` (from 1), ``status``, ``input``.

    ``body``: the request's, as the user wrote it; None: it is gone.
    """
    own = (b',"line":%d,' % (number + 1), _OK if ok else _FAILED)
    return b"".join((line[:-1], *own, b',"input":', b"null" if body is None else one_line(body), b"}"))


def numbered(line: bytes, number: int, *, ok: bool) -> bytes:
    """The same without ``input``."""
    return b"".join((line[:-1], b',"line":%d,' % (number + 1), _OK if ok else _FAILED, b"}"))


def _no_line(batch: str) -> int:
    raise Broken(f"a line of a result file of batch_{batch} has no number")
