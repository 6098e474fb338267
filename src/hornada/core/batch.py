"""A batch's life: the one table that knows which status follows which."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec
from msgspec import Struct

from hornada.core.errors import Code
from hornada.core.page import Period


class Status(StrEnum):
    """Where a batch stands; OpenAI's words."""

    VALIDATING = "validating"
    IN_PROGRESS = "in_progress"
    FINALIZING = "finalizing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


TERMINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.EXPIRED})
LIVE = frozenset(Status) - TERMINAL


class Event(StrEnum):
    """What can happen to a batch."""

    ACCEPT = "accept"
    REJECT = "reject"
    CANCEL = "cancel"
    DRAIN = "drain"
    EXPIRE = "expire"
    ASSEMBLE = "assemble"


class StopReason(StrEnum):
    """Why the lines of a batch that have not started will not; each is also the code on those lines."""

    CANCELLED = Code.BATCH_CANCELLED
    EXPIRED = Code.BATCH_EXPIRED
    REVOKED = Code.AUTHORIZATION_REVOKED
    NO_CREDIT = Code.INSUFFICIENT_CREDITS
    MODEL_GONE = Code.MODEL_NOT_FOUND
    INTERNAL = Code.INTERNAL_ERROR


STOP_MESSAGES: dict[StopReason, str] = {
    StopReason.CANCELLED: "This request was not executed because the batch was cancelled.",
    StopReason.EXPIRED: "This request could not be executed before the completion window expired.",
    StopReason.REVOKED: "This request was not executed because its key, member or organization lost its rights.",
    StopReason.NO_CREDIT: "This request was not executed because the organization's balance is used up.",
    StopReason.MODEL_GONE: "This request was not executed because its model was retired.",
    StopReason.INTERNAL: "This request has no result because of an internal error.",
}

TRANSITIONS: dict[tuple[Status, Event], Status] = {
    (Status.VALIDATING, Event.ACCEPT): Status.IN_PROGRESS,
    (Status.VALIDATING, Event.REJECT): Status.FAILED,
    (Status.VALIDATING, Event.CANCEL): Status.CANCELLING,
    (Status.VALIDATING, Event.EXPIRE): Status.FINALIZING,
    (Status.IN_PROGRESS, Event.CANCEL): Status.CANCELLING,
    (Status.IN_PROGRESS, Event.DRAIN): Status.FINALIZING,
    (Status.IN_PROGRESS, Event.EXPIRE): Status.FINALIZING,
    (Status.CANCELLING, Event.CANCEL): Status.CANCELLING,
    (Status.CANCELLING, Event.ACCEPT): Status.CANCELLING,
    (Status.CANCELLING, Event.REJECT): Status.FAILED,
    (Status.CANCELLING, Event.ASSEMBLE): Status.CANCELLED,
    (Status.FINALIZING, Event.ACCEPT): Status.FINALIZING,
    (Status.FINALIZING, Event.REJECT): Status.FAILED,
    (Status.FINALIZING, Event.ASSEMBLE): Status.COMPLETED,
}
"""(status, event) -> next status; a pair that is missing cannot happen. See ``after`` for the one exception.

CANCELLING and FINALIZING take ACCEPT and REJECT because a file cancelled or expired before it was checked still
is: until then it has no chunks, and ``checked`` on the batch is false.
"""


def after(status: Status, event: Event, stop: StopReason | None = None) -> Status | None:
    """The status that follows, or None if the event cannot happen now.

    A batch that stopped because it expired is assembled into EXPIRED instead of COMPLETED.
    """
    found = TRANSITIONS.get((status, event))
    if found is Status.COMPLETED and stop is StopReason.EXPIRED:
        return Status.EXPIRED
    return found


STAMPS: dict[Status, str] = {
    Status.IN_PROGRESS: "in_progress_at",
    Status.FINALIZING: "finalizing_at",
    Status.COMPLETED: "completed_at",
    Status.FAILED: "failed_at",
    Status.CANCELLING: "cancelling_at",
    Status.CANCELLED: "cancelled_at",
    Status.EXPIRED: "expired_at",
}
"""The column that the arrival in a status stamps."""


class Finding(Struct, frozen=True, kw_only=True):
    """One cause on a batch: a fault of its file (``line`` from 1, physical) or who cancelled it (no line)."""

    code: Code
    message: str
    line: int | None = None
    param: str | None = None


class RequestCounts(Struct, frozen=True):
    """Lines of a batch: all, answered, failed (stopped ones included once it has ended)."""

    total: int = 0
    completed: int = 0
    failed: int = 0


class Usage(Struct, frozen=True, gc=False):
    """Tokens, summed over lines. ``cached`` is part of ``input``, ``reasoning`` part of ``output``."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )


class Counted(Struct, frozen=True, kw_only=True):
    """What was counted of a running batch: lines that ended, in micro-units what they cost, and failed ones by code.

    ``short`` and ``long``: the lines of the buckets that began within ``core.progress.SHORT_S`` and ``LONG_S``.
    ``held``: whether some process holds chunks of it.
    """

    short: int = 0
    long: int = 0
    cost: int = 0
    failures: Mapping[str, int] = msgspec.field(default_factory=dict)
    held: bool = False


class Batch(Struct, frozen=True, kw_only=True):
    """One row of ``batch`` with its counts. Times in microseconds since 1970."""

    id: str
    org: str
    member: str
    key: str
    dialect: str
    endpoint: str
    completion_window: str
    model: str | None
    names: tuple[str, ...] = ()
    input_file: str
    status: Status
    stop: StopReason | None
    checked: bool
    created_at: int
    expires_at: int
    updated_at: int
    in_progress_at: int | None = None
    finalizing_at: int | None = None
    completed_at: int | None = None
    failed_at: int | None = None
    cancelling_at: int | None = None
    cancelled_at: int | None = None
    expired_at: int | None = None
    output_file: str | None = None
    error_file: str | None = None
    output_lifetime_s: int | None = None
    metadata: dict[str, str] | None = None
    errors: tuple[Finding, ...] = ()
    counts: RequestCounts = RequestCounts()
    usage: Usage | None = None
    failures: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Its lines that failed, by code, once it has ended."""
    retry_of: str | None = None
    """The batch whose failed lines it runs again."""
    cost: int | None = None
    """Micro-units of all its lines, once it has ended with results."""
    paused: bool = False
    """No line of it starts until it is resumed; it still expires."""
    counted: Counted | None = None
    """How it gets on, where it was looked at for its owner; None elsewhere, and before and after its lines run."""


class BatchFilter(Struct, frozen=True, kw_only=True):
    """Which batches a list shows: all that pass every part. ``metadata``: pairs that they must have, beside others."""

    statuses: frozenset[Status] | None = None
    metadata: Mapping[str, str] = msgspec.field(default_factory=dict)
    created: Period = Period()
