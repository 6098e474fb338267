"""What can go wrong, drawn as a tree.

HornadaError
├── Refusal            the caller's fault: a code, a message, perhaps a param
├── Unavailable        ours, for now: the database or the blob store did not answer; the same step may be tried again
│   ├── Busy           too much is under way; try again soon
│   └── Taken          another process works on what only one may work on
└── Broken             ours, for good: something stored is missing or does not match its checksum
"""

from enum import StrEnum


class HornadaError(Exception):
    """Root of every error that Hornada raises on purpose."""


class Code(StrEnum):
    """Every error code, in InferNode's spelling; a dialect may spell it otherwise."""

    # findings about an input file
    INVALID_JSON_LINE = "invalid_json_line"
    MISSING_REQUIRED_PARAMETER = "missing_required_parameter"
    INVALID_REQUEST = "invalid_request"
    DUPLICATE_CUSTOM_ID = "duplicate_custom_id"
    URL_MISMATCH = "url_mismatch"
    MODEL_MISMATCH = "model_mismatch"
    STREAM_NOT_SUPPORTED = "stream_not_supported"
    MODEL_NOT_FOUND = "model_not_found"
    MODEL_NOT_BATCHABLE = "model_not_batchable"
    TOO_MANY_TASKS = "too_many_tasks"
    ENQUEUED_REQUEST_LIMIT_EXCEEDED = "enqueued_request_limit_exceeded"
    EMPTY_FILE = "empty_file"
    INVALID_FILE_FORMAT = "invalid_file_format"
    INTERNAL_ERROR = "internal_error"
    # entries about who cancelled a batch
    CANCELLED_BY_ORG_ADMIN = "cancelled_by_org_admin"
    CANCELLED_BY_PLATFORM_ADMIN = "cancelled_by_platform_admin"
    # lines stopped by their batch
    BATCH_CANCELLED = "batch_cancelled"
    BATCH_EXPIRED = "batch_expired"
    AUTHORIZATION_REVOKED = "authorization_revoked"
    INSUFFICIENT_CREDITS = "insufficient_credits"
    # refusals of a call
    INVALID_API_KEY = "invalid_api_key"
    PERMISSION_DENIED = "permission_denied"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    FILE_NOT_FOUND = "file_not_found"
    BATCH_NOT_FOUND = "batch_not_found"
    UPLOAD_NOT_FOUND = "upload_not_found"
    ORGANIZATION_NOT_FOUND = "organization_not_found"
    MEMBER_NOT_FOUND = "member_not_found"
    KEY_NOT_FOUND = "key_not_found"
    PLAN_NOT_FOUND = "plan_not_found"
    WEBHOOK_ENDPOINT_NOT_FOUND = "webhook_endpoint_not_found"
    WEBHOOK_DELIVERY_NOT_FOUND = "webhook_delivery_not_found"
    WEBHOOK_ENDPOINT_DISABLED = "webhook_endpoint_disabled"
    WEBHOOK_UNREACHABLE = "webhook_unreachable"
    TOO_MANY_WEBHOOK_ENDPOINTS = "too_many_webhook_endpoints"
    NAME_TAKEN = "name_taken"
    PLAN_IN_USE = "plan_in_use"
    ORGANIZATION_ERASED = "organization_erased"
    FILE_TOO_LARGE = "file_too_large"
    REQUEST_TOO_LARGE = "request_too_large"
    INVALID_PURPOSE = "invalid_purpose"
    STORAGE_QUOTA_EXCEEDED = "storage_quota_exceeded"
    FILE_IN_USE = "file_in_use"
    INVALID_VALUE = "invalid_value"
    INVALID_TYPE = "invalid_type"
    INVALID_JSON = "invalid_json"
    INVALID_MULTIPART = "invalid_multipart"
    INVALID_HTTP = "invalid_http"
    REQUEST_TIMEOUT = "request_timeout"
    UNSUPPORTED_ENCODING = "unsupported_encoding"
    INTEGER_ABOVE_MAX_VALUE = "integer_above_max_value"
    INTEGER_BELOW_MIN_VALUE = "integer_below_min_value"
    STRING_ABOVE_MAX_LENGTH = "string_above_max_length"
    PROPERTY_NAME_ABOVE_MAX_LENGTH = "property_name_above_max_length"
    OBJECT_ABOVE_MAX_PROPERTIES = "object_above_max_properties"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    UPLOAD_NOT_PENDING = "upload_not_pending"
    BATCH_NOT_CANCELLABLE = "batch_not_cancellable"
    BATCH_NOT_PAUSABLE = "batch_not_pausable"
    BATCH_NOT_RETRYABLE = "batch_not_retryable"
    TOO_MANY_ACTIVE_BATCHES = "too_many_active_batches"
    RATE_LIMIT_EXCEEDED = "rate_limit_exceeded"
    MODEL_OVERLOADED = "model_overloaded"
    UPSTREAM_ERROR = "upstream_error"
    UPSTREAM_TIMEOUT = "upstream_timeout"
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable"
    STORAGE_LOW = "storage_low"
    SERVICE_UNAVAILABLE = "service_unavailable"


class Refusal(HornadaError):
    """The caller's fault. The message says what was wrong, the limit and the actual value.

    ``retry_after`` is in whole seconds; ``should_retry`` becomes ``x-should-retry`` (both official SDKs obey it).
    """

    def __init__(
        self,
        code: Code,
        message: str,
        param: str | None = None,
        *,
        retry_after: int | None = None,
        should_retry: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.retry_after = retry_after
        self.should_retry = should_retry


class Unavailable(HornadaError):
    """The database or the blob store did not answer; nothing was changed that a retry would change twice."""


class Busy(Unavailable):
    """Too much is under way at this moment."""


class Taken(Unavailable):
    """Another process works on what only one may work on."""


class Broken(HornadaError):
    """Something that was stored is missing or is not what it was."""
