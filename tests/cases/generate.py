"""Writes the large input files of the cases whose input is ``gen:NAME``; the same bytes every time."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

MIB = 1 << 20


def chat(custom_id: str, text: str) -> str:
    """One chat line."""
    body = {"model": "m-chat", "messages": [{"role": "user", "content": text}]}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}) + "\n"


def embedding(custom_id: str, inputs: int) -> str:
    """One embeddings line with that many inputs."""
    body = {"model": "m-embed", "input": [f"t{k}" for k in range(inputs)]}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": "/v1/embeddings", "body": body}) + "\n"


def sized(custom_id: str, size: int) -> str:
    """One chat line of exactly ``size`` bytes, its newline not counted."""
    return chat(custom_id, "x" * (size - len(chat(custom_id, "")) + 1))


def over_100_mib(size: int = 100 * MIB + 1) -> Iterator[str]:
    """Good chat lines of half a MiB, ``size`` bytes in all."""
    left, number = size, 0
    while left > 0:
        take = min(left, MIB // 2)
        if left - take < 400:
            take = left
        if take < 400:
            yield "\n" * take
            return
        yield sized(f"big-{number:05d}", take - 1)
        left -= take
        number += 1


FILES: dict[str, Callable[[], Iterable[str]]] = {
    "lines_50000": lambda: (chat(f"req-{i:06d}", f"row {i}") for i in range(50_000)),
    "lines_50001": lambda: (chat(f"req-{i:06d}", f"row {i}") for i in range(50_001)),
    "line_over_1mib": lambda: [chat("o1", "one"), sized("o2", MIB + 4096), chat("o3", "three")],
    "line_under_1mib": lambda: [chat("u1", "one"), sized("u2", MIB - 4096), chat("u3", "three")],
    "embed_inputs_50000": lambda: (embedding(f"e{i:02d}", 2000) for i in range(25)),
    "embed_inputs_50001": lambda: (embedding(f"e{i:02d}", 2000 if i < 25 else 1) for i in range(26)),
    "file_over_100mib": over_100_mib,
}


def write(name: str, path: Path) -> None:
    """Writes the file ``name`` to ``path``."""
    with path.open("w", encoding="utf-8", newline="") as output:
        output.writelines(FILES[name]())
