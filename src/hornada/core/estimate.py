"""Tokens as far as they can be told from text: four bytes each, for answers whose server did not count them."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

_BYTES_A_TOKEN = 4
_ASKED = ("messages", "prompt", "input", "instructions", "query", "documents", "tools")
_ANSWERED = ("choices", "output")
WRITING = frozenset({"/v1/chat/completions", "/v1/completions", "/v1/responses"})
"""Endpoints whose answers are text; the others are charged for their input alone."""
_NO_TEXT = frozenset(
    {"role", "type", "id", "call_id", "status", "object", "finish_reason", "logprobs", "index", "detail"}
)
"""Keys whose values are no part of what a model reads or writes."""
_EMBEDDED = ("data:", "http://", "https://")
"""How a picture or a recording begins: the text of its address says nothing of its tokens."""


class Estimate(Struct, frozen=True, kw_only=True):
    """Tokens of all lines of a file: of their input, and the most output that they ask for.

    ``unlimited``: lines that name no limit of their output.
    """

    input: int
    output: int
    unlimited: int


def tokens(text_bytes: int) -> int:
    """Tokens of so many bytes of text, rounded up."""
    return -(-text_bytes // _BYTES_A_TOKEN)


def prompt_tokens(body: bytes) -> int:
    """About how many tokens a request's prompt has; token ids are counted one by one."""
    return _estimate(body, _ASKED)


def answer_tokens(endpoint: str, body: bytes) -> int:
    """About how many tokens an answer has: 0 where the endpoint's answers are not text (embeddings)."""
    return _estimate(body, _ANSWERED) if endpoint in WRITING else 0


def _estimate(body: bytes, keys: tuple[str, ...]) -> int:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return tokens(len(body))
    if not isinstance(value, dict):
        return 0
    text = ids = 0
    for leaf in _leaves([value[key] for key in keys if key in value]):
        if isinstance(leaf, str):
            text += 0 if leaf.startswith(_EMBEDDED) and " " not in leaf else len(leaf.encode())
        else:
            ids += 1
    return tokens(text) + ids


def _leaves(value: list[Any]) -> Iterator[str | int]:
    """The texts and token ids of a value, however it is nested (checked bodies have at most 128 levels)."""
    waiting: list[Any] = [value]
    while waiting:
        match waiting.pop():
            case dict() as found:
                waiting.extend(each for key, each in found.items() if key not in _NO_TEXT)
            case list() as found:
                waiting.extend(found)
            case bool():
                pass
            case str() | int() as leaf:
                yield leaf
