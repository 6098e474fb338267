"""What tests of Novita's guide share: its lines, the keys of its batch and the base paths."""

import pytest

from tests.seed.guide import Json, jsonl, mark

DAY_S = 86_400
MIB = 1 << 20
STAMPS = (
    *("in_progress_at", "expires_at", "finalizing_at", "completed_at", "failed_at"),
    *("expired_at", "cancelling_at", "cancelled_at", "updated_at"),
)
KEYS = [
    *("id", "object", "endpoint", "input_file_id", "output_file_id", "error_file_id", "completion_window"),
    *("in_progress_at", "expires_at", "finalizing_at", "completed_at", "failed_at", "expired_at"),
    *("cancelling_at", "cancelled_at", "status", "errors", "version", "created_at", "updated_at"),
    *("created_by", "created_by_key_id", "remark", "total", "completed", "failed", "metadata", "request_counts"),
]
"""Of a batch, in the order of the guide's example."""
WORDS = {"VALIDATING", "IN_PROGRESS", "COMPLETED", "FAILED", "EXPIRED", "CANCELLING", "CANCELLED"}
BOTH = pytest.mark.parametrize("base", ["/openai/v1", "/v1"])
OWN = pytest.mark.parametrize("base", ["/openai/v1"])


def ask(custom_id: str, text: str = "", **body: object) -> Json:
    """A line as the guide writes it: neither method nor url."""
    content = {"model": "m-chat", "messages": [{"role": "user", "content": text or mark()}], "max_tokens": 400, **body}
    return {"custom_id": custom_id, "body": content}


def two() -> bytes:
    return jsonl(ask("request-1"), ask("request-2"))


def counts(batch: Json) -> Json:
    return {name: batch[name] for name in ("total", "completed", "failed")}
