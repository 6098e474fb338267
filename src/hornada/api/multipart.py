"""Takes a multipart/form-data body apart as it arrives: one file, a few small fields."""

import logging
import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import unquote

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, MultipartState, parse_options_header

from hornada.core.errors import Code, Refusal

MAX_PARTS = 32
MAX_HEADER_BYTES = 16 * 1024
MAX_FIELD_BYTES = 64 * 1024
OVERHEAD = MAX_PARTS * (MAX_HEADER_BYTES + MAX_FIELD_BYTES)
"""The most bytes of a body that are not the file's."""
NAMELESS = "upload"
_NAME_LENGTH = 255
_SPELLED_NAME = re.compile(rb"filename\*\s*=\s*(?:utf-8|iso-8859-1)'[^']*'([^\s;]+)", re.IGNORECASE)
_PLAIN = frozenset({b"", b"binary", b"8bit", b"7bit"})
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it logs bytes of bodies, and what it raises


class Form:
    """A body on its way in. ``fields``: the values of the parts other than the file; of several of a name the last.

    ``name`` is that of the part which is the file. ``file_name`` is None until it has begun; its bytes wait in
    ``taken`` to be taken away.
    """

    def __init__(self, boundary: bytes, name: str = "file") -> None:
        self._name = name
        self.fields: dict[str, str] = {}
        self.file_name: str | None = None
        self.taken: list[bytes | memoryview] = []
        self.taken_bytes = 0
        self.whole = False
        self._parts = 0
        self._header_bytes = 0
        self._headers: dict[bytes, bytes] = {}
        self._header: tuple[bytearray, bytearray] = (bytearray(), bytearray())
        self._field: str | None = None
        self._value = bytearray()
        self._other_bytes = 0
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begins,
                "on_header_begin": self._header_begins,
                "on_header_field": self._header_name,
                "on_header_value": self._header_value,
                "on_header_end": self._header_ends,
                "on_headers_finished": self._headers_end,
                "on_part_data": self._part_data,
                "on_part_end": self._part_ends,
                "on_end": self._ends,
            },
            max_header_count=MAX_HEADER_BYTES,
            max_header_size=MAX_HEADER_BYTES,
        )

    def feed(self, data: bytes) -> None:
        """Parses the next bytes; raises Refusal INVALID_MULTIPART."""
        if self._is_inside_file() and b"\r" not in data:  # a boundary begins with CR; seen 20 times faster so
            self._part_data(data, 0, len(data))
            return
        before = self.taken_bytes
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise malformed(f"The body is not well-formed multipart/form-data: {error}.") from error
        self._other_bytes += len(data) - (self.taken_bytes - before)
        if self._other_bytes > OVERHEAD:
            raise malformed(f"The body has more than {OVERHEAD:,} bytes beside the file.")

    def take(self) -> bytes:
        """The bytes of the file that have come since the last call."""
        data = b"".join(self.taken)
        self.taken.clear()
        self.taken_bytes = 0
        return data

    def _is_inside_file(self) -> bool:
        """Whether the next bytes are the file's unless they begin a boundary, of which nothing has come yet."""
        return self._field is None and self._parser.state == MultipartState.PART_DATA and self._parser.index == 0

    def _part_begins(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise malformed(
                f"The form has more than {MAX_PARTS} parts. Send the file as one part named '{self._name}' with a file "
                "name, not as one field for each byte."
            )
        self._headers = {}
        self._header_bytes = 0
        self._field = None
        self._value = bytearray()

    def _header_begins(self) -> None:
        self._header = (bytearray(), bytearray())

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._count_header(end - start)
        self._header[0].extend(data[start:end])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._count_header(end - start)
        self._header[1].extend(data[start:end])

    def _header_ends(self) -> None:
        name, value = self._header
        self._headers[bytes(name).lower()] = bytes(value)

    def _count_header(self, length: int) -> None:
        self._header_bytes += length
        if self._header_bytes > MAX_HEADER_BYTES:
            raise malformed(f"Part {self._parts} of the form has more than {MAX_HEADER_BYTES:,} bytes of headers.")

    def _headers_end(self) -> None:
        disposition = self._headers.get(b"content-disposition", b"")
        kind, options = parse_options_header(disposition)
        if kind != b"form-data" or b"name" not in options:
            raise malformed(f"Part {self._parts} of the form has no 'Content-Disposition: form-data' with a name.")
        if (coding := self._headers.get(b"content-transfer-encoding", b"").strip().lower()) not in _PLAIN:
            raise malformed(
                f"Part {self._parts} is encoded as {coding.decode('latin-1')!r}; send its bytes as they are."
            )
        name = options[b"name"].decode("utf-8", "replace")
        if name != self._name:
            self._field = name
            return
        if self.file_name is not None:
            raise malformed(f"The form has two parts named '{name}'; send one in one request.")
        self.file_name = display_name(_file_name(disposition, options))

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._field is None:
            self.taken.append(memoryview(data)[start:end])
            self.taken_bytes += end - start
            return
        if len(self._value) + end - start > MAX_FIELD_BYTES:
            raise malformed(f"Field {self._field[:64]!r} is longer than {MAX_FIELD_BYTES:,} bytes.", self._field[:64])
        self._value.extend(data[start:end])

    def _part_ends(self) -> None:
        if self._field is not None:
            self.fields[self._field] = self._value.decode("utf-8", "replace")

    def _ends(self) -> None:
        self.whole = True


def malformed(message: str, param: str = "file") -> Refusal:
    """The refusal of a form that cannot be read."""
    return Refusal(Code.INVALID_MULTIPART, message, param)


def boundary_of(content_type: bytes) -> bytes:
    """The boundary in a Content-Type; raises Refusal INVALID_MULTIPART when the body is no form or has no boundary."""
    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data":
        sent = kind[:64].decode("latin-1") or "nothing"
        raise malformed(f"Send the file as multipart/form-data; the Content-Type was {sent!r}.")
    boundary = options.get(b"boundary", b"")
    if not 0 < len(boundary) <= 256:
        raise malformed("The Content-Type multipart/form-data needs a boundary of 1 to 256 characters.")
    return boundary


def display_name(name: str) -> str:
    """A file name to show, never to open: its last component without control characters, at most 255 characters."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    seen = "".join(sign for sign in base if unicodedata.category(sign) not in _UNSEEN and sign not in _TURNING)
    seen = seen.strip()[:_NAME_LENGTH]
    return NAMELESS if seen in {"", ".", ".."} else seen


def _file_name(disposition: bytes, options: Mapping[bytes, bytes]) -> str:
    """The raw UTF-8 that the SDKs and curl send, or the RFC 5987 spelling that older clients send alone."""
    if b"filename" in options:
        return options[b"filename"].decode("utf-8", "replace")
    spelled = _SPELLED_NAME.search(disposition)
    return unquote(spelled[1].decode("latin-1"), errors="replace") if spelled else NAMELESS
