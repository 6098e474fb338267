"""Sees at one glance that whole runs of lines are clean, which nearly all lines of nearly all files are."""

import re
from collections.abc import Collection, Container, Sequence
from functools import cache
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from hornada.core import strict

CUSTOM_ID_LENGTH = 512
"""Code points (InferNode)."""


class _Model(str):
    """A name that the hook knows, which is what counts it."""

    __slots__ = ()


_Id = Annotated[str, Meta(min_length=1, max_length=CUSTOM_ID_LENGTH)]


class _Body(Struct, gc=False):
    model: _Model
    stream: bool | None = None
    input: Raw | UnsetType = UNSET


class Seen(Struct, gc=False, forbid_unknown_fields=True):
    """A clean line."""

    custom_id: _Id
    body: _Body
    url: str = ""
    method: str = ""


_START = rb'\{"custom_id": ?"[^"\\]*+", ?(?:"method": ?"(?:POST|post)", ?)?(?:"url": ?(?:%s), ?)?"body": ?\{'
_ENDS = (b"}}\n", b"}}\r\n")


class Glance:
    """``urls``: what a line may have as its url. ``names``: those of the model that lines were right to have so far."""

    def __init__(self, urls: Collection[str], names: Container[str]) -> None:
        spelled = b"|".join(re.escape(msgspec.json.encode(url)) for url in urls)
        self._starts = re.compile(_START % spelled).match

        @cache  # it is asked once a line, and counts that
        def hook(_: type, value: object) -> _Model:
            if not isinstance(value, str) or value not in names:
                raise ValueError
            return _Model(value)

        self._models = hook.cache_info
        self._decode = msgspec.json.Decoder(Seen, dec_hook=hook).decode

    def over(self, lines: Sequence[bytes]) -> list[Seen] | None:
        """What the lines hold, each with its LF, if all are surely clean but for ids that others have too; else None.

        msgspec keeps the last of repeated keys in silence. Here there are none: a line starts with an id, at most one
        method and one url, and then its body; its last value is an object, which only a body may be; and as every
        body has a model, as many models as lines means that there is no second body and no second model.
        """
        end = _ENDS[lines[0].endswith(b"\r\n")]
        if not all(map(self._starts, lines)) or {line[-len(end) :] for line in lines} != {end}:
            return None
        if not all(map(bytes.isascii, lines)) and not all(map(strict.is_utf8, lines)):
            return None
        before = self._asked()
        try:
            seen = [*map(self._decode, lines)]
        except (msgspec.DecodeError, RecursionError):
            return None
        if self._asked() - before != len(lines) or True in {line.body.stream for line in seen}:
            return None
        return None if strict.may_be_too_deep(lines) else seen

    def _asked(self) -> int:
        told = self._models()
        return told.hits + told.misses
