"""Routes of our own under ``/batches``: results beside their input, events, retries, checks."""

from hornada.api.batch_events import EventCalls
from hornada.api.own_schemas import BatchEvent, ResultLine, RetryBatch, ValidateBatch, Validation
from hornada.api.results import QUERY, ResultCalls
from hornada.api.retry import RetryCalls
from hornada.api.router import Answer, Body, Parameter, Route
from hornada.api.schemas import BatchObject, NovitaBatchObject
from hornada.api.services import Services
from hornada.api.validate import ValidateCalls
from hornada.core.errors import Code


def routes(services: Services) -> tuple[Route, ...]:
    """All of them."""
    return (
        *_checks(ValidateCalls(services)),
        *_results(ResultCalls(services)),
        *_events(EventCalls(services)),
        *_retries(RetryCalls(services)),
    )


def _results(calls: ResultCalls) -> tuple[Route, ...]:
    return (
        Route(
            method="GET",
            path="/batches/{id}/results",
            name="listResults",
            summary="Results in input order, joined with their input; while the batch runs, those that there are",
            handler=calls.results,
            answer=Answer(media="application/jsonl", schemas=(ResultLine,)),
            codes=(
                Code.BATCH_NOT_FOUND,
                Code.FILE_NOT_FOUND,
                Code.INVALID_TYPE,
                Code.INVALID_VALUE,
                Code.INTEGER_ABOVE_MAX_VALUE,
                Code.INTEGER_BELOW_MIN_VALUE,
                Code.STRING_ABOVE_MAX_LENGTH,
            ),
            query=QUERY,
        ),
    )


def _events(calls: EventCalls) -> tuple[Route, ...]:
    return (
        Route(
            method="GET",
            path="/batches/{id}/events",
            name="watchBatch",
            summary="Server-sent events that tell how a batch gets on, until it has ended",
            handler=calls.events,
            answer=Answer(media="text/event-stream", schemas=(BatchEvent,)),
            codes=(Code.BATCH_NOT_FOUND,),
        ),
    )


def _retries(calls: RetryCalls) -> tuple[Route, ...]:
    return (
        Route(
            method="POST",
            path="/batches/{id}/retry",
            name="retryBatch",
            summary="Create a batch of just the lines that failed, expired or were cancelled",
            handler=calls.retry,
            answer=Answer(schemas=(BatchObject, NovitaBatchObject)),
            codes=(
                Code.BATCH_NOT_FOUND,
                Code.BATCH_NOT_RETRYABLE,
                Code.INVALID_TYPE,
                Code.INVALID_VALUE,
                Code.INVALID_JSON,
                Code.UNSUPPORTED_ENCODING,
                Code.REQUEST_TOO_LARGE,
                Code.INTEGER_ABOVE_MAX_VALUE,
                Code.INTEGER_BELOW_MIN_VALUE,
                Code.STRING_ABOVE_MAX_LENGTH,
                Code.TOO_MANY_ACTIVE_BATCHES,
                Code.STORAGE_QUOTA_EXCEEDED,
                Code.STORAGE_LOW,
                Code.IDEMPOTENCY_KEY_REUSED,
                Code.PERMISSION_DENIED,
            ),
            members_only=True,
            body=Body(schema=RetryBatch, required=False),
        ),
    )


def _checks(calls: ValidateCalls) -> tuple[Route, ...]:
    return (
        Route(
            method="POST",
            path="/batches/validate",
            name="validateBatch",
            summary="Check a file, uploaded before or sent as a form or as it is, without running or keeping it",
            handler=calls.validate,
            answer=Answer(schemas=(Validation,)),
            codes=(
                Code.MISSING_REQUIRED_PARAMETER,
                Code.INVALID_TYPE,
                Code.INVALID_VALUE,
                Code.INVALID_JSON,
                Code.INVALID_MULTIPART,
                Code.UNSUPPORTED_ENCODING,
                Code.REQUEST_TOO_LARGE,
                Code.FILE_NOT_FOUND,
                Code.EMPTY_FILE,
                Code.INVALID_FILE_FORMAT,
                Code.FILE_TOO_LARGE,
                Code.STORAGE_LOW,
                Code.PERMISSION_DENIED,
            ),
            query=(
                Parameter(
                    name="endpoint",
                    schema={"type": "string"},
                    about="The endpoint that the lines are for, where the body is the file itself.",
                ),
            ),
            members_only=True,
            body=Body(schema=ValidateBatch),
        ),
    )
