"""The body of a call: the little that every model server needs of it, and the one change that is ever made to it."""

import re
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from hornada.core import strict
from hornada.core.errors import Code, Refusal


class Asked(Struct, frozen=True):
    """What the gateway itself reads of a body: the name of the model, and whether the answer is to be streamed."""

    model: str
    stream: bool


class _Need(NamedTuple):
    """A parameter that an endpoint cannot do without. ``filled``: an empty array is refused too."""

    param: str
    kinds: tuple[type, ...]
    words: str
    filled: bool


_NEEDS: dict[str, tuple[_Need, ...]] = {
    "/v1/chat/completions": (_Need("messages", (list,), "an array of objects", filled=True),),
    "/v1/completions": (_Need("prompt", (str, list), "a string or an array", filled=False),),
    "/v1/embeddings": (_Need("input", (str, list), "a string or an array", filled=True),),
    "/v1/responses": (_Need("input", (str, list), "a string or an array", filled=False),),
    "/v1/moderations": (_Need("input", (str, list), "a string or an array", filled=True),),
    "/v1/rerank": (
        _Need("query", (str, tuple), "a string or an object", filled=False),
        _Need("documents", (list, tuple), "an array", filled=True),
    ),
}

_OPENERS: dict[int, type] = {ord('"'): str, ord("["): list, ord("{"): tuple}


class _Object(Struct, gc=False):
    """Any object; what it holds is skipped."""


class _Chat(Struct, gc=False):
    model: str
    messages: list[_Object]
    stream: bool | None = None


class _Call(Struct, gc=False):
    model: str
    stream: bool | None = None
    prompt: Raw | UnsetType = UNSET
    input: Raw | UnsetType = UNSET
    query: Raw | UnsetType = UNSET
    documents: Raw | UnsetType = UNSET


_decode_chat = msgspec.json.Decoder(_Chat).decode
_decode_call = msgspec.json.Decoder(_Call).decode


def check_request(endpoint: str, body: bytes) -> Asked:
    """Checks what the gateway checks of a regular call and of a line before it is sent (contract 3).

    ``endpoint`` is such as ``/v1/embeddings``. The body must be a strict JSON object that names its model once and has
    ``messages``, ``prompt`` or ``input`` of the right kind; the rest is the model server's to judge. Raises Refusal in
    OpenAI's words: INVALID_JSON, MISSING_REQUIRED_PARAMETER, INVALID_TYPE, INVALID_VALUE.
    """
    return _glance(endpoint, body) or _examine(endpoint, body)


def _glance(endpoint: str, body: bytes) -> Asked | None:
    """What is asked, if the body is surely right; None: look closer."""
    if not strict.is_utf8(body) or strict.too_deep(body) or _may_repeat_model(body):
        return None
    chat = endpoint == "/v1/chat/completions"
    try:
        call = _decode_chat(body) if chat else _decode_call(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    filled = bool(call.messages) if isinstance(call, _Chat) else all(_fits(call, need) for need in _needs(endpoint))
    return Asked(call.model, call.stream is True) if call.model and filled else None


def _needs(endpoint: str) -> tuple[_Need, ...]:
    return _NEEDS.get(endpoint, ())


def _may_repeat_model(body: bytes) -> bool:
    r"""False if no object of the body has ``model`` twice; a letter of a key may be escaped (``\u006dodel``)."""
    return body.count(b'"model"') > 1 or rb"\u006" in body


def _fits(call: _Call, need: _Need) -> bool:
    raw: Raw | UnsetType = getattr(call, need.param)
    if raw is UNSET:
        return False
    text = bytes(raw)
    may_be_empty = need.filled and text[1:64].strip() in (b"", b"]", b"}")
    return _OPENERS.get(text[0]) in need.kinds and not may_be_empty


def _examine(endpoint: str, body: bytes) -> Asked:
    """The same as ``_glance``, slowly and exactly: raises the Refusal that names what is wrong."""
    fields = _fields(body)
    model, stream = _required(fields, "model", (str,), "a string"), fields.get("stream")
    if not model:
        raise Refusal(
            Code.INVALID_VALUE, "Invalid 'model': expected the name of a model, but got an empty string.", "model"
        )
    for need in _needs(endpoint):
        value = _required(fields, need.param, need.kinds, need.words)
        if need.filled and isinstance(value, (list, tuple)) and not value:
            message = f"Invalid '{need.param}': expected at least 1 element, but got {strict.kind(value)} with 0."
            raise Refusal(Code.INVALID_VALUE, message, need.param)
        if need.param == "messages":
            _check_elements(value)
    if not isinstance(stream, bool | None):
        raise _wrong_type("stream", "a boolean", stream)
    return Asked(model, stream is True)


def _fields(body: bytes) -> dict[str, Any]:
    reason = strict.fault(body)
    if reason is not None:
        raise Refusal(Code.INVALID_JSON, f"The body of the request is not valid JSON: {reason}.")
    pairs = strict.members(body)
    if not isinstance(pairs, tuple):
        raise Refusal(
            Code.INVALID_JSON, f"The body of the request must be a JSON object, but it is {strict.kind(pairs)}."
        )
    if sum(key == "model" for key, _ in pairs) > 1:
        raise Refusal(Code.INVALID_JSON, "The body of the request has the key 'model' more than once.", "model")
    return dict(pairs)


def _required(fields: dict[str, Any], param: str, kinds: tuple[type, ...], words: str) -> Any:
    if param not in fields:
        raise Refusal(Code.MISSING_REQUIRED_PARAMETER, f"Missing required parameter: '{param}'.", param)
    value = fields[param]
    if not isinstance(value, kinds):
        raise _wrong_type(param, words, value)
    return value


def _check_elements(messages: list[object]) -> None:
    for at, message in enumerate(messages):
        if not isinstance(message, tuple):
            raise _wrong_type(f"messages[{at}]", "an object", message)


def _wrong_type(param: str, words: str, value: object) -> Refusal:
    message = f"Invalid type for '{param}': expected {words}, but got {strict.kind(value)} instead."
    return Refusal(Code.INVALID_TYPE, message, param)


class _RawModel(Struct, gc=False):
    model: Raw


class _Model(Struct, gc=False):
    model: str


_decode_raw_model = msgspec.json.Decoder(_RawModel).decode
_decode_model = msgspec.json.Decoder(_Model).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode

_MODEL_KEY = re.compile(rb'"model"[ \t\r\n]*+:[ \t\r\n]*+')
_CANDIDATES = 4


def with_model(body: bytes, model: str) -> bytes:
    """The body with another value for its top-level ``model``; every other byte stays.

    The body must have passed ``check_request``. Only where the value cannot be found (an escaped key, many nested
    ones before it) is the top level written anew, which loses its white space and nothing else.
    """
    if _decode_model(body).model == model:
        return body
    old, new = bytes(_decode_raw_model(body).model), msgspec.json.encode(model)
    for key in islice(_MODEL_KEY.finditer(body), _CANDIDATES):
        end = key.end()
        if body.startswith(old, end):
            changed = body[:end] + new + body[end + len(old) :]
            # One value changed; if the top level now has the new name, it was that one and not a nested or quoted one.
            if _decode_model(changed).model == model:
                return changed
    members = _decode_members(body)
    members["model"] = Raw(new)
    return msgspec.json.encode(members)
