"""What a model server answered: whether it is an answer, what it used, and its bytes made fit for a result line."""

import msgspec
from msgspec import Raw, Struct

from hornada.core import strict
from hornada.core.batch import Usage
from hornada.core.errors import Code

MAX_TOKENS = 10**8
"""More than this in one answer is absurd and is clamped."""

MAX_MESSAGE = 500
"""Characters of a foreign body that an envelope quotes."""


class Answered(Struct, frozen=True, gc=False):
    """A good answer on one line. ``usage`` None: it reports none; ``odd``: what it reports was clamped."""

    body: bytes
    usage: Usage | None
    odd: bool


class _Details(Struct, gc=False):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(Struct, gc=False):
    """OpenAI's two spellings: of chat, completions and embeddings, and of responses."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None
    total_tokens: int | None = None


class _Answer(Struct, gc=False):
    error: None = None
    usage: _Usage | None = None


class _LooseAnswer(Struct, gc=False):
    error: None = None
    usage: Raw = Raw(b"null")


class _Object(Struct, gc=False):
    """Any object; what it holds is skipped."""


_decode = msgspec.json.Decoder(_Answer).decode
_decode_loosely = msgspec.json.Decoder(_LooseAnswer).decode
_decode_object = msgspec.json.Decoder(_Object).decode

_SPACES = bytes.maketrans(b"\n\r", b"  ")
_SEPARATORS = (
    ("\u2028".encode(), rb"\u2028"),
    ("\u2029".encode(), rb"\u2029"),
    ("\x85".encode(), rb"\u0085"),
)


def read_answer(body: bytes) -> Answered | None:
    """Reads the body of a 2xx answer; None if it is no answer.

    An answer is a UTF-8, strict JSON object without an ``error`` (null is none). Its bytes stay but for line feeds
    and carriage returns between tokens (spaces), raw U+2028, U+2029 and U+0085 (escapes), and escaped surrogates that
    stand alone (U+FFFD).
    """
    if not (body.isascii() or strict.is_utf8(body)):
        return None
    try:
        found = _decode(body)
    except (msgspec.DecodeError, RecursionError):
        return _read_closely(body)
    usage, odd = _settle(found.usage) if found.usage else (None, False)
    return Answered(one_line(body), usage, odd)


def _read_closely(body: bytes) -> Answered | None:
    """For an answer with lone surrogates or odd numbers in its usage, and for all that is no answer."""
    body = strict.without_lone_surrogates(body)
    try:
        found = _decode_loosely(body)
        usage, odd = _loose_usage(bytes(found.usage))
    except (msgspec.DecodeError, RecursionError):
        return None
    return Answered(one_line(body), usage, odd)


def one_line(body: bytes) -> bytes:
    """JSON text on one line for every reader: valid JSON has raw line feeds between tokens only."""
    if b"\n" in body or b"\r" in body:
        body = body.translate(_SPACES)
    if not body.isascii():
        for separator, escape in _SEPARATORS:
            body = body.replace(separator, escape)
    return body


def _settle(given: _Usage) -> tuple[Usage | None, bool]:
    """The usage within its bounds, and whether that changed it. A reranker may report a total alone: input."""
    tokens_in = given.input_tokens if given.prompt_tokens is None else given.prompt_tokens
    tokens_out = given.output_tokens if given.completion_tokens is None else given.completion_tokens
    if tokens_in is None and tokens_out is None:
        tokens_in = given.total_tokens
        if tokens_in is None:
            return None, False
    details_in = given.prompt_tokens_details or given.input_tokens_details
    details_out = given.completion_tokens_details or given.output_tokens_details
    raw_in, raw_out = tokens_in or 0, tokens_out or 0
    raw_cached = details_in.cached_tokens or 0 if details_in else 0
    raw_reasoning = details_out.reasoning_tokens or 0 if details_out else 0
    if 0 <= raw_cached <= raw_in <= MAX_TOKENS and 0 <= raw_reasoning <= raw_out <= MAX_TOKENS:
        return Usage(raw_in, raw_cached, raw_out, raw_reasoning), False
    input_, output = _clamped(raw_in, MAX_TOKENS), _clamped(raw_out, MAX_TOKENS)
    cached, reasoning = _clamped(raw_cached, input_), _clamped(raw_reasoning, output)
    return Usage(input_, cached, output, reasoning), True


def _clamped(value: int, most: int) -> int:
    return 0 if value < 0 else min(value, most)


def _loose_usage(raw: bytes) -> tuple[Usage | None, bool]:
    """Usage whose members may be anything: what is no whole number is read as -1, which is clamped and odd."""
    value = strict.members(raw)
    if not isinstance(value, tuple):
        return None, value is not None
    fields = dict(value)
    counts = {key: _count(fields.get(key)) for key in _COUNTS}
    details = {key: _loose_details(fields.get(key)) for key in _DETAILS}
    return _settle(msgspec.convert({**counts, **details}, _Usage))


_COUNTS = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "total_tokens")
_DETAILS = (
    "prompt_tokens_details",
    "completion_tokens_details",
    "input_tokens_details",
    "output_tokens_details",
)


def _loose_details(value: object) -> dict[str, int | None] | None:
    if value is None:
        return None
    fields = dict(value) if isinstance(value, tuple) else {"cached_tokens": value, "reasoning_tokens": value}
    return {key: _count(fields.get(key)) for key in ("cached_tokens", "reasoning_tokens")}


def _count(value: object) -> int | None:
    """A value of ``strict.members`` as a whole number; -1 for all that is none."""
    if value is None:
        return None
    if not isinstance(value, bytes):
        return -1
    if len(value) > _LONG_NUMBER:
        return -1 if value.startswith(b"-") else MAX_TOKENS + 1
    number = float(value)
    if number > MAX_TOKENS:
        return MAX_TOKENS + 1
    return int(number) if number.is_integer() else -1


_LONG_NUMBER = 40


def error_body(status: int, body: bytes) -> bytes:
    """The body of a non-2xx answer as a JSON object on one line: as received where it is one, else in an envelope."""
    if strict.is_utf8(body):
        text = strict.without_lone_surrogates(body)
        try:
            _decode_object(text)
        except (msgspec.DecodeError, RecursionError):
            pass
        else:
            return one_line(text)
    kind = "server_error" if status >= _SERVER_FAULT else "invalid_request_error"
    return envelope(_CODES.get(status, Code.UPSTREAM_ERROR), _snippet(status, body), kind=kind)


_SERVER_FAULT = 500

_CODES = {
    408: Code.UPSTREAM_TIMEOUT,
    429: Code.MODEL_OVERLOADED,
    503: Code.MODEL_OVERLOADED,
    504: Code.UPSTREAM_TIMEOUT,
}


def _snippet(status: int, body: bytes) -> str:
    text = " ".join(body[: 8 * MAX_MESSAGE].decode(errors="replace").split())
    said = (
        f"The model server answered {status}: {text}" if text else f"The model server answered {status} with no body."
    )
    return said if len(said) <= MAX_MESSAGE else said[: MAX_MESSAGE - 1] + "…"


def envelope(code: Code | str | None, message: str, *, kind: str, param: str | None = None) -> bytes:
    """OpenAI's error object on one line; ``kind`` is its ``type``."""
    fields = {"message": message.encode(errors="replace").decode(), "type": kind, "param": param, "code": code}
    return one_line(msgspec.json.encode({"error": fields}))
