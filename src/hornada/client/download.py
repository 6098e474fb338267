"""Downloads that go on where they were cut off, held against the length and the checksum that the server sends."""

import hashlib
import time
from http.client import HTTPException, HTTPResponse
from io import BufferedRandom
from pathlib import Path

from hornada.client.faults import Garbled, Refused, Unreached
from hornada.client.wire import PIECE, Wire, wait_s

_CHECKSUMS = ("x-content-sha256", "x-saptiva-content-sha256")
_MOST_CUTS = 8
"""Times in a row that a download may be cut off without a byte got."""


def download(wire: Wire, file_id: str, to: Path) -> None:
    """Writes the content of a file to ``to``. Raises Refused, Unreached, and Garbled where bytes are wrong."""
    with to.open("wb+") as out:
        head = _Head()
        cuts = 0
        while True:
            before = out.tell()
            try:
                if _take(wire, file_id, out, head):
                    break
            except Refused as refused:
                if refused.status != 416 or not before:
                    raise
                break  # there is nothing behind what we have
            except (OSError, HTTPException) as error:
                lost: Exception = error
            else:
                lost = Unreached("the connection was closed")
            cuts = 0 if out.tell() > before else cuts + 1
            if cuts > _MOST_CUTS:
                raise Unreached(f"The download of {file_id} was cut off {cuts} times at byte {out.tell():,}: {lost}.")
            time.sleep(wait_s(cuts) if cuts else 0)
        _check(file_id, out, head)


class _Head:
    """What the first answer said of the file."""

    size: int | None = None
    tag: str | None = None
    sha256: str | None = None

    def read(self, answer: HTTPResponse) -> None:
        length = answer.headers.get("content-length")
        encoded = answer.headers.get("content-encoding", "identity") != "identity"
        self.size = int(length) if length and length.isdigit() and not encoded else None
        self.tag = answer.headers.get("etag")
        self.sha256 = next((answer.headers[name] for name in _CHECKSUMS if name in answer.headers), None)


def _take(wire: Wire, file_id: str, out: BufferedRandom, head: _Head) -> bool:
    """Adds what one answer brings; whether that was all."""
    at = out.tell()
    asked = {"range": f"bytes={at}-", **({"if-range": head.tag} if head.tag else {})} if at else {}
    with wire.open("files", file_id, "content", headers=asked) as answer:
        if answer.status != 206:
            out.seek(0)
            out.truncate()
            head.read(answer)
        while piece := answer.read(PIECE):
            out.write(piece)
    return head.size is None or out.tell() >= head.size


def _check(file_id: str, out: BufferedRandom, head: _Head) -> None:
    size = out.tell()
    if head.size is not None and size != head.size:
        raise Garbled(f"The file {file_id} should have {head.size:,} bytes, but {size:,} came.")
    if head.sha256 is None:
        return
    out.seek(0)
    found = hashlib.file_digest(out, "sha256").hexdigest()
    if found != head.sha256.lower():
        raise Garbled(f"The bytes of the file {file_id} are not those that the server promised (SHA-256 {found}).")
