"""Novita's dialect: RFC 3339 batch times, blanks instead of nulls, flat counts and its own list of files."""

import uuid
from datetime import UTC, datetime, timedelta

from hornada.core.batch import Batch, Status
from hornada.core.catalog import Model
from hornada.core.clock import SECOND
from hornada.core.file import File
from hornada.core.limits import DialectRules
from hornada.core.page import Page
from hornada.dialects.lines import EchoingLines
from hornada.dialects.protocol import Json
from hornada.dialects.spelling import Spelling, listing, shown_counts

INPUT_LIFETIME_S = 15 * 86_400

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MEMBERS = uuid.uuid5(uuid.NAMESPACE_URL, "hornada:member")
_PRICE_UNIT = 100
"""Novita prices in 1/10,000 of a unit, Hornada in millionths."""


class Novita(Spelling):
    """Novita's; its status words are OpenAI's in lower case, without ``finalizing``."""

    name = "novita"
    rules = DialectRules(
        name="novita",
        deduplicate=False,
        endpoints=frozenset({"/v1/chat/completions", "/v1/completions"}),
        input_lifetime_s=INPUT_LIFETIME_S,
    )
    lines = EchoingLines(prefix=b"batch_req_task_")
    file_prefix = "file_"

    def files(self, page: Page[File]) -> Json:
        """Novita's list with what an SDK needs to page through it (it would loop for ever without)."""
        return {"code": "200", "message": "success", **_blanked(super().files(page))}

    def batches(self, page: Page[Batch]) -> Json:
        """A page of batches."""
        return _blanked(listing([self.batch(batch) for batch in page.items], more=page.more))

    def word(self, status: Status) -> str:
        """OpenAI's word; the guide's table has no ``finalizing``, which shows as ``in_progress``."""
        return super().word(Status.IN_PROGRESS if status is Status.FINALIZING else status)

    def batch(self, batch: Batch) -> Json:
        """The 28 keys of Novita's example; ``expires_at`` and ``updated_at`` come once the file has been accepted."""
        counts = shown_counts(batch)
        numbers = {"total": counts.total, "completed": counts.completed, "failed": counts.failed}
        fresh = batch.status is Status.VALIDATING
        return {
            "id": self.batch_id(batch.id),
            "object": "batch",
            "endpoint": batch.endpoint,
            "input_file_id": self.file_id(batch.input_file),
            "output_file_id": self.file_id(batch.output_file) if batch.output_file else "",
            "error_file_id": self.file_id(batch.error_file) if batch.error_file else "",
            "completion_window": batch.completion_window,
            "in_progress_at": rfc3339(batch.in_progress_at),
            "expires_at": None if fresh else rfc3339(batch.expires_at),
            "finalizing_at": rfc3339(batch.finalizing_at),
            "completed_at": rfc3339(batch.completed_at),
            "failed_at": rfc3339(batch.failed_at),
            "expired_at": rfc3339(batch.expired_at),
            "cancelling_at": rfc3339(batch.cancelling_at),
            "cancelled_at": rfc3339(batch.cancelled_at),
            "status": self.word(batch.status),
            "errors": self.errors(batch.errors) or "",
            "version": 0,
            "created_at": rfc3339(batch.created_at),
            "updated_at": None if fresh else rfc3339(batch.updated_at),
            "created_by": str(uuid.uuid5(_MEMBERS, batch.member)),
            "created_by_key_id": "key_" + batch.key,
            "remark": "",
            **numbers,
            "metadata": batch.metadata,
            "request_counts": numbers,
        }

    def model(self, model: Model) -> Json:
        """A Model object with Novita's prices; ``endpoints`` names ``batch-api`` when lines may run on it.

        The catalog does not know how long a model's context is: ``context_size`` is 0.
        """
        return {
            **super().model(model),
            "title": model.name,
            "description": "",
            "context_size": 0,
            "input_token_price_per_m": model.price.input // _PRICE_UNIT,
            "output_token_price_per_m": model.price.output // _PRICE_UNIT,
            "endpoints": _endpoints(model),
        }


def rfc3339(moment: int | None) -> str | None:
    """A stored time (microseconds since 1970) such as ``2025-08-11T08:31:52.949816+00:00``.

    Six digits always: that is what ``datetime.fromisoformat`` reads in every Python.
    """
    if moment is None:
        return None
    whole, micros = divmod(moment, SECOND)
    return (_EPOCH + timedelta(seconds=whole, microseconds=micros)).isoformat(timespec="microseconds")


def _endpoints(model: Model) -> list[str]:
    names = ["chat/completions", "completions", "embeddings", "rerank"]
    offered = [name for name in names if model.offers("/v1/" + name)]
    return [*offered, "batch-api"] if model.batch_slots else offered


def _blanked(page: Json) -> Json:
    return {**page, "first_id": page["first_id"] or "", "last_id": page["last_id"] or ""}
