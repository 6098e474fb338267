"""OpenAI's dialect: its exact codes and statuses, and no deduplication but on retries."""

from typing import ClassVar

from hornada.core.errors import Code
from hornada.core.limits import DialectRules
from hornada.dialects.lines import Lines
from hornada.dialects.spelling import Spelling

KINDS = {429: "rate_limit_exceeded"}


class OpenAI(Spelling):
    """For programs that match OpenAI's own codes; mounted only where the configuration says so."""

    name = "openai"
    rules = DialectRules(name="openai", deduplicate=False)
    lines = Lines(KINDS)
    cancel_cancelled_ok = True
    counts_requests = False
    codes: ClassVar = {
        Code.URL_MISMATCH: "invalid_url",
        Code.MODEL_MISMATCH: "mismatched_model",
        Code.STREAM_NOT_SUPPORTED: "streaming_unsupported",
    }
    statuses: ClassVar = {Code.BATCH_NOT_CANCELLABLE: 409, Code.BATCH_NOT_PAUSABLE: 409}
    kinds = KINDS
