"""What the mock model server answers: chat, completions, embeddings and responses in OpenAI's shapes."""

import base64
import hashlib
import json
import struct
import time
from typing import Any

Json = dict[str, Any]
Directive = dict[str, Any]


def text_of(request: Json) -> str:
    """The text that decides the answer."""
    messages = request.get("messages")
    if isinstance(messages, list):
        for message in reversed(messages):
            if isinstance(message, dict) and message.get("role") == "user":
                return joined(message.get("content"))
        return ""
    for name in ("prompt", "input"):
        if name in request:
            value = request[name]
            return value if isinstance(value, str) else json.dumps(value)
    return ""


def joined(content: Any) -> str:
    """A message's text, its parts put together."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def directive(text: str) -> Directive:
    """The JSON object after ``@@``, or nothing."""
    try:
        found = json.loads(text.rsplit("@@", 1)[1]) if "@@" in text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def refusal(
    message: str, kind: str = "invalid_request_error", code: str | None = None, param: str | None = None
) -> Json:
    """An error body."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def inputs(value: Any) -> list[Any]:
    """The inputs or prompts that a value holds: a string or a list of token ids is one."""
    if isinstance(value, list) and not (value and all(type(item) is int for item in value)):
        return value
    return [value]


def answer(path: str, request: Json, text: str, asked: Directive) -> tuple[int, Json]:
    """Status and body of a call without a fault."""
    tokens = max(1, len(text) // 4)
    if path.endswith("/embeddings"):
        return embeddings(request, tokens)
    say = asked.get("say", "ECHO:" + text) * int(asked.get("repeat", 1))
    if path.endswith("/chat/completions"):
        return chat(request, say, tokens, asked)
    if path.endswith("/completions"):
        return completions(request, tokens, asked)
    if path.endswith("/responses"):
        return responses(request, say, tokens)
    return 404, refusal("no such path " + path)


def embeddings(request: Json, tokens: int) -> tuple[int, Json]:
    """One vector an input, floats or base64."""
    if request.get("input") in (None, "", []):
        return 400, refusal("input must not be empty", param="input")
    size = request.get("dimensions") or 4
    data = []
    for index, item in enumerate(inputs(request["input"])):
        found: Any = vector(item, size)
        if request.get("encoding_format") == "base64":
            found = base64.b64encode(struct.pack(f"<{size}f", *found)).decode()
        data.append({"object": "embedding", "index": index, "embedding": found})
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return 200, {"object": "list", "data": data, "model": request.get("model"), "usage": usage}


def vector(item: Any, size: int) -> list[float]:
    """Numbers that depend on the input only."""
    digest = hashlib.sha256(json.dumps(item).encode()).digest()
    return [round((digest[i % 32] - 128) / 128.0, 6) for i in range(size)]


def chat(request: Json, say: str, tokens: int, asked: Directive) -> tuple[int, Json]:
    """A chat completion, or the refusals a real server would give."""
    if not isinstance(request.get("messages"), list) or not request["messages"]:
        return 400, refusal("messages is required", code="missing_required_parameter", param="messages")
    if isinstance(request.get("stream"), str):
        return 400, refusal("stream must be a boolean", param="stream")
    if request.get("max_tokens") == 0:
        return 400, refusal("max_tokens must be at least 1", param="max_tokens")
    message: Json = {"role": "assistant", "content": say}
    finish = "stop"
    if asked.get("empty"):
        message, finish = {"role": "assistant", "content": None, "reasoning_content": "thinking"}, "length"
    n = request.get("n") or 1
    choices = [{"index": index, "message": message, "finish_reason": finish} for index in range(n)]
    return 200, completion("chat.completion", "chatcmpl-mock", request, choices, tokens, 7 * n)


def completions(request: Json, tokens: int, asked: Directive) -> tuple[int, Json]:
    """``n`` texts a prompt."""
    texts = []
    for prompt in inputs(request.get("prompt", "")):
        shown = prompt if isinstance(prompt, str) else json.dumps(prompt)
        texts += [asked.get("say", "ECHO:" + shown)] * (request.get("n") or 1)
    choices: list[Json] = [
        {"index": index, "text": text, "finish_reason": "stop", "logprobs": None} for index, text in enumerate(texts)
    ]
    return 200, completion("text_completion", "cmpl-mock", request, choices, tokens, 7 * len(texts))


def completion(kind: str, name: str, request: Json, choices: list[Json], tokens: int, out: int) -> Json:
    """The frame around choices."""
    usage = {"prompt_tokens": tokens, "completion_tokens": out, "total_tokens": tokens + out}
    head = {"id": name, "object": kind, "created": int(time.time()), "model": request.get("model")}
    return {**head, "choices": choices, "usage": usage}


def responses(request: Json, say: str, tokens: int) -> tuple[int, Json]:
    """A response of the Responses API."""
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": say}]}
    usage = {"input_tokens": tokens, "output_tokens": 7, "total_tokens": tokens + 7}
    head = {"id": "resp-mock", "object": "response", "created_at": int(time.time()), "model": request.get("model")}
    return 200, {**head, "status": "completed", "output": [message], "usage": usage}
