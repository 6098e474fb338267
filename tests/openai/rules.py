"""What tests of the rules share."""

import pytest

from tests.openai import wire
from tests.openai.conftest import MOUNTED
from tests.seed.guide import jsonl, several

ONE = pytest.mark.parametrize("base", ["/v1"])
STRICT = pytest.mark.parametrize("base", ["/strict/v1"])
PLAIN = pytest.mark.parametrize("base", [path for path, name in MOUNTED.items() if name != "novita"])
DAY_S = 86_400
PURPOSE = wire.part("purpose", b"batch")
ENVELOPE = {"message", "type", "param", "code"}


def a_file(data: bytes | None = None, filename: str | None = "in.jsonl", *headers: str) -> bytes:
    data = jsonl(*several(1)) if data is None else data
    return wire.part("file", data, *headers, filename=filename)
