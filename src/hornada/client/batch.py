"""The batch as a client sees it, whichever server spelled it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from hornada.client.faults import Garbled

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_WORDS = {"progress": "in_progress", "canceled": "cancelled", "canceling": "cancelling"}


class Fault(Struct, frozen=True, kw_only=True):
    """One cause on a batch. ``line`` counts from 1; None: it is about the file or the batch."""

    message: str
    code: str | None = None
    line: int | None = None
    param: str | None = None


class Batch(Struct, frozen=True, kw_only=True):
    """A batch at one moment. Times in seconds since 1970; ``raw``: the object as the server gave it.

    From servers that tell: ``cost`` in micro-units, ``rate`` in lines a second, ``eta_s`` in seconds, ``kinds``: failed
    lines by code, ``waiting_for``: why no line runs.
    """

    id: str
    status: str
    endpoint: str = ""
    model: str | None = None
    total: int = 0
    completed: int = 0
    failed: int = 0
    input_file_id: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    created_at: float | None = None
    expires_at: float | None = None
    metadata: Mapping[str, str] = {}
    faults: tuple[Fault, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: int | None = None
    waiting_for: str | None = None
    rate: float | None = None
    eta_s: float | None = None
    kinds: Mapping[str, int] = {}
    raw: Mapping[str, Any] = {}

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status in ENDED

    @property
    def ok(self) -> bool:
        """Whether it ended with an answer for every line."""
        return self.status == "completed" and not self.failed


def read_batch(found: Mapping[str, Any]) -> Batch:
    """A batch object of any dialect: blanks are taken for nulls, RFC 3339 times for seconds. Raises Garbled."""
    name, status = found.get("id"), found.get("status")
    if not isinstance(name, str) or not isinstance(status, str):
        raise Garbled("What answers is no batch server: a batch has neither an id nor a status.")
    counts = _mapping(found.get("request_counts")) or found
    usage, own = _mapping(found.get("usage")), _mapping(found.get("hornada"))
    status = status.lower()
    return Batch(
        id=name,
        status=_WORDS.get(status, status),
        endpoint=_text(found.get("endpoint")) or "",
        model=_text(found.get("model")),
        total=_whole(counts.get("total")) or 0,
        completed=_whole(counts.get("completed")) or 0,
        failed=_whole(counts.get("failed")) or 0,
        input_file_id=_text(found.get("input_file_id")),
        output_file_id=_text(found.get("output_file_id")),
        error_file_id=_text(found.get("error_file_id")),
        created_at=_moment(found.get("created_at")),
        expires_at=_moment(found.get("expires_at")),
        metadata={str(key): str(value) for key, value in _mapping(found.get("metadata")).items()},
        faults=read_faults(found.get("errors")),
        input_tokens=_whole(usage.get("input_tokens")),
        output_tokens=_whole(usage.get("output_tokens")),
        cost=_whole(found.get("cost")) if found.get("cost") is not None else _whole(own.get("cost")),
        waiting_for=_text(own.get("waiting_for")),
        rate=_number(own.get("rate")),
        eta_s=_number(own.get("eta")),
        kinds={str(code): n for code, n in _mapping(own.get("errors_by_code")).items() if isinstance(n, int)},
        raw=found,
    )


def read_faults(errors: Any) -> tuple[Fault, ...]:
    """The causes that an ``errors`` object lists, in either of its shapes."""
    data = _mapping(errors).get("data") if not isinstance(errors, list) else errors
    return tuple(
        Fault(
            message=str(each.get("message") or each.get("code") or "no reason given"),
            code=_text(each.get("code")),
            line=_whole(each.get("line")),
            param=_text(each.get("param")),
        )
        for each in map(_mapping, data if isinstance(data, list) else ())
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _moment(value: Any) -> float | None:
    if isinstance(value, str) and value:
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and value else None
