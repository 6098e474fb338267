"""A model server's own refusal of a call, whatever shape it came in."""

import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hornada.core.answer import envelope, error_body


class Declined(Struct, frozen=True, kw_only=True):
    """A status from 400 on with what OpenAI's error envelope holds, but for the request's id."""

    status: int
    message: str
    kind: str
    param: str | None
    code: str | None


class _Error(Struct):
    message: str
    type: str
    param: str | None
    code: str | None


class _Envelope(Struct):
    error: _Error


_decode = msgspec.json.Decoder(_Envelope).decode
_LONG_NUMBER = 19


def declined(status: int, body: bytes) -> Declined:
    """What a model server means by a non-2xx answer.

    Understood are OpenAI's envelope with a string or a number as code (llama.cpp, vLLM), the same without ``error``
    around it, ``error`` or ``detail`` alone (FastAPI), and plain text.
    """
    error = _error(status, body)
    message = next((error[key] for key in ("message", "detail", "error") if error.get(key)), None)
    code = error.get("code")
    return Declined(
        status=status,
        message=message if isinstance(message, str) else _text(status, message),
        kind=_string(error.get("type")) or ("server_error" if status >= 500 else "invalid_request_error"),
        param=_string(error.get("param")),
        code=str(code) if type(code) is int else _string(code),
    )


def declined_line(status: int, body: bytes) -> bytes:
    """The body of a line that a model server refused, so that its cause is read as that of a regular call.

    What is OpenAI's envelope already stays as it came; of anything else the envelope that the regular call would get
    is made. JSON on one line.
    """
    written = error_body(status, body)
    try:
        _decode(written)
    except (msgspec.DecodeError, RecursionError):
        said = declined(status, body)
        return envelope(said.code, said.message, kind=said.kind, param=said.param)
    return written


def _error(status: int, body: bytes) -> Mapping[str, Any]:
    try:
        found: dict[str, Any] = json.loads(error_body(status, body), parse_int=_whole, parse_float=_number)
    except RecursionError:
        return {}
    inner = found.get("error")
    return inner if isinstance(inner, dict) else found


def _whole(digits: str) -> int | str:
    """A number; its digits, where it is larger than any that can be written again, such as one that was asked for."""
    return int(digits) if len(digits) < _LONG_NUMBER else digits


def _number(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits


def _text(status: int, message: object) -> str:
    if message is None:
        return f"The model server answered with status {status}."
    return msgspec.json.encode(message).decode()


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None
