"""What our own calls under ``/batches`` answer, for the OpenAPI document and for tests."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hornada.api.schemas import BatchErrors, BatchObject, BatchProgress, Strict


class LineResponse(Strict):
    """What a regular call would have got."""

    status_code: int
    request_id: str
    body: Any


class LineError(Strict):
    """Why a line did not run."""

    code: str
    message: str


class ResultLine(Strict):
    """One line of the answer: a line of a result file as it stands there, with keys of our own behind."""

    id: str
    custom_id: str
    response: LineResponse | None
    error: LineError | None
    line: Annotated[int, Meta(ge=1, description="Which line of the input; blank ones do not count.")] | UnsetType = (
        UNSET
    )
    status: Literal["succeeded", "failed"] | UnsetType = UNSET
    input: Annotated[dict[str, Any], Meta(description="The request's body.")] | UnsetType | None = UNSET


class BatchEvent(Strict):
    """The data of one event: ``batch.progress`` while the batch lives, at last ``batch.completed`` or the like.

    ``batch`` is spelled by the dialect (Novita's is another object), ``progress`` is the same in each.
    """

    type: Literal["batch.progress", "batch.completed", "batch.failed", "batch.expired", "batch.cancelled"]
    batch: BatchObject
    progress: BatchProgress


class RetryBatch(Struct, kw_only=True):
    """Which lines to run again; all that have no answer, if nothing is said.

    ``only``: those with one of these codes, as ``errors_by_code`` counts them, or HTTP statuses. ``custom_ids``: just
    these lines, also those that have an answer if ``answered``.
    """

    only: Annotated[list[str | int], Meta(min_length=1, max_length=100)] | None = None
    custom_ids: Annotated[list[str], Meta(min_length=1, max_length=50_000)] | None = None
    answered: bool = False
    idempotency_key: Annotated[str, Meta(max_length=255)] | None = None


class ValidateBatch(Struct, kw_only=True):
    """An uploaded file to check. A form with ``file`` and ``endpoint`` is taken too, and JSONL with it in the query."""

    input_file_id: str
    endpoint: str


class ValidationEstimate(Strict):
    """What the good lines would use; amounts in micro-units, null where a limit or the model is not known."""

    input_tokens: Annotated[int, Meta(description="About: four bytes of text each.")]
    output_tokens_limit: Annotated[int, Meta(description="The most that the lines ask for.")] | None
    lines_without_limit: int
    input_cost: int | None
    cost_limit: int | None
    currency: str


class Validation(Strict):
    """What a check found: the first 100 errors as they would stand on the batch, and how many there are."""

    object: Literal["batch.validation"]
    valid: bool
    endpoint: str
    model: str | None
    bytes: int
    lines: int
    embedding_inputs: int
    error_count: int
    errors: BatchErrors | None
    estimate: ValidationEstimate
