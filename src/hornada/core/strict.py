"""Strict JSON: finds exactly what msgspec lets pass or cannot tell, such as bad UTF-8, depth and repeated keys."""

import json
import re
from itertools import accumulate
from typing import Any

import msgspec

MAX_DEPTH = 128
"""Arrays and objects inside one another, the outermost included (contract 3)."""

LONE_SURROGATE = "an escaped surrogate stands alone"

_raw = msgspec.json.Decoder(msgspec.Raw).decode
_pairs = json.JSONDecoder(object_pairs_hook=tuple, parse_int=str.encode, parse_float=str.encode).decode

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKET = bytes(set(range(256)) - set(b"[{]}"))

_SURROGATE = re.compile(
    rb"(?<!\\)(?P<before>(?:\\\\)*+)"
    rb"(?:(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def is_utf8(text: bytes) -> bool:
    """Whether the bytes are UTF-8 (RFC 3629: no surrogates, no overlong forms)."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def too_deep(text: bytes) -> bool:
    """Whether arrays and objects are nested more than MAX_DEPTH levels deep; exact for valid JSON."""
    # Cutting brackets out and comparing lengths runs at memchr's speed; bytes.count takes six times as long.
    brackets = 2 * len(text) - len(text.replace(b"[", b"")) - len(text.replace(b"{", b""))
    return brackets > MAX_DEPTH and depth(text) > MAX_DEPTH


def depth(text: bytes) -> int:
    """How deep arrays and objects are nested; brackets inside strings do not count."""
    steps = _STRING.sub(b"", text).translate(_STEPS, _NO_BRACKET)
    return max(accumulate(memoryview(steps).cast("b")), default=0)


def fault(text: bytes) -> str | None:
    """Why the bytes are not strict JSON (RFC 8259, UTF-8, at most MAX_DEPTH deep), in words; None if they are."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"byte 0x{text[error.start]:02x} at position {error.start} is not UTF-8"
    if too_deep(text):
        return f"it is nested {depth(text)} levels deep, and at most {MAX_DEPTH} are allowed"
    try:
        _raw(text)
    except msgspec.DecodeError as error:
        if has_lone_surrogate(text):
            return LONE_SURROGATE
        return _reason(str(error))
    return None


def _reason(message: str) -> str:
    if "truncated" in message:
        return "it ends too early"
    return message.removeprefix("JSON is malformed: ")


def members(text: bytes) -> Any:
    """The value of JSON text with nothing lost.

    An object is a tuple of (key, value), repeated keys included; an array is a list; a number is its spelling as
    bytes, so that no number is too large; strings, booleans and null are what they are in Python. The text must have
    no ``fault`` other than lone surrogates.
    """
    return _pairs(text.decode())


def kind(value: object) -> str:
    """What a value of ``members`` is, in the words of a message."""
    return _KINDS[type(value)]


_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    bytes: "a number",
    str: "a string",
    list: "an array",
    tuple: "an object",
}


def shown(value: str) -> str:
    """A value for a message: quoted, and cut at 80 characters."""
    return f"'{value}'" if len(value) <= _SHOWN else f"'{value[: _SHOWN - 1]}…'"


_SHOWN = 80


def repeated(pairs: tuple[tuple[str, object], ...]) -> str | None:
    """The first key that an object of ``members`` has twice."""
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    return None


def has_lone_surrogate(text: bytes) -> bool:
    r"""Whether an escape such as ``\ud83d`` stands in the text without its other half."""
    return lone_surrogates(text) > 0


def lone_surrogates(text: bytes) -> int:
    """How many escaped surrogates stand without their other half."""
    if not _may_have_surrogates(text):
        return 0
    return sum(match["pair"] is None for match in _SURROGATE.finditer(text))


def without_lone_surrogates(text: bytes) -> bytes:
    """The same JSON text with U+FFFD, escaped, for each escaped surrogate that stands alone."""
    return _SURROGATE.sub(_mend, text) if _may_have_surrogates(text) else text


def _may_have_surrogates(text: bytes) -> bool:
    return rb"\ud" in text or rb"\uD" in text


def _mend(match: re.Match[bytes]) -> bytes:
    return match[0] if match["pair"] is not None else match["before"] + rb"\ufffd"
