"""OpenAI's shapes, which every dialect shares except where it says otherwise."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hornada.core.batch import TERMINAL, Batch, Finding, RequestCounts, Status, Usage
from hornada.core.catalog import Model
from hornada.core.clock import SECOND
from hornada.core.errors import Code, Refusal
from hornada.core.file import File, Purpose
from hornada.core.limits import DialectRules
from hornada.core.line import LineWriter
from hornada.core.page import Page
from hornada.core.progress import Progress
from hornada.core.upload import Part, Upload
from hornada.dialects.codes import KINDS, STATUS, envelope, kind_of
from hornada.dialects.lines import Lines
from hornada.dialects.protocol import Json, Refused


class Spelling:
    """OpenAI's spelling of everything; a dialect overrides what it spells otherwise."""

    name: str
    rules: DialectRules
    lines: LineWriter = Lines()
    sha_headers: tuple[str, ...] = ("X-Content-SHA256",)
    dedup_headers: tuple[str, ...] = ("X-Deduplicated-From",)
    cancel_cancelled_ok = False
    deployments = False
    file_prefix = "file-"
    counts_requests = True
    codes: ClassVar[Mapping[Code, str]] = {}
    statuses: ClassVar[Mapping[Code, int]] = {}
    kinds: ClassVar[Mapping[int, str]] = KINDS

    def file_id(self, bare: str) -> str:
        """A stored file id with this dialect's prefix."""
        return self.file_prefix + bare

    def batch_id(self, bare: str) -> str:
        """A stored batch id with this dialect's prefix."""
        return "batch_" + bare

    def file(self, file: File) -> Json:
        """OpenAI's File object, always ``processed`` (``wait_for_processing`` polls for that word)."""
        spelled: Json = {
            "id": self.file_id(file.id),
            "object": "file",
            "bytes": file.bytes,
            "created_at": file.created_at // SECOND,
            "expires_at": seconds(file.expires_at),
            "filename": file.name,
            "purpose": file.purpose.value,
            "status": "processed",
        }
        if self.counts_requests and file.purpose is Purpose.BATCH:
            spelled["metadata"] = {"total_requests": file.requests}
        return spelled

    def files(self, page: Page[File]) -> Json:
        """A page of files."""
        return listing([self.file(file) for file in page.items], more=page.more)

    def deleted(self, file: File) -> Json:
        """What a deletion answers: never 204, the SDKs read ``deleted``."""
        return {"id": self.file_id(file.id), "object": "file", "deleted": True}

    def upload(self, upload: Upload, file: File | None) -> Json:
        """OpenAI's Upload object."""
        return {
            "id": "upload_" + upload.id,
            "object": "upload",
            "bytes": upload.bytes,
            "created_at": upload.created_at // SECOND,
            "expires_at": upload.expires_at // SECOND,
            "filename": upload.name,
            "purpose": Purpose.BATCH.value,
            "status": upload.status.value,
            "file": self.file(file) if file else None,
        }

    def part(self, part: Part) -> Json:
        """OpenAI's part of an upload."""
        return {
            "id": "part_" + part.id,
            "object": "upload.part",
            "created_at": part.created_at // SECOND,
            "upload_id": "upload_" + part.upload,
        }

    def word(self, status: Status) -> str:
        """What a batch in this status shows as its status."""
        return status.value

    def batch(self, batch: Batch) -> Json:
        """OpenAI's Batch object: null for what is unset, integer seconds, all five keys of ``usage`` or null.

        With a key of our own only while it is paused.
        """
        counts = shown_counts(batch)
        own: Json = {"paused": True} if batch.paused and batch.status not in TERMINAL else {}
        return {
            "id": self.batch_id(batch.id),
            "object": "batch",
            "endpoint": batch.endpoint,
            "model": batch.model,
            "errors": self.errors(batch.errors),
            "input_file_id": self.file_id(batch.input_file),
            "completion_window": batch.completion_window,
            "status": self.word(batch.status),
            "output_file_id": batch.output_file and self.file_id(batch.output_file),
            "error_file_id": batch.error_file and self.file_id(batch.error_file),
            "created_at": batch.created_at // SECOND,
            "in_progress_at": seconds(batch.in_progress_at),
            "expires_at": batch.expires_at // SECOND,
            "finalizing_at": seconds(batch.finalizing_at),
            "completed_at": seconds(batch.completed_at),
            "failed_at": seconds(batch.failed_at),
            "expired_at": seconds(batch.expired_at),
            "cancelling_at": seconds(batch.cancelling_at),
            "cancelled_at": seconds(batch.cancelled_at),
            "request_counts": {"total": counts.total, "completed": counts.completed, "failed": counts.failed},
            "usage": usage(batch.usage),
            "metadata": batch.metadata,
            **own,
        }

    def progress(self, batch: Batch, progress: Progress) -> Json:
        """How a batch gets on; amounts in micro-units, ``eta`` in seconds."""
        return {
            "waiting_for": progress.waiting_for,
            "rate": progress.rate,
            "eta": progress.eta,
            "cost": progress.cost,
            "estimated_cost": progress.estimated_cost,
            "errors_by_code": dict(progress.failures),
            "retry_of": batch.retry_of and self.batch_id(batch.retry_of),
        }

    def outlook(self, batch: Batch, progress: Progress) -> Json:  # noqa: ARG002 - for dialects that have a place for it
        """No more keys than OpenAI's."""
        return {}

    def batches(self, page: Page[Batch]) -> Json:
        """A page of batches."""
        return listing([self.batch(batch) for batch in page.items], more=page.more)

    def errors(self, findings: Sequence[Finding]) -> Json | None:
        """The batch's ``errors``: null without findings."""
        if not findings:
            return None
        data = [
            {"code": self.code(found.code), "line": found.line, "message": found.message, "param": found.param}
            for found in findings
        ]
        return {"object": "list", "data": data}

    def model(self, model: Model) -> Json:
        """OpenAI's Model object."""
        return {"id": model.name, "object": "model", "created": model.created_at // SECOND, "owned_by": "hornada"}

    def models(self, models: Sequence[Model]) -> Json:
        """The list of models; OpenAI does not page it."""
        return {"object": "list", "data": [self.model(model) for model in models]}

    def aliases(self, aliases: Mapping[str, str]) -> Json:
        """The list of aliases; no guide shows its shape, so both names of each field are there."""
        data = [
            {"id": alias, "object": "alias", "alias": alias, "name": name, "model": name}
            for alias, name in aliases.items()
        ]
        return {"object": "list", "data": data}

    def code(self, code: Code) -> str:
        """A code in this dialect's spelling."""
        return self.codes.get(code, code.value)

    def status(self, code: Code) -> int:
        """The HTTP status of a call that is refused with ``code``."""
        return self.statuses.get(code) or STATUS[code]

    def kind(self, status: int) -> str:
        """The envelope's ``type`` for an HTTP status."""
        return kind_of(status, self.kinds)

    def error(self, refusal: Refusal, request_id: str) -> Refused:
        """The answer to a refused call. Both official SDKs send a 409 again unless told otherwise, so it says no."""
        status = self.status(refusal.code)
        body = envelope(refusal.message, self.kind(status), refusal.param, self.code(refusal.code), request_id)
        headers: dict[str, str] = {}
        if refusal.retry_after is not None:
            headers["retry-after"] = str(refusal.retry_after)
        if refusal.should_retry is not None:
            headers["x-should-retry"] = "true" if refusal.should_retry else "false"
        elif status == 409:
            headers["x-should-retry"] = "false"
        return Refused(status, body, headers)


def seconds(moment: int | None) -> int | None:
    """A stored time (microseconds since 1970) in OpenAI's whole seconds."""
    return None if moment is None else moment // SECOND


def shown_counts(batch: Batch) -> RequestCounts:
    """The counts that a batch shows: 0/0/0 for one whose file was refused."""
    return RequestCounts() if batch.status is Status.FAILED else batch.counts


def usage(tokens: Usage | None) -> Json | None:
    """All five keys, or null while there is nothing to tell."""
    if tokens is None:
        return None
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.input + tokens.output,
    }


def listing(data: list[Json], *, more: bool) -> Json:
    """OpenAI's list envelope; ``has_more`` is a boolean always, or openai-node stops after one page."""
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": more,
    }
