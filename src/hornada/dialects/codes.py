"""The HTTP status of every code, and the envelope's type of every status."""

from collections.abc import Mapping

from hornada.core.errors import Code

STATUS: Mapping[Code, int] = {
    Code.INVALID_JSON_LINE: 400,
    Code.MISSING_REQUIRED_PARAMETER: 400,
    Code.INVALID_REQUEST: 400,
    Code.DUPLICATE_CUSTOM_ID: 400,
    Code.URL_MISMATCH: 400,
    Code.MODEL_MISMATCH: 400,
    Code.STREAM_NOT_SUPPORTED: 400,
    Code.MODEL_NOT_FOUND: 404,
    Code.MODEL_NOT_BATCHABLE: 400,
    Code.TOO_MANY_TASKS: 400,
    Code.ENQUEUED_REQUEST_LIMIT_EXCEEDED: 400,
    Code.EMPTY_FILE: 400,
    Code.INVALID_FILE_FORMAT: 400,
    Code.INTERNAL_ERROR: 500,
    Code.CANCELLED_BY_ORG_ADMIN: 400,
    Code.CANCELLED_BY_PLATFORM_ADMIN: 400,
    Code.BATCH_CANCELLED: 400,
    Code.BATCH_EXPIRED: 400,
    Code.AUTHORIZATION_REVOKED: 401,
    Code.INSUFFICIENT_CREDITS: 402,
    Code.INVALID_API_KEY: 401,
    Code.PERMISSION_DENIED: 403,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.FILE_NOT_FOUND: 404,
    Code.BATCH_NOT_FOUND: 404,
    Code.UPLOAD_NOT_FOUND: 404,
    Code.ORGANIZATION_NOT_FOUND: 404,
    Code.MEMBER_NOT_FOUND: 404,
    Code.KEY_NOT_FOUND: 404,
    Code.PLAN_NOT_FOUND: 404,
    Code.WEBHOOK_ENDPOINT_NOT_FOUND: 404,
    Code.WEBHOOK_DELIVERY_NOT_FOUND: 404,
    Code.WEBHOOK_ENDPOINT_DISABLED: 400,
    Code.WEBHOOK_UNREACHABLE: 400,
    Code.TOO_MANY_WEBHOOK_ENDPOINTS: 400,
    Code.NAME_TAKEN: 409,
    Code.PLAN_IN_USE: 409,
    Code.ORGANIZATION_ERASED: 409,
    Code.FILE_TOO_LARGE: 413,
    Code.REQUEST_TOO_LARGE: 413,
    Code.INVALID_PURPOSE: 400,
    Code.STORAGE_QUOTA_EXCEEDED: 400,
    Code.FILE_IN_USE: 400,
    Code.INVALID_VALUE: 400,
    Code.INVALID_TYPE: 400,
    Code.INVALID_JSON: 400,
    Code.INVALID_MULTIPART: 400,
    Code.INVALID_HTTP: 400,
    Code.REQUEST_TIMEOUT: 408,
    Code.UNSUPPORTED_ENCODING: 415,
    Code.INTEGER_ABOVE_MAX_VALUE: 400,
    Code.INTEGER_BELOW_MIN_VALUE: 400,
    Code.STRING_ABOVE_MAX_LENGTH: 400,
    Code.PROPERTY_NAME_ABOVE_MAX_LENGTH: 400,
    Code.OBJECT_ABOVE_MAX_PROPERTIES: 400,
    Code.IDEMPOTENCY_KEY_REUSED: 400,
    Code.UPLOAD_NOT_PENDING: 400,
    Code.BATCH_NOT_CANCELLABLE: 400,
    Code.BATCH_NOT_PAUSABLE: 400,
    Code.BATCH_NOT_RETRYABLE: 400,
    Code.TOO_MANY_ACTIVE_BATCHES: 429,
    Code.RATE_LIMIT_EXCEEDED: 429,
    Code.MODEL_OVERLOADED: 503,
    Code.UPSTREAM_ERROR: 502,
    Code.UPSTREAM_TIMEOUT: 504,
    Code.RANGE_NOT_SATISFIABLE: 416,
    Code.STORAGE_LOW: 503,
    Code.SERVICE_UNAVAILABLE: 503,
}
"""Contract 4. Codes that only ever name a finding or a stopped line have one too, should a call meet them."""

KINDS: Mapping[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
"""The types that InferNode's clients see; every other status has one of ``kind_of``."""


def kind_of(status: int, kinds: Mapping[int, str]) -> str:
    """The envelope's type: the dialect's own word, or OpenAI's for the caller's and for the server's faults."""
    return kinds.get(status) or ("invalid_request_error" if status < 500 else "server_error")


def envelope(message: str, kind: str, param: str | None, code: str, request_id: str) -> dict[str, object]:
    """The error envelope, all five keys always."""
    error = {"message": message, "type": kind, "param": param, "code": code, "request_id": request_id}
    return {"error": error}
