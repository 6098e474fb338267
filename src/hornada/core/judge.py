"""Judges the lines of one input file, one by one: what is wrong with each, in words."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from hornada.core import strict
from hornada.core.batch import Finding
from hornada.core.catalog import VERSION, no_such_model
from hornada.core.errors import Code
from hornada.core.glance import CUSTOM_ID_LENGTH, Glance
from hornada.core.limits import Limits

EMBEDDINGS = "/v1/embeddings"

_SHORT_ID = 40
"""Ids up to this long are remembered themselves, longer ones by a digest of 16 bytes."""


class Named(Struct, frozen=True):
    """What a name stands for, for one key and endpoint."""

    resolved: str
    allowed: bool
    offers: bool
    batchable: bool


class CheckRules(Struct, frozen=True, kw_only=True):
    """What the lines of a batch are held against.

    ``names``: every catalog name and alias, others are unknown; None: every name is taken for a model.
    ``unversioned``: a line's ``url`` may leave the endpoint's ``/v1`` out. ``thorough``: a checkup (``core.checkup``).
    """

    endpoint: str
    limits: Limits
    names: dict[str, Named] | None
    unversioned: bool = False
    thorough: bool = False


class _Text(str):
    """A string that was decoded by the hook, which is what counts it."""

    __slots__ = ()


class _Body(Struct, gc=False):
    model: _Text
    stream: bool | None = None


class _EmbeddingBody(_Body, gc=False):
    input: Raw | UnsetType = UNSET


class _Line(Struct, gc=False, forbid_unknown_fields=True):
    custom_id: _Text
    body: _Body
    url: _Text | UnsetType = UNSET
    method: _Text | UnsetType = UNSET


class _EmbeddingLine(Struct, gc=False, forbid_unknown_fields=True):
    custom_id: _Text
    body: _EmbeddingBody
    url: _Text | UnsetType = UNSET
    method: _Text | UnsetType = UNSET


class Judge:
    """Knows the lines so far: their ids, the model they all must name, the embedding inputs in all.

    Most lines are clean, and ``accepts`` sees that in one decoding pass, ``accepts_all`` for many at once if they are
    written in the usual way. What ``accepts`` does not accept goes to ``faults``, which is slow and exact: it decides
    alone what is wrong, and may find nothing.
    """

    def __init__(self, rules: CheckRules) -> None:
        self._rules = rules
        self._endpoint = rules.endpoint
        self._urls = {rules.endpoint} | ({rules.endpoint.removeprefix(VERSION)} if rules.unversioned else set())
        self._ids: dict[str | bytes, int] = {}
        self._good_names: dict[str, None] = {}
        self._strings: list[str] = []
        self.counts_inputs = rules.endpoint == EMBEDDINGS
        self._glance = Glance(self._urls, self._good_names)
        self._decode = _decoder(_EmbeddingLine if self.counts_inputs else _Line, self._strings)
        self.model: str | None = None
        self.inputs = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Every name under which lines asked for the model, in the order in which they were first used."""
        return tuple(self._good_names)

    def accepts_all(self, lines: Sequence[bytes], number: int) -> bool:
        """Whether a run of lines, each with its LF, is surely clean; if not, ask ``accepts`` for each of them.

        ``number`` is the physical line of the first.
        """
        seen = self._good_names and self._glance.over(lines)
        if not seen:
            return False
        ids: list[str | bytes] = [line.custom_id for line in seen]
        if max(map(len, ids)) > _SHORT_ID:
            ids = [_key(line.custom_id) for line in seen]
        fresh = dict(zip(ids, itertools.count(number), strict=False))
        if len(fresh) < len(ids) or not self._ids.keys().isdisjoint(fresh):
            return False
        self._ids.update(fresh)
        if self.counts_inputs:
            self.inputs += sum(_raw_inputs(line.body.input) for line in seen)
        return True

    def accepts(self, line: bytes, number: int) -> bool:
        """Whether the line is surely clean; if not, ask ``faults``. ``number`` is the physical line, from 1."""
        if not (line.isascii() or strict.is_utf8(line)):
            return False
        self._strings.clear()
        try:
            found = self._decode(line)
        except (msgspec.DecodeError, RecursionError):
            return False
        custom_id, url, method, body = (
            found.custom_id,
            found.url,
            found.method,
            found.body,
        )
        if (
            len(self._strings) != 2 + (url is not UNSET) + (method is not UNSET)
            or (url is not UNSET and url not in self._urls)
            or (method is not UNSET and method not in _POST)
            or body.model not in self._good_names
            or body.stream
            or not 0 < len(custom_id) <= CUSTOM_ID_LENGTH
            or strict.too_deep(line)
        ):
            return False
        if self._ids.setdefault(_key(custom_id), number) != number:
            return False
        if self.counts_inputs and isinstance(body, _EmbeddingBody):
            self.inputs += _raw_inputs(body.input)
        return True

    def faults(self, line: bytes, number: int) -> Iterator[Finding]:
        """All that is wrong with the line ``number``, in the order of the envelope's fields."""
        reason = strict.fault(line)
        if reason is not None and not (reason is strict.LONE_SURROGATE and _only_in_custom_id(line)):
            yield _invalid(number, f"This line is not parseable as valid JSON: {reason}.")
            return
        envelope = strict.members(line)
        if not isinstance(envelope, tuple):
            yield _invalid(
                number,
                f"A line must be a JSON object, but this is {strict.kind(envelope)}.",
            )
            return
        fields, body = dict(envelope), dict(envelope).get("body")
        twice = strict.repeated(envelope)
        if twice is not None:
            yield _invalid(
                number,
                f"The key {strict.shown(twice)} appears more than once in this line.",
            )
        elif isinstance(body, tuple) and sum(key == "model" for key, _ in body) > 1:
            yield _invalid(
                number,
                "The key 'model' appears more than once in the body of this line.",
            )
        else:
            yield from self._field_faults(fields, number)

    def _field_faults(self, fields: dict[str, Any], number: int) -> Iterator[Finding]:
        for code, message, param in (
            self._custom_id_fault(fields, number),
            _method_fault(fields),
            self._url_fault(fields),
            _body_fault(fields),
        ):
            if message:
                yield Finding(code=code, message=message, line=number, param=param)
        body = fields.get("body")
        if isinstance(body, tuple):
            yield from self._body_faults(dict(body), number)

    def _custom_id_fault(self, fields: dict[str, Any], number: int) -> tuple[Code, str, str]:
        code, message = Code.INVALID_REQUEST, ""
        value = fields.get("custom_id")
        if "custom_id" not in fields:
            code, message = Code.MISSING_REQUIRED_PARAMETER, _missing("custom_id")
        elif not isinstance(value, str):
            message = _wrong_type("custom_id", "a string", value)
        elif not 0 < len(value) <= CUSTOM_ID_LENGTH:
            message = (
                f"Invalid 'custom_id': expected 1 to {CUSTOM_ID_LENGTH} characters, but got {len(value)} characters."
            )
        elif _surrogates(value):
            message = f"Invalid 'custom_id': {strict.LONE_SURROGATE}."
        else:
            first = self._ids.setdefault(_key(value), number)
            if first != number:
                code = Code.DUPLICATE_CUSTOM_ID
                message = (
                    f"The custom_id {strict.shown(value)} for this request is a duplicate of the request on line "
                    f"{first}. The custom_id parameter must be unique for each request in a batch."
                )
        return code, message, "custom_id"

    def _url_fault(self, fields: dict[str, Any]) -> tuple[Code, str, str]:
        value = fields.get("url")
        message = ""
        if "url" in fields and not (isinstance(value, str) and value in self._urls):
            given = strict.shown(value) if isinstance(value, str) else strict.kind(value)
            message = (
                f"The URL provided for this request does not match the batch endpoint: "
                f"expected '{self._endpoint}', but got {given}."
            )
        return Code.URL_MISMATCH, message, "url"

    def _body_faults(self, body: dict[str, Any], number: int) -> Iterator[Finding]:
        code, message = self._model_fault(body)
        if message:
            yield Finding(code=code, message=message, line=number, param="body.model")
        if body.get("stream") is True:
            message = "Streaming is not supported in the Batch API: 'stream' must be false or absent, but got true."
            yield Finding(
                code=Code.STREAM_NOT_SUPPORTED,
                message=message,
                line=number,
                param="body.stream",
            )
        if self.counts_inputs:
            self.inputs += _inputs(body.get("input"))

    def _model_fault(self, body: dict[str, Any]) -> tuple[Code, str]:
        name = body.get("model")
        if "model" not in body:
            return Code.MISSING_REQUIRED_PARAMETER, _missing("model")
        if not isinstance(name, str) or not name:
            return Code.INVALID_REQUEST, _wrong_type("model", "the name of a model", name)
        names = self._rules.names
        named = Named(name, allowed=True, offers=True, batchable=True) if names is None else names.get(name)
        resolved = named.resolved if named else name
        if self.model is None:
            self.model = resolved
        if resolved != self.model:
            return Code.MODEL_MISMATCH, (
                f"The model {strict.shown(name)} for this request does not match the rest of the batch, which names "
                f"{strict.shown(self.model)}. Each batch must contain requests for a single model."
            )
        if named is None or not named.allowed:
            return Code.MODEL_NOT_FOUND, no_such_model(name, self._usable)
        code, message = _name_fault(name, named, self._endpoint)
        if not message:
            self._good_names[name] = None
        return code, message

    @cached_property
    def _usable(self) -> list[str]:
        return [name for name, named in (self._rules.names or {}).items() if named.allowed]


def _name_fault(name: str, named: Named, endpoint: str) -> tuple[Code, str]:
    model = f"The model {strict.shown(name)}"
    message = ""
    if not named.batchable:
        message = f"{model} does not support batches: it has no capacity for them."
    elif not named.offers:
        message = f"{model} does not offer the endpoint '{endpoint}'."
    return Code.MODEL_NOT_BATCHABLE, message


_POST = ("POST", "post")


def _decoder(kind: type[_Line] | type[_EmbeddingLine], strings: list[str]) -> Callable[[bytes], _Line | _EmbeddingLine]:
    """Decodes a line and leaves in ``strings`` each one that a field had.

    msgspec keeps the last of repeated keys in silence, but calls its hook for each of them.
    """

    def hook(_: type, value: object) -> _Text:
        if type(value) is not str:
            raise TypeError
        strings.append(value)
        return _Text(value)

    return msgspec.json.Decoder(kind, dec_hook=hook).decode


def _method_fault(fields: dict[str, Any]) -> tuple[Code, str, str]:
    value = fields.get("method")
    message = ""
    if "method" in fields and not (isinstance(value, str) and value.isascii() and value.upper() == "POST"):
        given = strict.shown(value) if isinstance(value, str) else strict.kind(value)
        message = f"Invalid value for 'method': expected 'POST', but got {given}."
    return Code.INVALID_REQUEST, message, "method"


def _body_fault(fields: dict[str, Any]) -> tuple[Code, str, str]:
    value = fields.get("body")
    if "body" not in fields:
        return Code.MISSING_REQUIRED_PARAMETER, _missing("body"), "body"
    message = "" if isinstance(value, tuple) else _wrong_type("body", "an object", value)
    return Code.INVALID_REQUEST, message, "body"


def _invalid(number: int, message: str) -> Finding:
    return Finding(code=Code.INVALID_JSON_LINE, message=message, line=number)


def _missing(param: str) -> str:
    return f"Missing required parameter: '{param}'."


def _wrong_type(param: str, expected: str, value: object) -> str:
    given = "an empty string" if value == "" else strict.kind(value)
    return f"Invalid type for '{param}': expected {expected}, but got {given} instead."


def _key(custom_id: str) -> str | bytes:
    """What an id is remembered by."""
    if len(custom_id) <= _SHORT_ID:
        return custom_id
    from hashlib import blake2b  # most files have no such id, and OpenSSL comes with it

    return blake2b(custom_id.encode(), digest_size=16).digest()


def _surrogates(text: str) -> int:
    return sum("\ud800" <= character <= "\udfff" for character in text)


def _only_in_custom_id(line: bytes) -> bool:
    """Whether lone surrogates are the line's only fault, and its ``custom_id`` holds them all."""
    lone = strict.lone_surrogates(line, CUSTOM_ID_LENGTH)
    if lone == CUSTOM_ID_LENGTH or strict.fault(strict.without_lone_surrogates(line)) is not None:
        return False
    envelope = strict.members(line)
    value = dict(envelope).get("custom_id") if isinstance(envelope, tuple) else None
    return isinstance(value, str) and _surrogates(value) == lone


_elements = msgspec.json.Decoder(list[Raw]).decode


def _raw_inputs(raw: Raw | UnsetType) -> int:
    """The embedding inputs of a body's ``input``, as ``_inputs`` counts them."""
    if raw is UNSET:
        return 1
    text = bytes(raw)
    if text[:1] != b"[" or (b'"' not in text and text.find(b"[", 1) < 0):
        return 1
    elements = _elements(text)
    return len(elements) if memoryview(elements[0])[0] in b'"[' else _inputs(strict.members(text))


def _inputs(value: object) -> int:
    """A string or an array of token ids is one input; an array of strings or of arrays counts its elements."""
    if isinstance(value, list) and any(isinstance(element, (str, list)) for element in value):
        return len(value)
    return 1
