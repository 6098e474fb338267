"""The stored file as a client sees it, whichever server spelled it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hornada.client.faults import Garbled
from hornada.client.fields import mapping, moment, text, whole


class File(Struct, frozen=True, kw_only=True):
    """Times in seconds since 1970; ``raw``: the object as the server gave it.

    ``lines``: the requests in an input, from servers that count them.
    """

    id: str
    name: str = ""
    purpose: str = ""
    bytes: int = 0
    lines: int | None = None
    created_at: float | None = None
    expires_at: float | None = None
    raw: Mapping[str, Any] = {}


def read_file(found: Mapping[str, Any]) -> File:
    """A file object of any dialect. Raises Garbled."""
    name = found.get("id")
    if not isinstance(name, str):
        raise Garbled("What answers is no batch server: a file has no id.")
    return File(
        id=name,
        name=text(found.get("filename")) or "",
        purpose=text(found.get("purpose")) or "",
        bytes=whole(found.get("bytes")) or 0,
        lines=whole(mapping(found.get("metadata")).get("total_requests")),
        created_at=moment(found.get("created_at")),
        expires_at=moment(found.get("expires_at")),
        raw=found,
    )
