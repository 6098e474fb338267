"""Asks a model server which models it runs."""

import msgspec
from msgspec import Struct

from hornada.upstream.protocol import Failure, Fault, Timeouts, Upstream

_TIMEOUTS = Timeouts(connect=5, first_byte=10, total=15)
_MOST_BYTES = 16 * 1024 * 1024
_OK = 200
_UNAUTHORIZED = 401
_FORBIDDEN = 403


class KeyRefused(Failure, frozen=True):
    """The server answered that the caller may not ask. ``status``: 401, or 403 for a key that may do other things."""

    status: int


class _Model(Struct):
    id: str


class _Models(Struct):
    data: list[_Model]


async def models(upstream: Upstream) -> list[str] | Failure:
    """The ids in the answer to ``GET /models``, each once, in the server's order; whatever is amiss is a Failure."""
    answer = await upstream.get("/models", _TIMEOUTS, max_bytes=_MOST_BYTES)
    if isinstance(answer, Failure):
        return answer
    if answer.status in {_UNAUTHORIZED, _FORBIDDEN}:
        message = f"it refused the key: GET /models was answered with status {answer.status}."
        return KeyRefused(Fault.GARBLED, message, answer.status)
    if answer.status != _OK:
        return Failure(Fault.GARBLED, f"GET /models was answered with status {answer.status}.")
    try:
        listed = msgspec.json.decode(answer.body, type=_Models)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Failure(Fault.GARBLED, "GET /models was answered with something other than a list of models.")
    return list(dict.fromkeys(model.id for model in listed.data))
