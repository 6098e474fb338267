"""Asks a model server to say at the end of a stream what it used (OpenAI's ``stream_options.include_usage``)."""

import re
from itertools import islice

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

ENDPOINTS = frozenset({"/v1/chat/completions", "/v1/completions"})
"""Where the option exists; streams of responses report their usage unasked."""


class _Options(Struct, gc=False):
    include_usage: bool | None = None


class _Asked(Struct, gc=False):
    stream_options: Raw | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Asked).decode
_options = msgspec.json.Decoder(_Options | None).decode
_members = msgspec.json.Decoder(dict[str, Raw]).decode

_INCLUDE = b'"include_usage":true'
_KEY = re.compile(rb'"stream_options"[ \t\r\n]*+:[ \t\r\n]*+')
_CANDIDATES = 8


def with_stream_usage(body: bytes) -> bytes | None:
    """The body of a stream with ``include_usage`` switched on, every other byte as it was.

    None: nothing is to be changed, because the client asked for it itself or said something that only the model
    server can judge. The body must have passed ``check_request``.
    """
    raw = _decode(body).stream_options
    if raw is UNSET:
        end = body.rindex(b"}")
        return body[:end] + b',"stream_options":{' + _INCLUDE + b"}" + body[end:]
    old = bytes(raw)
    try:
        options = _options(old)
    except (msgspec.DecodeError, RecursionError):
        return None
    if options is not None and options.include_usage:
        return None
    return _replaced(body, old, _switched_on(old))


def _switched_on(options: bytes) -> bytes:
    if options == b"null":
        return b"{" + _INCLUDE + b"}"
    members = _members(options)
    if "include_usage" in members:
        members["include_usage"] = Raw(b"true")
        return msgspec.json.encode(members)
    return b"{" + _INCLUDE + (b"," if members else b"") + options[1:]


def _replaced(body: bytes, old: bytes, new: bytes) -> bytes:
    """Another value at the top level: cut in where it is found and proves right, else the top level written anew."""
    for key in islice(_KEY.finditer(body), _CANDIDATES):
        end = key.end()
        if body.startswith(old, end):
            changed = body[:end] + new + body[end + len(old) :]
            found = _decode(changed).stream_options
            if found is not UNSET and bytes(found) == new:
                return changed
    members = _members(body)
    members["stream_options"] = Raw(new)
    return msgspec.json.encode(members)
