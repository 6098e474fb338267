"""Writes batch input files whose line i carries the marker ``[[i]]``, so that lost and mixed-up lines show."""

import json
from pathlib import Path
from typing import Any

WORDS = (
    "archivo",
    "clave",
    "informe",
    "total",
    "firma",
    "plazo",
    "sector",
    "ledger",
    "report",
    "claim",
    "notice",
    "branch",
    "audit",
)
MODEL = "stub-model"
PROMPT_CHARS = 400
BIG_CHARS = 1820
"""50,000 lines with prompts this long are just under 100 MiB."""


def prompt(chars: int) -> str:
    """Words, ``chars`` characters in all."""
    words = [WORDS[i * 7 % len(WORDS)] for i in range(chars // 3)]
    return " ".join(words)[:chars]


def body(marker: int, text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """Endpoint and body of one request."""
    marked = f"[[{marker}]] {text}"
    if kind == "embeddings":
        return "/v1/embeddings", {"model": MODEL, "input": marked}
    if kind == "completions":
        return "/v1/completions", {"model": MODEL, "prompt": marked, "max_tokens": 64}
    messages = [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": marked}]
    return "/v1/chat/completions", {"model": MODEL, "messages": messages, "max_tokens": 64, "temperature": 0}


def write(path: Path, count: int, *, chars: int = PROMPT_CHARS, kind: str = "chat") -> Path:
    """Writes ``count`` lines to ``path``; ids ``line-0`` and up."""
    text = prompt(chars)
    with path.open("w", encoding="utf-8") as output:
        for marker in range(count):
            url, content = body(marker, text, kind)
            line = {"custom_id": f"line-{marker}", "method": "POST", "url": url, "body": content}
            output.write(json.dumps(line) + "\n")
    return path
