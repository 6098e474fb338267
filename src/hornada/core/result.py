"""A result line as a program reads it: the answer's text, its tokens, or what went wrong."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hornada.core import strict

_SHORT = 200
"""Characters of an error's text that is no message."""


class Result(Struct, frozen=True, kw_only=True):
    """One line's result. ``body``: the whole answer, or the refusal; ``line``: the result line's bytes without its LF.

    ``text``: what was answered, as text: a message, a completion, or JSON (embeddings, tool calls, several choices).
    ``error`` and ``error_code`` are None for a line that was answered. ``status_code`` None: it was never sent.
    """

    custom_id: str
    status_code: int | None = None
    text: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    error_code: str | None = None
    error: str | None = None
    body: Any = None
    line: bytes = b""

    @property
    def ok(self) -> bool:
        """Whether the line was answered."""
        return self.error is None

    @property
    def cut_off(self) -> bool:
        """Whether the answer ends, or is empty, because its limit of tokens was reached."""
        answer = _mapping(self.body)
        choices = answer.get("choices")
        reasons = [_mapping(each).get("finish_reason") for each in choices] if isinstance(choices, list) else []
        details = _mapping(answer.get("incomplete_details"))
        return self.ok and ("length" in reasons or details.get("reason") == "max_output_tokens")

    @property
    def kind(self) -> str:
        """The kind of failure: its code, or ``http_503`` and the like where it has none; empty for an answer."""
        if self.ok:
            return ""
        if self.error_code and not self.error_code.isdecimal():
            return self.error_code
        return "error" if self.status_code is None else f"http_{self.status_code}"


class _Response(Struct):
    status_code: int | None = None
    body: Any = None


class _Line(Struct):
    custom_id: str
    response: _Response | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Line).decode


def read_result(line: bytes) -> Result:
    """The result of a line of a result file of any OpenAI-compatible server. Raises ValueError for what is none."""
    line = line.rstrip(b"\r\n")
    try:
        found = _decode(strict.without_lone_surrogates(line))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"This is no result line: {error}") from None
    response = found.response or _Response()
    status, body = response.status_code, response.body
    if found.error or (status is not None and not 200 <= status < 300) or _refused(body) or found.response is None:
        code, message = _fault(found.error or body)
        return Result(
            custom_id=found.custom_id, status_code=status, error_code=code, error=message, body=body, line=line
        )
    usage = _mapping(_mapping(body).get("usage"))
    return Result(
        custom_id=found.custom_id,
        status_code=status,
        text=text_of(body),
        input_tokens=_whole(usage, "prompt_tokens", "input_tokens"),
        output_tokens=_whole(usage, "completion_tokens", "output_tokens"),
        body=body,
        line=line,
    )


def text_of(body: Any) -> str | None:
    """What an answer says, as text; None where it says nothing."""
    if isinstance(body, str):
        return body
    answer = _mapping(body)
    choices = answer.get("choices")
    if isinstance(choices, list):
        said = [_choice(_mapping(each)) for each in choices]
        return said[0] if len(said) == 1 else (_json(said) if said else None)
    output = answer.get("output")
    if isinstance(output, list):
        return _output(output)
    data = answer.get("data")
    if isinstance(data, list) and data and all("embedding" in _mapping(each) for each in data):
        vectors = [each["embedding"] for each in data]
        return _json(vectors[0] if len(vectors) == 1 else vectors)
    results = answer.get("results")
    return _json(results) if results is not None else None


def _choice(choice: Mapping[str, Any]) -> str | None:
    if "text" in choice:
        return _text(choice["text"])
    message = _mapping(choice.get("message"))
    for part in ("content", "refusal"):
        if message.get(part):
            return _text(message[part])
    calls = message.get("tool_calls")
    return _json(calls) if calls else _text(message.get("content"))


def _output(output: list[Any]) -> str | None:
    """The text of an answer of ``/v1/responses``; what it would call, where it has none."""
    items = [_mapping(item) for item in output]
    said = [_text(item.get("content")) for item in items if item.get("type", "message") == "message"]
    calls = [item for item in items if item.get("type") == "function_call"]
    return "".join(each or "" for each in said) or (_json(calls) if calls else None)


def _text(value: Any) -> str | None:
    """A text, or the texts of a list of parts."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [_mapping(each) for each in value]
        return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)
    return _json(value)


def _fault(error: Any) -> tuple[str | None, str]:
    """The code and the message of an error in any of the shapes that servers give it."""
    found = _mapping(error)
    inner = found.get("error", found) if not isinstance(found.get("error"), str) else found
    fields = _mapping(inner)
    code = fields.get("code")
    message = fields.get("message") or fields.get("detail") or fields.get("error")
    if not message:
        message = inner if isinstance(inner, str) and inner else (error if isinstance(error, str) else None)
    said = message if isinstance(message, str) else _json(message or error)[:_SHORT]
    return (None if code is None else str(code)), (said if error else "The server gave no reason.")


def _refused(body: Any) -> bool:
    return bool(_mapping(body).get("error"))


def _whole(usage: Mapping[str, Any], *names: str) -> int | None:
    found = (usage.get(name) for name in names)
    return next((value for value in found if isinstance(value, int) and not isinstance(value, bool)), None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
