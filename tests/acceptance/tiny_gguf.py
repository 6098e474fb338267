"""Writes a tiny random llama model in GGUF (about half a MB), which llama.cpp loads like any other.

So a test gets a real model server - batching, usage, 4xx bodies - at a few milliseconds a call. Its answers are random
words.
"""

import random
import struct
from array import array
from collections.abc import Sequence
from pathlib import Path

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
SIZE, LAYERS, HEADS, CONTEXT = 64, 2, 4, 4096
WORDS = [
    start + end
    for start in ("ba", "ke", "lo", "mi", "nu", "pa", "ro", "sa", "te", "vi")
    for end in ("dan", "lor", "mer", "nix")
]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
Tensor = tuple[str, tuple[int, ...], "array[float]"]


def text(value: str) -> bytes:
    """A length-prefixed string."""
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def number(key: str, value: int) -> bytes:
    """An unsigned entry of the metadata."""
    return text(key) + struct.pack("<II", U32, value)


def string(key: str, value: str) -> bytes:
    """A string entry of the metadata."""
    return text(key) + struct.pack("<I", STRING) + text(value)


def listed(key: str, kind: int, values: Sequence[float] | Sequence[str]) -> bytes:
    """A list entry of the metadata."""
    letter = {F32: "f", I32: "i"}.get(kind)
    body = struct.pack(f"<{len(values)}{letter}", *values) if letter else b"".join(text(str(v)) for v in values)
    return text(key) + struct.pack("<IIQ", ARRAY, kind, len(values)) + body


def vocabulary() -> tuple[list[str], list[float], list[int]]:
    """Tokens, scores and types: three special ones, every byte, the words."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *(f"\u2581{word}" for word in WORDS)]
    scores = [0.0] * 259 + [-float(rank) for rank in range(len(WORDS))]
    return tokens, scores, [2, 3, 3] + [6] * 256 + [1] * len(WORDS)


def metadata() -> list[bytes]:
    """What the file says about the model."""
    tokens, scores, types = vocabulary()
    return [
        string("general.architecture", "llama"),
        string("general.name", "tiny-random"),
        number("general.file_type", 0),
        number("llama.context_length", CONTEXT),
        number("llama.embedding_length", SIZE),
        number("llama.block_count", LAYERS),
        number("llama.feed_forward_length", 2 * SIZE),
        number("llama.attention.head_count", HEADS),
        number("llama.attention.head_count_kv", HEADS),
        number("llama.rope.dimension_count", SIZE // HEADS),
        text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", F32, 1e-5),
        number("llama.vocab_size", len(tokens)),
        string("tokenizer.ggml.model", "llama"),
        listed("tokenizer.ggml.tokens", STRING, tokens),
        listed("tokenizer.ggml.scores", F32, scores),
        listed("tokenizer.ggml.token_type", I32, types),
        number("tokenizer.ggml.bos_token_id", 1),
        number("tokenizer.ggml.eos_token_id", 2),
        number("tokenizer.ggml.unknown_token_id", 0),
        text("tokenizer.ggml.add_bos_token") + struct.pack("<I?", BOOL, True),
        string("tokenizer.chat_template", TEMPLATE),
    ]


def tensors(chance: random.Random) -> list[Tensor]:
    """Random weights. Bytes never win (their output row is 0); words and the end token may."""

    def gauss(count: int, spread: float) -> "array[float]":
        return array("f", (chance.gauss(0, spread) for _ in range(count)))

    count, wide = len(vocabulary()[0]), 2 * SIZE
    output = array("f", bytes(4 * count * SIZE))
    for token in [2, *range(259, count)]:
        output[token * SIZE : (token + 1) * SIZE] = gauss(SIZE, 0.7)
    ones = array("f", [1.0] * SIZE)
    found: list[Tensor] = [
        ("token_embd.weight", (SIZE, count), gauss(count * SIZE, 1.0)),
        ("output_norm.weight", (SIZE,), ones),
        ("output.weight", (SIZE, count), output),
    ]
    for block in (f"blk.{layer}." for layer in range(LAYERS)):
        found += [(f"{block}{part}_norm.weight", (SIZE,), ones) for part in ("attn", "ffn")]
        for part in ("q", "k", "v", "output"):
            found.append((f"{block}attn_{part}.weight", (SIZE, SIZE), gauss(SIZE * SIZE, SIZE**-0.5)))
        for part, shape in (("gate", (SIZE, wide)), ("up", (SIZE, wide)), ("down", (wide, SIZE))):
            found.append((f"{block}ffn_{part}.weight", shape, gauss(SIZE * wide, shape[0] ** -0.5)))
    return found


def write(path: Path, seed: int = 7) -> Path:
    """Writes the model; the same seed gives the same bytes."""
    entries, weights = metadata(), tensors(random.Random(seed))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(weights), len(entries)) + b"".join(entries)
    offset = 0
    for name, shape, data in weights:
        head += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", 0, offset)
        offset += padded(len(data) * 4)
    with path.open("wb") as output:
        output.write(head.ljust(padded(len(head)), b"\0"))
        for _, _, data in weights:
            raw = data.tobytes()
            output.write(raw.ljust(padded(len(raw)), b"\0"))
    return path


def padded(size: int) -> int:
    """The next multiple of 32."""
    return -(-size // 32) * 32
