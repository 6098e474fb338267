"""The routes of uploads in parts, for the one table."""

from hornada.api.parted import UploadCalls
from hornada.api.parted_schemas import PART_FORM, CompleteUpload, CreateUpload, PartObject, UploadObject
from hornada.api.router import Answer, Body, Route
from hornada.core.errors import Code

_FIELDS = (
    Code.MISSING_REQUIRED_PARAMETER,
    Code.INVALID_TYPE,
    Code.INVALID_VALUE,
    Code.INVALID_JSON,
    Code.UNSUPPORTED_ENCODING,
    Code.REQUEST_TOO_LARGE,
)
_ONE = (Code.UPLOAD_NOT_FOUND, Code.UPLOAD_NOT_PENDING, Code.PERMISSION_DENIED)


def routes(calls: UploadCalls) -> tuple[Route, ...]:
    """Everything under ``/uploads``."""
    upload = Answer(schemas=(UploadObject,))
    return (
        Route(
            method="POST",
            path="/uploads",
            name="createUpload",
            summary="Begin an upload in parts",
            handler=calls.create,
            answer=upload,
            codes=(
                *_FIELDS,
                Code.INTEGER_ABOVE_MAX_VALUE,
                Code.INTEGER_BELOW_MIN_VALUE,
                Code.INVALID_PURPOSE,
                Code.FILE_TOO_LARGE,
                Code.PERMISSION_DENIED,
            ),
            members_only=True,
            body=Body(schema=CreateUpload),
        ),
        Route(
            method="POST",
            path="/uploads/{id}/parts",
            name="addUploadPart",
            summary="Send a part, in any order and several at once",
            handler=calls.add,
            answer=Answer(schemas=(PartObject,)),
            codes=(
                *_ONE,
                Code.MISSING_REQUIRED_PARAMETER,
                Code.INVALID_MULTIPART,
                Code.INVALID_REQUEST,
                Code.UNSUPPORTED_ENCODING,
                Code.EMPTY_FILE,
                Code.FILE_TOO_LARGE,
                Code.STORAGE_QUOTA_EXCEEDED,
                Code.STORAGE_LOW,
            ),
            members_only=True,
            body=Body(media="multipart/form-data", schema=PART_FORM),
        ),
        Route(
            method="POST",
            path="/uploads/{id}/complete",
            name="completeUpload",
            summary="Make a file of the parts",
            handler=calls.complete,
            answer=upload,
            codes=(
                *_ONE,
                *_FIELDS,
                Code.STRING_ABOVE_MAX_LENGTH,
                Code.INVALID_FILE_FORMAT,
                Code.FILE_TOO_LARGE,
                Code.STORAGE_QUOTA_EXCEEDED,
                Code.STORAGE_LOW,
                Code.IDEMPOTENCY_KEY_REUSED,
            ),
            members_only=True,
            body=Body(schema=CompleteUpload),
        ),
        Route(
            method="POST",
            path="/uploads/{id}/cancel",
            name="cancelUpload",
            summary="Give an upload up",
            handler=calls.cancel,
            answer=upload,
            codes=_ONE,
            members_only=True,
        ),
    )
