"""The body of a call: the little that every model server needs of it, and the one change that is ever made to it."""

import re
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from hornada.core import strict
from hornada.core.errors import Code, Refusal

CHAT = "/v1/chat/completions"


class Asked(Struct, frozen=True, gc=False):
    """What the gateway itself reads of a body: the name of the model, and whether the answer is to be streamed."""

    model: str
    stream: bool


class _Need(NamedTuple):
    """A parameter that an endpoint cannot do without. ``openers``: how its JSON may start; ``filled``: not empty."""

    param: str
    openers: bytes
    words: str
    filled: bool


_NEEDS: dict[str, tuple[_Need, ...]] = {
    CHAT: (_Need("messages", b"[", "an array of objects", filled=True),),
    "/v1/completions": (_Need("prompt", b'"[', "a string or an array", filled=False),),
    "/v1/embeddings": (_Need("input", b'"[', "a string or an array", filled=True),),
    "/v1/responses": (_Need("input", b'"[', "a string or an array", filled=False),),
    "/v1/moderations": (_Need("input", b'"[', "a string or an array", filled=True),),
    "/v1/rerank": (
        _Need("query", b'"{', "a string or an object", filled=False),
        _Need("documents", b"[{", "an array", filled=True),
    ),
}


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
    """Checks what the gateway checks of a regular call and of a line before it is sent.

    ``endpoint`` is such as ``/v1/embeddings``. The body must be a strict JSON object that names its model once and has
    ``messages``, ``prompt`` or ``input`` of the right kind; the rest is the model server's to judge. Raises Refusal in
    OpenAI's words: INVALID_JSON, MISSING_REQUIRED_PARAMETER, INVALID_TYPE, INVALID_VALUE.
    """
    return _glance(endpoint, body) or _examine(endpoint, body)


def _glance(endpoint: str, body: bytes) -> Asked | None:
    """What is asked, if the body is surely right; None: look closer."""
    if not (body.isascii() or strict.is_utf8(body)) or _may_repeat_model(body):
        return None
    call: _Chat | _Call
    try:
        if endpoint == CHAT:
            call = _decode_chat(body)
            filled = bool(call.messages)
        else:
            call = _decode_call(body)
            filled = all(_has(call, need) for need in _needs(endpoint))
    except (msgspec.DecodeError, RecursionError):
        return None
    return Asked(call.model, call.stream is True) if call.model and filled and not strict.too_deep(body) else None


def _needs(endpoint: str) -> tuple[_Need, ...]:
    return _NEEDS.get(endpoint, ())


def _may_repeat_model(body: bytes) -> bool:
    r"""False if no object of the body has ``model`` twice; a letter of a key may be escaped (``\u006dodel``)."""
    return body.count(b'"model"') > 1 or rb"\u006" in body


def _has(call: _Call, need: _Need) -> bool:
    raw: Raw | UnsetType = getattr(call, need.param)
    if raw is UNSET:
        return False
    value = bytes(raw)
    return value[0] in need.openers and not (need.filled and _is_empty(value))


def _is_empty(value: bytes) -> bool:
    return value[0] in b"[{" and not value[1:-1].strip()


def _examine(endpoint: str, body: bytes) -> Asked:
    """The same as ``_glance``, slowly and exactly: raises the Refusal that names what is wrong."""
    fields = _fields(body)
    model = msgspec.json.decode(_required(fields, "model", b'"', "a string"), type=str)
    if not model:
        raise Refusal(Code.INVALID_VALUE, "Invalid 'model': expected the name of a model, but got ''.", "model")
    for need in _needs(endpoint):
        value = _required(fields, need.param, need.openers, need.words)
        if need.filled and _is_empty(value):
            message = f"Invalid '{need.param}': expected at least 1 element, but got 0."
            raise Refusal(Code.INVALID_VALUE, message, need.param)
        if need.param == "messages":
            _check_elements(value)
    stream = bytes(fields.get("stream", b"null"))
    if stream not in (b"true", b"false", b"null"):
        raise _wrong_type("stream", "a boolean", stream)
    return Asked(model, stream == b"true")


def _fields(body: bytes) -> dict[str, Raw]:
    reason = strict.fault(body)
    if reason is not None:
        raise Refusal(Code.INVALID_JSON, f"The body of the request is not valid JSON: {reason}.")
    try:
        fields = _decode_members(body)
    except msgspec.ValidationError:
        given = strict.kind_of(body.lstrip(b" \t\r\n"))
        message = f"The body of the request must be a JSON object, but it is {given}."
        raise Refusal(Code.INVALID_JSON, message) from None
    if _repeats_model(body, fields):
        raise Refusal(Code.INVALID_JSON, "The body of the request has the key 'model' more than once.", "model")
    return fields


class _Seen:
    """Stands for a value that the decoder has passed."""


class _Counted(Struct, gc=False):
    model: _Seen | UnsetType = UNSET


def _repeats_model(body: bytes, fields: dict[str, Raw]) -> bool:
    """Msgspec keeps the last of repeated keys in silence, but calls its hook for each of them."""
    seen: list[object] = []

    def hook(_: type, value: object) -> _Seen:
        seen.append(value)
        return _Seen()

    try:
        msgspec.json.Decoder(_Counted, dec_hook=hook).decode(body)
    except msgspec.ValidationError:  # a value that is no Python value, such as 1e400: not the last if that is a string
        return bytes(fields["model"])[:1] == b'"'
    return len(seen) > 1


def _required(fields: dict[str, Raw], param: str, openers: bytes, words: str) -> bytes:
    if param not in fields:
        raise Refusal(Code.MISSING_REQUIRED_PARAMETER, f"Missing required parameter: '{param}'.", param)
    value = bytes(fields[param])
    if value[0] not in openers:
        raise _wrong_type(param, words, value)
    return value


def _check_elements(messages: bytes) -> None:
    for at, message in enumerate(msgspec.json.decode(messages, type=list[Raw])):
        if memoryview(message)[0] != ord("{"):
            raise _wrong_type(f"messages[{at}]", "an object", bytes(message))


def _wrong_type(param: str, words: str, value: bytes) -> Refusal:
    message = f"Invalid type for '{param}': expected {words}, but got {strict.kind_of(value)} instead."
    return Refusal(Code.INVALID_TYPE, message, param)


class _RawModel(Struct, gc=False):
    model: Raw


class _Model(Struct, gc=False):
    model: str


_decode_raw_model = msgspec.json.Decoder(_RawModel).decode
_decode_model = msgspec.json.Decoder(_Model).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode


class _Ranked(Struct, gc=False):
    priority: Raw | UnsetType = UNSET


_decode_ranked = msgspec.json.Decoder(_Ranked).decode

_MODEL_KEY = re.compile(rb'"model"[ \t\r\n]*+:[ \t\r\n]*+')
_CANDIDATES = 8


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


def with_priority(body: bytes, priority: int) -> bytes:
    """The body with a ``priority`` behind all its other bytes, unless the user has given one (vLLM's field).

    The body must have passed ``check_request``.
    """
    if (b"priority" in body or rb"\u00" in body) and _decode_ranked(body).priority is not UNSET:
        return body
    end = body.rindex(b"}")
    return b'%b,"priority":%d%b' % (body[:end], priority, body[end:])
