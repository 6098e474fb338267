"""The objects of the API as the OpenAPI document describes them; what dialects spell must fit (tests convert it)."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hornada.api.create import LEAST_LIFETIME_S, MOST_LIFETIME_S
from hornada.core.money import MOST_AMOUNT as MOST_CREDIT

Seconds = Annotated[int, Meta(description="Seconds since 1970.")]
Moment = Annotated[str, Meta(description="RFC 3339, to the microsecond.", extra_json_schema={"format": "date-time"})]
Words = Literal["validating", "in_progress", "finalizing", "completed", "failed", "cancelling", "cancelled", "expired"]
Key = Annotated[str, Meta(max_length=64)]
Text = Annotated[str, Meta(max_length=512)]


class Strict(Struct, kw_only=True, forbid_unknown_fields=True):
    """An object whose keys are all known."""


class ExpiresAfter(Struct, kw_only=True):
    """When result files go away, counted from their creation."""

    anchor: Literal["created_at"]
    seconds: Annotated[int, Meta(ge=LEAST_LIFETIME_S, le=MOST_LIFETIME_S)]


class CreateBatch(Struct, kw_only=True):
    """A batch to create. ``idempotency_key`` may also come as the header ``Idempotency-Key``."""

    input_file_id: str
    endpoint: str
    completion_window: Literal["24h"]
    metadata: Annotated[dict[Key, Text], Meta(max_length=16)] | None = None
    output_expires_after: ExpiresAfter | None = None
    idempotency_key: Annotated[str, Meta(max_length=255)] | None = None


class FileMetadata(Strict):
    """What an upload was found to hold."""

    total_requests: int


class FileObject(Strict, omit_defaults=True):
    """A stored file."""

    id: str
    object: Literal["file"]
    bytes: int
    created_at: Seconds
    expires_at: Seconds | None
    filename: str
    purpose: Literal["batch", "batch_output"]
    status: Literal["processed"]
    metadata: FileMetadata | None = None


class FileList(Strict):
    """A page of files."""

    object: Literal["list"]
    data: list[FileObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class NovitaFileList(Strict):
    """A page of files in Novita's dialect."""

    code: Literal["200"]
    message: str
    object: Literal["list"]
    data: list[FileObject]
    first_id: str
    last_id: str
    has_more: bool


class FileDeleted(Strict):
    """A file that is gone."""

    id: str
    object: Literal["file"]
    deleted: Literal[True]


class RequestCounts(Strict):
    """Lines of a batch; those that were cancelled or expired count as failed."""

    total: int
    completed: int
    failed: int


class InputDetails(Strict):
    """Part of the input tokens."""

    cached_tokens: int


class OutputDetails(Strict):
    """Part of the output tokens."""

    reasoning_tokens: int


class BatchUsage(Strict):
    """Tokens of all lines."""

    input_tokens: int
    input_tokens_details: InputDetails
    output_tokens: int
    output_tokens_details: OutputDetails
    total_tokens: int


class BatchError(Strict):
    """One cause; ``line`` counts the physical lines of the input file from 1."""

    code: str
    line: int | None
    message: str
    param: str | None


class BatchErrors(Strict):
    """Up to 100 causes."""

    object: Literal["list"]
    data: list[BatchError]


class BatchProgress(Strict):
    """How a batch gets on. ``waiting_for``: why it does not move, in words; null while its lines run."""

    waiting_for: str | None
    rate: Annotated[float, Meta(description="Lines a second, of late; null unless it runs.")] | None
    eta: Annotated[int, Meta(description="Seconds until its last line has run; null when unknown.")] | None
    cost: Annotated[int, Meta(description="Micro-units so far.")]
    estimated_cost: Annotated[int, Meta(description="Micro-units of all its lines; null before the first.")] | None
    errors_by_code: Annotated[
        dict[str, int],
        Meta(description="Failed lines by their error's code, or `http_503` and the like, the most frequent first."),
    ]
    retry_of: Annotated[str, Meta(description="The batch whose failed lines it runs again.")] | None


class BatchObject(Strict):
    """A batch."""

    id: str
    object: Literal["batch"]
    endpoint: str
    model: str | None
    errors: BatchErrors | None
    input_file_id: str
    completion_window: str
    status: Words
    output_file_id: str | None
    error_file_id: str | None
    created_at: Seconds
    in_progress_at: Seconds | None
    expires_at: Seconds
    finalizing_at: Seconds | None
    completed_at: Seconds | None
    failed_at: Seconds | None
    expired_at: Seconds | None
    cancelling_at: Seconds | None
    cancelled_at: Seconds | None
    request_counts: RequestCounts
    usage: BatchUsage | None
    metadata: dict[str, str] | None
    cost: Annotated[int, Meta(description="Micro-units, once it has ended; InferNode only.")] | UnsetType = UNSET
    paused: Annotated[bool, Meta(description="Only while it is paused; not in Novita's dialect.")] | UnsetType = UNSET
    hornada: BatchProgress | UnsetType = UNSET


class NovitaBatchObject(Strict):
    """A batch in Novita's dialect."""

    id: str
    object: Literal["batch"]
    endpoint: str
    input_file_id: str
    output_file_id: str
    error_file_id: str
    completion_window: str
    in_progress_at: Moment | None
    expires_at: Moment | None
    finalizing_at: Moment | None
    completed_at: Moment | None
    failed_at: Moment | None
    expired_at: Moment | None
    cancelling_at: Moment | None
    cancelled_at: Moment | None
    status: Words
    errors: BatchErrors | Literal[""]
    version: int
    created_at: Moment
    updated_at: Moment | None
    created_by: str
    created_by_key_id: str
    remark: str
    total: int
    completed: int
    failed: int
    metadata: dict[str, str] | None
    request_counts: RequestCounts


class BatchList(Strict):
    """A page of batches."""

    object: Literal["list"]
    data: list[BatchObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class NovitaBatchList(Strict):
    """A page of batches in Novita's dialect."""

    object: Literal["list"]
    data: list[NovitaBatchObject]
    first_id: str
    last_id: str
    has_more: bool


class ModelObject(Struct, kw_only=True):
    """A model of the catalog; Novita's dialect adds prices and endpoints."""

    id: str
    object: Literal["model"]
    created: Seconds
    owned_by: str


class ModelList(Strict):
    """Models that the key may use."""

    object: Literal["list"]
    data: list[ModelObject]


class AliasObject(Strict):
    """A name that stands for a model of the catalog."""

    id: str
    object: Literal["alias"]
    alias: str
    name: str
    model: str


class AliasList(Strict):
    """Aliases that the key may use."""

    object: Literal["list"]
    data: list[AliasObject]


class LastEventObject(Strict):
    """The latest movement; the endpoint of batch lines ends in ``:batch``."""

    endpoint: str
    model: str
    amount: int
    tokens: int
    created_at: Seconds


class BalanceObject(Strict):
    """What the organization has left, in millionths of the currency; null when its credit is unlimited."""

    object: Literal["balance"]
    balance: int | None
    currency: str
    last_event: LastEventObject | None


class UsageObject(Strict):
    """What was used of one kind; ``day``, ``model`` and ``endpoint`` are null where they are not apart."""

    object: Literal["billing.usage"]
    day: Annotated[str, Meta(extra_json_schema={"format": "date"})] | None
    model: str | None
    endpoint: str | None
    requests: int
    input_tokens: int
    input_tokens_details: InputDetails
    output_tokens: int
    output_tokens_details: OutputDetails
    total_tokens: int
    amount: Annotated[int, Meta(description="Micro-units.")]
    estimated: Annotated[bool, Meta(description="Some model server's count was missing or out of bounds.")]


class UsageList(Strict):
    """What was used from one day through another, in UTC. Lines are apart as ``<endpoint>:batch``."""

    object: Literal["list"]
    data: list[UsageObject]
    currency: str
    amount: int


class DifferenceObject(Strict):
    """Two figures that should be one, of the batch or organization ``of``."""

    what: str
    of: str
    ledger: int
    found: int


class DifferenceList(Strict):
    """Everything in which the ledger disagrees with results and balances."""

    object: Literal["list"]
    data: list[DifferenceObject]


class CreditForm(Struct, kw_only=True):
    """Credit to give, in micro-units. The first credit ends that an organization is unlimited."""

    amount: Annotated[int, Meta(ge=0, le=MOST_CREDIT)]
    note: Annotated[str, Meta(max_length=512)] | None = None


class Health(Strict):
    """The process answers."""

    status: Literal["ok"]


class About(Strict):
    """What answers here, and where its documents are."""

    name: str
    version: str
    docs: str
    openapi: str


class ReadinessObject(Strict):
    """Whether calls can be served, and if not, why; ``notes`` tell what is amiss elsewhere, such as a model server."""

    status: Literal["ready", "unready"]
    reasons: list[str]
    notes: list[str]


class Error(Strict):
    """What was wrong."""

    message: str
    type: str
    param: str | None
    code: str
    request_id: str


class ErrorEnvelope(Strict):
    """The answer to every call that is refused or fails."""

    error: Error


FORM: dict[str, Any] = {
    "type": "object",
    "required": ["file", "purpose"],
    "properties": {
        "file": {"type": "string", "contentMediaType": "application/octet-stream"},
        "purpose": {"type": "string", "enum": ["batch"]},
        "expires_after[anchor]": {"type": "string", "enum": ["created_at"]},
        "expires_after[seconds]": {"type": "integer", "minimum": LEAST_LIFETIME_S, "maximum": MOST_LIFETIME_S},
    },
}
"""The form of an upload; its parts may come in any order."""

REGULAR: dict[str, Any] = {
    "type": "object",
    "required": ["model"],
    "properties": {"model": {"type": "string"}, "stream": {"type": ["boolean", "null"]}},
    "additionalProperties": True,
}
"""The body of a regular call: only what every model server needs is looked at, all of it is passed on."""
