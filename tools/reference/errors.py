"""The page of error codes."""

from hornada.core.errors import Code
from hornada.dialects import DIALECTS
from tools.reference.markdown import code, head, table

INTRODUCTION = """
Where a code appears: in `errors.data` of a batch whose file has faults, in the error file for a line, or in the
envelope `{"error": {"message", "type", "param", "code", "request_id"}}` of a refused call. The message says what was
wrong, the limit and the actual value. A cell holds the HTTP status, and the dialect's own spelling where it differs.
""".strip()

ABOUT: dict[Code, str] = {
    Code.INVALID_JSON_LINE: "A line is not JSON, not UTF-8, no object, too deep or too long",
    Code.MISSING_REQUIRED_PARAMETER: "Something that must be given is not there; `param` names it",
    Code.INVALID_REQUEST: "A line's `custom_id`, `method` or `body` is of the wrong kind",
    Code.DUPLICATE_CUSTOM_ID: "Two lines share a `custom_id`",
    Code.URL_MISMATCH: "A line's `url` is not the batch's endpoint",
    Code.MODEL_MISMATCH: "A line names another model than the first one",
    Code.STREAM_NOT_SUPPORTED: "A line asks for streaming",
    Code.MODEL_NOT_FOUND: "The model does not exist, or not for this key",
    Code.MODEL_NOT_BATCHABLE: "The model has no capacity for batches, or does not offer the endpoint",
    Code.TOO_MANY_TASKS: "Too many lines, or embedding inputs, in one file",
    Code.ENQUEUED_REQUEST_LIMIT_EXCEEDED: "More lines than the plan lets the organization have queued",
    Code.EMPTY_FILE: "The file holds no request",
    Code.INVALID_FILE_FORMAT: "The upload is compressed, or UTF-16 text; a batch's input is JSONL in UTF-8",
    Code.INTERNAL_ERROR: "The server failed; its log has the cause under the request id",
    Code.CANCELLED_BY_ORG_ADMIN: "An administrator of the organization cancelled the batch",
    Code.CANCELLED_BY_PLATFORM_ADMIN: "The operator of the platform cancelled the batch",
    Code.BATCH_CANCELLED: "The line did not run because its batch was cancelled",
    Code.BATCH_EXPIRED: "The line did not run before its batch expired",
    Code.AUTHORIZATION_REVOKED: "The line did not run because the key, member or organization lost its rights",
    Code.INSUFFICIENT_CREDITS: "The balance is used up",
    Code.INVALID_API_KEY: "No key, or one that is unknown, revoked or expired",
    Code.PERMISSION_DENIED: "The caller's role may not do this",
    Code.NOT_FOUND: "No such path",
    Code.METHOD_NOT_ALLOWED: "The path does not take this method; `allow` names those it does",
    Code.UPLOAD_NOT_FOUND: "No such upload, or not the caller's",
    Code.UPLOAD_NOT_PENDING: "The upload was completed, cancelled or has run out; begin another one",
    Code.FILE_NOT_FOUND: "No such file, or not the caller's, or expired",
    Code.BATCH_NOT_FOUND: "No such batch, or not the caller's",
    Code.ORGANIZATION_NOT_FOUND: "No such organization, or not the caller's",
    Code.MEMBER_NOT_FOUND: "No such member, or not of the caller's organization, or removed",
    Code.KEY_NOT_FOUND: "No such key, or not of the caller's organization",
    Code.PLAN_NOT_FOUND: "No such plan",
    Code.WEBHOOK_ENDPOINT_NOT_FOUND: "No such webhook endpoint, or not of the caller's organization",
    Code.WEBHOOK_DELIVERY_NOT_FOUND: "No such delivery to this webhook endpoint",
    Code.WEBHOOK_ENDPOINT_DISABLED: "The webhook endpoint is disabled; enable it first",
    Code.WEBHOOK_UNREACHABLE: "A webhook endpoint that was to be tried out did not answer; the message says why",
    Code.TOO_MANY_WEBHOOK_ENDPOINTS: "The organization has as many webhook endpoints as `webhooks.endpoints` allows",
    Code.NAME_TAKEN: "Another organization has this name",
    Code.PLAN_IN_USE: "An organization is on the plan, or the configuration has it",
    Code.ORGANIZATION_ERASED: "The organization is erased, or being erased",
    Code.FILE_TOO_LARGE: "The upload is larger than `limits.file_bytes`",
    Code.REQUEST_TOO_LARGE: "The body of a regular call is larger than `limits.request_bytes`",
    Code.INVALID_PURPOSE: "The purpose is not `batch`",
    Code.STORAGE_QUOTA_EXCEEDED: "The organization's storage is full; delete files",
    Code.FILE_IN_USE: "A live batch still needs the file",
    Code.INVALID_VALUE: "A field has a value that it cannot take",
    Code.INVALID_TYPE: "A field is of the wrong type",
    Code.INVALID_JSON: "The body is not JSON",
    Code.INVALID_MULTIPART: "The upload is not multipart/form-data, or is cut short",
    Code.INVALID_HTTP: "What was sent is no HTTP, or its head is too long; the connection is closed",
    Code.REQUEST_TIMEOUT: "The head or the body of a call came too slowly; the connection is closed",
    Code.UNSUPPORTED_ENCODING: "The body is compressed or encoded",
    Code.INTEGER_ABOVE_MAX_VALUE: "A number is too large",
    Code.INTEGER_BELOW_MIN_VALUE: "A number is too small",
    Code.STRING_ABOVE_MAX_LENGTH: "A text is too long",
    Code.PROPERTY_NAME_ABOVE_MAX_LENGTH: "A key of `metadata` is too long",
    Code.OBJECT_ABOVE_MAX_PROPERTIES: "`metadata` has too many keys",
    Code.IDEMPOTENCY_KEY_REUSED: "The same `Idempotency-Key` came with another body",
    Code.BATCH_NOT_CANCELLABLE: "The batch is finalizing or has ended",
    Code.BATCH_NOT_RETRYABLE: "The batch has not ended, no line of it failed (so), or its input or errors are gone",
    Code.BATCH_NOT_PAUSABLE: "No line of the batch will start any more: it is cancelling or finalizing, or has ended",
    Code.TOO_MANY_ACTIVE_BATCHES: "The plan's number of live batches is reached",
    Code.RATE_LIMIT_EXCEEDED: "Too many calls a minute; `retry-after` says when to call again",
    Code.MODEL_OVERLOADED: "The model server is busy",
    Code.UPSTREAM_ERROR: "The model server cannot be reached, or gave no usable answer",
    Code.UPSTREAM_TIMEOUT: "The model server took too long",
    Code.RANGE_NOT_SATISFIABLE: "The `Range` lies outside the file",
    Code.STORAGE_LOW: "The server's disk is almost full (`limits.min_free_bytes`); nothing was stored",
    Code.SERVICE_UNAVAILABLE: "Database or storage do not answer; nothing was changed",
}


def page() -> str:
    """Every code with its status in every dialect."""
    columns = ("Code", "What it means", *(name for name in DIALECTS))
    rows = [(code(each), ABOUT[each], *(_spelled(each, name) for name in DIALECTS)) for each in Code]
    return f"{head('Error codes', INTRODUCTION)}\n{table(columns, rows)}\n"


def _spelled(each: Code, name: str) -> str:
    dialect = DIALECTS[name]
    own = dialect.code(each)
    return str(dialect.status(each)) if own == each else f"{dialect.status(each)} {code(own)}"
