"""Strict JSON: finds exactly what msgspec lets pass or cannot tell, such as bad UTF-8, depth and repeated keys."""

import json
import re
from collections.abc import Collection, Sequence
from itertools import accumulate, islice
from typing import Any

import msgspec

MAX_DEPTH = 128
"""Arrays and objects inside one another, the outermost included."""

LONE_SURROGATE = "an escaped surrogate stands alone"

_raw = msgspec.json.Decoder(msgspec.Raw).decode
_pairs = json.JSONDecoder(object_pairs_hook=tuple, parse_int=str.encode, parse_float=str.encode).decode

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_RUN = 4096
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
    return brackets > MAX_DEPTH and _nests_too_deep(text)


def may_be_too_deep(texts: Sequence[bytes]) -> bool:
    """Whether one of them may be so; False is sure. The same arithmetic, without a call for each."""
    openers = [2 * len(text) - len(text.replace(b"[", b"")) - len(text.replace(b"{", b"")) for text in texts]
    return max(openers) > MAX_DEPTH


def _nests_too_deep(text: bytes) -> bool:
    steps = _STRING.sub(b"", text).translate(_STEPS, _NO_BRACKET)
    level = 0
    for at in range(0, len(steps), _RUN):
        levels = [*accumulate(memoryview(steps[at : at + _RUN]).cast("b"), initial=level)]
        if max(levels) > MAX_DEPTH:
            return True
        level = levels[-1]
    return False


def fault(text: bytes) -> str | None:
    """Why the bytes are not strict JSON (RFC 8259, UTF-8, at most MAX_DEPTH deep), in words; None if they are."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"byte 0x{text[error.start]:02x} at position {error.start} is not UTF-8"
    try:
        _raw(text)
    except RecursionError:  # far beyond MAX_DEPTH
        return _TOO_DEEP
    except msgspec.DecodeError as error:
        return LONE_SURROGATE if lone_surrogates(text, 1) else _reason(str(error))
    return _TOO_DEEP if too_deep(text) else None


_TOO_DEEP = f"it is nested more than {MAX_DEPTH} levels deep"


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


def kind_of(text: bytes) -> str:
    """The same for a value of valid JSON text without white space around it."""
    return _OPENERS.get(text[0], "a number")


_OPENERS = {
    ord("n"): "null",
    ord("t"): "a boolean",
    ord("f"): "a boolean",
    ord('"'): "a string",
    ord("["): "an array",
    ord("{"): "an object",
}


def shown(value: str) -> str:
    """A value for a message: quoted, and cut at 80 characters."""
    return f"'{value}'" if len(value) <= _SHOWN else f"'{value[: _SHOWN - 1]}…'"


def some(values: Collection[str]) -> str:
    """Some of several for a message, and how many there are besides."""
    named = ", ".join(f"'{value}'" for value in sorted(values)[:_NAMED])
    return f"{named} and {len(values) - _NAMED:,} more" if len(values) > _NAMED else named


_SHOWN = 80
_NAMED = 5


def repeated(pairs: tuple[tuple[str, object], ...]) -> str | None:
    """The first key that an object of ``members`` has twice."""
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    return None


def lone_surrogates(text: bytes, most: int) -> int:
    r"""How many escaped surrogates such as ``\ud83d`` stand without their other half; counts up to ``most``."""
    if not _may_have_surrogates(text):
        return 0
    lone = (match for match in _SURROGATE.finditer(text) if match["pair"] is None)
    return sum(1 for _ in islice(lone, most))


def without_lone_surrogates(text: bytes) -> bytes:
    """The same JSON text with U+FFFD, escaped, for each escaped surrogate that stands alone."""
    return _SURROGATE.sub(_mend, text) if _may_have_surrogates(text) else text


def _may_have_surrogates(text: bytes) -> bool:
    return rb"\ud" in text or rb"\uD" in text


def _mend(match: re.Match[bytes]) -> bytes:
    return match[0] if match["pair"] is not None else match["before"] + rb"\ufffd"
