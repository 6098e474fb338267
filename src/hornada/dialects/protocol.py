"""What every dialect can spell."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from hornada.core.batch import Batch, Status
from hornada.core.catalog import Model
from hornada.core.errors import Code, Refusal
from hornada.core.file import File
from hornada.core.limits import DialectRules
from hornada.core.line import LineWriter
from hornada.core.page import Page
from hornada.core.progress import Progress
from hornada.core.upload import Part, Upload

Json = dict[str, Any]
"""A JSON object, ready to be encoded."""


class Refused(Struct, frozen=True):
    """A refusal as it goes out: HTTP status, envelope, and headers beside the ordinary ones (lower-case names)."""

    status: int
    body: Json
    headers: Mapping[str, str]


class Dialect(Protocol):
    """One spelling of the Files and Batch API. Holds no state; every method is pure."""

    @property
    def name(self) -> str:
        """The word of the configuration and of the batch row."""
        ...

    @property
    def rules(self) -> DialectRules:
        """The few rule values in which this dialect differs."""
        ...

    @property
    def lines(self) -> LineWriter:
        """Spells the lines of result files."""
        ...

    @property
    def sha_headers(self) -> tuple[str, ...]:
        """Headers of a download that carry the SHA-256 of the whole file."""
        ...

    @property
    def dedup_headers(self) -> tuple[str, ...]:
        """Headers that name the earlier object which answers an upload or a create."""
        ...

    @property
    def cancel_cancelled_ok(self) -> bool:
        """Whether cancelling a cancelled batch again is 200 (OpenAI) rather than a refusal (InferNode)."""
        ...

    @property
    def deployments(self) -> bool:
        """Whether regular calls may come under ``/deployments/{model}`` (Azure); their body names the model too."""
        ...

    def file_id(self, bare: str) -> str:
        """A stored file id with this dialect's prefix."""
        ...

    def batch_id(self, bare: str) -> str:
        """A stored batch id with this dialect's prefix."""
        ...

    def file(self, file: File) -> Json:
        """A File object."""
        ...

    def files(self, page: Page[File]) -> Json:
        """A page of files."""
        ...

    def deleted(self, file: File) -> Json:
        """What a deletion answers."""
        ...

    def upload(self, upload: Upload, file: File | None) -> Json:
        """An Upload object, with its file once it is completed."""
        ...

    def part(self, part: Part) -> Json:
        """A part of an upload."""
        ...

    def word(self, status: Status) -> str:
        """What a batch in this status shows as its status."""
        ...

    def batch(self, batch: Batch) -> Json:
        """A Batch object."""
        ...

    def progress(self, batch: Batch, progress: Progress) -> Json:
        """How a batch gets on, the same object in every dialect but for the ids."""
        ...

    def outlook(self, batch: Batch, progress: Progress) -> Json:
        """Keys beside those of a batch that tell its progress; none where there is no place for them."""
        ...

    def batches(self, page: Page[Batch]) -> Json:
        """A page of batches."""
        ...

    def model(self, model: Model) -> Json:
        """A Model object."""
        ...

    def models(self, models: Sequence[Model]) -> Json:
        """The list of models."""
        ...

    def aliases(self, aliases: Mapping[str, str]) -> Json:
        """The list of aliases, from alias to catalog name."""
        ...

    def code(self, code: Code) -> str:
        """A code in this dialect's spelling."""
        ...

    def status(self, code: Code) -> int:
        """The HTTP status of a call that is refused with ``code``."""
        ...

    def kind(self, status: int) -> str:
        """The envelope's ``type`` for an HTTP status."""
        ...

    def error(self, refusal: Refusal, request_id: str) -> Refused:
        """The answer to a refused call."""
        ...
