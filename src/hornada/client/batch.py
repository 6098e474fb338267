"""The batch as a client sees it, whichever server spelled it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hornada.client.faults import Garbled
from hornada.client.fields import mapping, moment, number, text, whole

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
    counts = mapping(found.get("request_counts")) or found
    usage, own = mapping(found.get("usage")), mapping(found.get("hornada"))
    status = status.lower()
    return Batch(
        id=name,
        status=_WORDS.get(status, status),
        endpoint=text(found.get("endpoint")) or "",
        model=text(found.get("model")),
        total=whole(counts.get("total")) or 0,
        completed=whole(counts.get("completed")) or 0,
        failed=whole(counts.get("failed")) or 0,
        input_file_id=text(found.get("input_file_id")),
        output_file_id=text(found.get("output_file_id")),
        error_file_id=text(found.get("error_file_id")),
        created_at=moment(found.get("created_at")),
        expires_at=moment(found.get("expires_at")),
        metadata={str(key): str(value) for key, value in mapping(found.get("metadata")).items()},
        faults=read_faults(found.get("errors")),
        input_tokens=whole(usage.get("input_tokens")),
        output_tokens=whole(usage.get("output_tokens")),
        cost=whole(found.get("cost")) if found.get("cost") is not None else whole(own.get("cost")),
        waiting_for=text(own.get("waiting_for")),
        rate=number(own.get("rate")),
        eta_s=number(own.get("eta")),
        kinds={str(code): n for code, n in mapping(own.get("errors_by_code")).items() if isinstance(n, int)},
        raw=found,
    )


def read_faults(errors: Any) -> tuple[Fault, ...]:
    """The causes that an ``errors`` object lists, in either of its shapes."""
    data = mapping(errors).get("data") if not isinstance(errors, list) else errors
    return tuple(
        Fault(
            message=str(each.get("message") or each.get("code") or "no reason given"),
            code=text(each.get("code")),
            line=whole(each.get("line")),
            param=text(each.get("param")),
        )
        for each in map(mapping, data if isinstance(data, list) else ())
    )
