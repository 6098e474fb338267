"""A model server's own refusal of a call, whatever shape it came in."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hornada.core.answer import error_body


class Declined(Struct, frozen=True, kw_only=True):
    """A status from 400 on with what OpenAI's error envelope holds, but for the request's id."""

    status: int
    message: str
    kind: str
    param: str | None
    code: str | None


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


def _error(status: int, body: bytes) -> Mapping[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(error_body(status, body), type=dict[str, Any])
    except RecursionError:
        return {}
    inner = found.get("error")
    return inner if isinstance(inner, dict) else found


def _text(status: int, message: object) -> str:
    if message is None:
        return f"The model server answered with status {status}."
    return msgspec.json.encode(message).decode()


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None
