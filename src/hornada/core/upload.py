"""An upload in parts: what will be one file once its parts are named in their order."""

from enum import StrEnum

from msgspec import Struct


class UploadStatus(StrEnum):
    """Where an upload stands; OpenAI's words."""

    PENDING = "pending"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Upload(Struct, frozen=True, kw_only=True):
    """One row of ``upload``. Times in microseconds since 1970; ``bytes`` as declared; ``file`` once it is completed.

    ``lifetime_s``: how long the file is to live, None for as long as the dialect or the installation says.
    """

    id: str
    org: str
    member: str
    key: str
    name: str
    bytes: int
    lifetime_s: int | None
    status: UploadStatus
    file: str | None
    created_at: int
    expires_at: int


class Part(Struct, frozen=True, kw_only=True):
    """One row of ``upload_part``: bytes that are durable, of which an upload may or may not be made."""

    id: str
    upload: str
    org: str
    bytes: int
    object: str
    created_at: int
