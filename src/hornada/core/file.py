"""A stored file: what a user uploaded or what a batch left behind."""

from enum import StrEnum

from msgspec import Struct


class Purpose(StrEnum):
    """What a file is for; OpenAI's words."""

    BATCH = "batch"
    BATCH_OUTPUT = "batch_output"


class File(Struct, frozen=True, kw_only=True):
    """One row of ``file``. Times in microseconds since 1970; ``requests`` counts the non-blank lines of an input."""

    id: str
    org: str
    member: str
    key: str
    purpose: Purpose
    name: str
    bytes: int
    sha256: str
    object: str
    requests: int
    created_at: int
    expires_at: int | None
