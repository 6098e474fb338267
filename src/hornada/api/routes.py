"""The one table of routes: it drives the routing and the OpenAPI document."""

from collections.abc import Callable
from functools import partial
from typing import Any

from hornada.api import catalog_routes, dashboard_routes, money_routes, own_routes, paging, parted_routes
from hornada.api.admin_catalog import CatalogCalls
from hornada.api.admin_routes import routes as admin_routes
from hornada.api.batches import BatchCalls
from hornada.api.billing import BillingCalls
from hornada.api.call import Call
from hornada.api.files import FileCalls
from hornada.api.models import ModelCalls
from hornada.api.operations import OperationCalls
from hornada.api.parted import UploadCalls
from hornada.api.regular import Regular
from hornada.api.router import Answer, Body, Parameter, Route
from hornada.api.schemas import (
    FORM,
    REGULAR,
    About,
    AliasList,
    BatchList,
    BatchObject,
    CreateBatch,
    FileDeleted,
    FileList,
    FileObject,
    Health,
    ModelList,
    ModelObject,
    NovitaBatchList,
    NovitaBatchObject,
    NovitaFileList,
    ReadinessObject,
)
from hornada.api.services import Services
from hornada.api.webhook_calls import WebhookCalls
from hornada.api.webhook_routes import routes as webhook_routes
from hornada.core.catalog import ENDPOINTS
from hornada.core.errors import Code

_AFTER = Parameter(name="after", schema={"type": "string"}, about="The id of the last item of the page before.")
_ORDER = Parameter(name="order", schema={"enum": ["asc", "desc"], "default": "desc"}, about="By time of creation.")
_PURPOSE = Parameter(name="purpose", schema={"type": "string"}, about="Only files of this purpose.")
_STATUS = Parameter(
    name="status",
    schema={"type": "string"},
    about="Only batches in this status, or in one of several: `failed,expired`.",
)
_METADATA = Parameter(
    name="metadata",
    schema={"type": "object", "additionalProperties": {"type": "string"}},
    about="Only batches whose metadata hold this value, `metadata[key]=value`; several must all match.",
    style="deepObject",
)
_CREATED = tuple(
    Parameter(
        name=f"created_{side}",
        schema={"type": "integer", "minimum": 0},
        about=f"Only what was created {side} this second (since 1970, not included).",
    )
    for side in ("after", "before")
)

_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
_BAD_FIELD = (Code.MISSING_REQUIRED_PARAMETER, Code.INVALID_TYPE, Code.INVALID_VALUE)
_BAD_PAGE = (Code.INVALID_TYPE, Code.INTEGER_ABOVE_MAX_VALUE, Code.INTEGER_BELOW_MIN_VALUE)
_BAD_BODY = (Code.INVALID_JSON, Code.UNSUPPORTED_ENCODING, Code.REQUEST_TOO_LARGE)
_BAD_METADATA = (
    Code.STRING_ABOVE_MAX_LENGTH,
    Code.PROPERTY_NAME_ABOVE_MAX_LENGTH,
    Code.OBJECT_ABOVE_MAX_PROPERTIES,
)
_UPLOAD = (
    *_BAD_FIELD,
    Code.INVALID_PURPOSE,
    Code.INVALID_MULTIPART,
    Code.UNSUPPORTED_ENCODING,
    Code.EMPTY_FILE,
    Code.INVALID_FILE_FORMAT,
    Code.FILE_TOO_LARGE,
    Code.STORAGE_QUOTA_EXCEEDED,
    Code.STORAGE_LOW,
    Code.IDEMPOTENCY_KEY_REUSED,
)
_CREATE = (
    *_BAD_FIELD,
    *_BAD_BODY,
    *_BAD_PAGE[1:],
    *_BAD_METADATA,
    Code.FILE_NOT_FOUND,
    Code.TOO_MANY_ACTIVE_BATCHES,
    Code.IDEMPOTENCY_KEY_REUSED,
)
_REGULAR = (
    *_BAD_FIELD,
    *_BAD_BODY,
    Code.INSUFFICIENT_CREDITS,
    Code.MODEL_NOT_FOUND,
    Code.MODEL_OVERLOADED,
    Code.UPSTREAM_ERROR,
    Code.UPSTREAM_TIMEOUT,
)


def table(services: Services, document: Callable[[], dict[str, Any]], page: Callable[[], bytes]) -> tuple[Route, ...]:
    """Every route; with batches switched off those under ``/batches`` do not exist.

    A process that answers no calls only says how it is.
    """
    operations = _operations(OperationCalls(services, document, page))
    if not services.calls:
        return tuple(route for route in operations if route.path in _PROBES)
    batches = (*own_routes.routes(services), *_batches(BatchCalls(services))) if services.batches_enabled else ()
    return (
        *_files(FileCalls(services)),
        *parted_routes.routes(UploadCalls(services)),
        *batches,
        *_models(ModelCalls(services)),
        *money_routes.routes(BillingCalls(services)),
        *(webhook_routes(WebhookCalls(services)) if services.webhooks_enabled else ()),
        *_regular(Regular(services.gateway)),
        *catalog_routes.routes(CatalogCalls(services)),
        *admin_routes(services),
        *operations,
        *dashboard_routes.routes(services),
    )


def _files(calls: FileCalls) -> tuple[Route, ...]:
    one = (Code.FILE_NOT_FOUND,)
    return (
        Route(
            method="POST",
            path="/files",
            name="uploadFile",
            summary="Upload the input file of a batch",
            handler=calls.upload,
            answer=Answer(schemas=(FileObject,)),
            codes=(*_UPLOAD, Code.PERMISSION_DENIED),
            members_only=True,
            body=Body(media="multipart/form-data", schema=FORM),
        ),
        Route(
            method="GET",
            path="/files",
            name="listFiles",
            summary="List files",
            handler=calls.page,
            answer=Answer(schemas=(FileList, NovitaFileList)),
            codes=(*_BAD_PAGE, Code.INVALID_VALUE, *one),
            query=(_limit(paging.FILE_LIMIT, paging.FILE_DEFAULT), _AFTER, _ORDER, _PURPOSE, *_CREATED),
        ),
        Route(
            method="GET",
            path="/files/{id}",
            name="getFile",
            summary="Show a file",
            handler=calls.get,
            answer=Answer(schemas=(FileObject,)),
            codes=one,
        ),
        Route(
            method="DELETE",
            path="/files/{id}",
            name="deleteFile",
            summary="Delete a file",
            handler=calls.delete,
            answer=Answer(schemas=(FileDeleted,)),
            codes=(*one, Code.FILE_IN_USE, Code.PERMISSION_DENIED),
        ),
        Route(
            method="GET",
            path="/files/{id}/content",
            name="downloadFile",
            summary="Download a file, or a range of it",
            handler=calls.content,
            answer=Answer(media="application/jsonl"),
            codes=(*one, Code.RANGE_NOT_SATISFIABLE),
        ),
    )


def _batches(calls: BatchCalls) -> tuple[Route, ...]:
    batch = Answer(schemas=(BatchObject, NovitaBatchObject))
    one = (Code.BATCH_NOT_FOUND,)
    return (
        Route(
            method="POST",
            path="/batches",
            name="createBatch",
            summary="Create a batch from an uploaded file",
            handler=calls.create,
            answer=batch,
            codes=(*_CREATE, Code.PERMISSION_DENIED),
            members_only=True,
            body=Body(schema=CreateBatch),
        ),
        Route(
            method="GET",
            path="/batches",
            name="listBatches",
            summary="List batches, newest first",
            handler=calls.page,
            answer=Answer(schemas=(BatchList, NovitaBatchList)),
            codes=(*_BAD_PAGE, *_BAD_METADATA, Code.INVALID_VALUE, *one),
            query=(_limit(paging.BATCH_LIMIT, paging.BATCH_DEFAULT), _AFTER, _STATUS, _METADATA, *_CREATED),
        ),
        Route(
            method="GET",
            path="/batches/{id}",
            name="getBatch",
            summary="Show a batch",
            handler=calls.get,
            answer=batch,
            codes=one,
        ),
        Route(
            method="POST",
            path="/batches/{id}/cancel",
            name="cancelBatch",
            summary="Cancel a batch; what has run is kept",
            handler=calls.cancel,
            answer=batch,
            codes=(*one, Code.BATCH_NOT_CANCELLABLE, Code.PERMISSION_DENIED),
        ),
        Route(
            method="POST",
            path="/batches/{id}/pause",
            name="pauseBatch",
            summary="Start no line of a batch until it is resumed; it still expires",
            handler=calls.pause,
            answer=batch,
            codes=(*one, Code.BATCH_NOT_PAUSABLE, Code.PERMISSION_DENIED),
        ),
        Route(
            method="POST",
            path="/batches/{id}/resume",
            name="resumeBatch",
            summary="Let lines of a paused batch start again",
            handler=calls.resume,
            answer=batch,
            codes=(*one, Code.BATCH_NOT_PAUSABLE, Code.PERMISSION_DENIED),
        ),
    )


def _models(calls: ModelCalls) -> tuple[Route, ...]:
    return (
        Route(
            method="GET",
            path="/models",
            name="listModels",
            summary="List the models that the key may use",
            handler=calls.list,
            answer=Answer(schemas=(ModelList,)),
        ),
        Route(
            method="GET",
            path="/models/aliases",
            name="listAliases",
            summary="List the aliases of models",
            handler=calls.aliases,
            answer=Answer(schemas=(AliasList,)),
        ),
        Route(
            method="GET",
            path="/models/{id:path}",
            name="getModel",
            summary="Show a model",
            handler=calls.get,
            answer=Answer(schemas=(ModelObject,)),
            codes=(Code.MODEL_NOT_FOUND,),
        ),
    )


def _regular(regular: Regular) -> tuple[Route, ...]:
    async def call_model(endpoint: str, call: Call) -> None:
        await regular(call.scope, call.receive, call.send, call.principal, endpoint, call.id)

    return tuple(
        Route(
            method="POST",
            path=endpoint.removeprefix("/v1"),
            name="call" + "".join(word.title() for word in endpoint.removeprefix("/v1/").split("/")),
            summary=f"Call a model at {endpoint}, streamed or not",
            handler=partial(call_model, endpoint),
            answer=Answer(),
            codes=(*_REGULAR, Code.PERMISSION_DENIED),
            members_only=True,
            body=Body(schema=REGULAR),
        )
        for endpoint in ENDPOINTS
    )


def _operations(calls: OperationCalls) -> tuple[Route, ...]:
    return (
        Route(
            method="GET",
            path="/",
            name="getAbout",
            summary="What answers here",
            handler=calls.about,
            answer=Answer(schemas=(About,)),
            public=True,
        ),
        Route(
            method="GET",
            path="/healthz",
            name="getHealth",
            summary="Whether the process answers",
            handler=calls.alive,
            answer=Answer(schemas=(Health,)),
            public=True,
        ),
        Route(
            method="GET",
            path="/readyz",
            name="getReadiness",
            summary="Whether calls can be served; 503 with the reasons if not",
            handler=calls.ready,
            answer=Answer(schemas=(ReadinessObject,)),
            unready=True,
            public=True,
        ),
        Route(
            method="GET",
            path="/metrics",
            name="getMetrics",
            summary="Metrics for Prometheus",
            handler=calls.metrics,
            answer=Answer(media="text/plain"),
            public=True,
        ),
        Route(
            method="GET",
            path="/openapi.json",
            name="getDocument",
            summary="This document",
            handler=calls.document,
            answer=Answer(),
            public=True,
        ),
        Route(
            method="GET",
            path="/docs",
            name="getDocs",
            summary="The routes as a page",
            handler=calls.docs,
            answer=Answer(media="text/html"),
            public=True,
        ),
    )


def _limit(most: int, default: int) -> Parameter:
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": default}
    return Parameter(name="limit", schema=schema, about="The most items of the page.")
