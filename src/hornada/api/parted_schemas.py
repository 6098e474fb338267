"""The objects of uploads in parts as the OpenAPI document describes them."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from hornada.api.schemas import ExpiresAfter, FileObject, Seconds, Strict


class CreateUpload(Struct, kw_only=True):
    """An upload in parts to begin; ``bytes``: of the whole file."""

    bytes: Annotated[int, Meta(ge=1)]
    filename: str
    mime_type: str
    purpose: Literal["batch"]
    expires_after: ExpiresAfter | None = None


class CompleteUpload(Struct, kw_only=True):
    """The parts in the order of their bytes; ``md5`` of the whole file, in hex or base64."""

    part_ids: list[str]
    md5: str | None = None


class UploadObject(Strict):
    """An upload in parts; ``file`` once it is completed."""

    id: str
    object: Literal["upload"]
    bytes: int
    created_at: Seconds
    expires_at: Seconds
    filename: str
    purpose: Literal["batch"]
    status: Literal["pending", "completed", "cancelled", "expired"]
    file: FileObject | None


class PartObject(Strict):
    """A part of an upload."""

    id: str
    object: Literal["upload.part"]
    created_at: Seconds
    upload_id: str


PART_FORM: dict[str, Any] = {
    "type": "object",
    "required": ["data"],
    "properties": {"data": {"type": "string", "contentMediaType": "application/octet-stream"}},
}
"""The form of one part of an upload."""
