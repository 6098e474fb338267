"""The routes of the catalog under ``/admin``: the operator's alone."""

from functools import partial

from hornada.api import catalog_schemas as schemas
from hornada.api.admin_catalog import CatalogCalls
from hornada.api.router import Answer, Body, Route
from hornada.api.schemas import AliasList, AliasObject
from hornada.core.errors import Code

_DENIED = (Code.PERMISSION_DENIED,)
_ONE = (*_DENIED, Code.MODEL_NOT_FOUND)
_BODY = (
    *_DENIED,
    Code.INVALID_VALUE,
    Code.INVALID_TYPE,
    Code.STRING_ABOVE_MAX_LENGTH,
    Code.INVALID_JSON,
    Code.UNSUPPORTED_ENCODING,
    Code.REQUEST_TOO_LARGE,
)
_MODEL = Answer(schemas=(schemas.CatalogModelObject,))

_route = partial(Route, root=True)


def routes(calls: CatalogCalls) -> tuple[Route, ...]:
    """All of them; what follows a model's name comes before the name alone, which may hold slashes."""
    return (*_prices(calls), *_pauses(calls), *_models(calls), *_aliases(calls))


def _pauses(calls: CatalogCalls) -> tuple[Route, ...]:
    return (
        _route(
            method="POST",
            path="/admin/models/{name:path}/pause",
            name="pauseModel",
            summary="Start no line of a model until it is resumed; regular calls go on",
            handler=calls.pause,
            answer=_MODEL,
            codes=_ONE,
        ),
        _route(
            method="POST",
            path="/admin/models/{name:path}/resume",
            name="resumeModel",
            summary="Let lines of a paused model start again",
            handler=calls.resume,
            answer=_MODEL,
            codes=_ONE,
        ),
    )


def _prices(calls: CatalogCalls) -> tuple[Route, ...]:
    return (
        _route(
            method="PUT",
            path="/admin/models/{name:path}/price",
            name="putPrice",
            summary="Change what calls of a model that are answered from now on cost",
            handler=calls.put_price,
            answer=_MODEL,
            codes=(*_BODY, Code.MODEL_NOT_FOUND),
            body=Body(schema=schemas.PriceObject),
        ),
    )


def _models(calls: CatalogCalls) -> tuple[Route, ...]:
    return (
        _route(
            method="GET",
            path="/admin/models",
            name="listCatalogModels",
            summary="List the models of the catalog with their servers",
            handler=calls.models,
            answer=Answer(schemas=(schemas.CatalogModelList,)),
            codes=_DENIED,
        ),
        _route(
            method="GET",
            path="/admin/models/{name:path}",
            name="getCatalogModel",
            summary="Show a model with its servers",
            handler=calls.model,
            answer=_MODEL,
            codes=_ONE,
        ),
        _route(
            method="PUT",
            path="/admin/models/{name:path}",
            name="putModel",
            summary="Add a model or change one; one that was retired is back",
            handler=calls.put_model,
            answer=_MODEL,
            codes=_BODY,
            body=Body(schema=schemas.PutModel),
        ),
        _route(
            method="DELETE",
            path="/admin/models/{name:path}",
            name="retireModel",
            summary="Retire a model; lines of running batches that have no other end with the 404 of a regular call",
            handler=calls.retire,
            answer=Answer(schemas=(schemas.ModelRetired,)),
            codes=_ONE,
        ),
    )


def _aliases(calls: CatalogCalls) -> tuple[Route, ...]:
    return (
        _route(
            method="GET",
            path="/admin/aliases",
            name="listCatalogAliases",
            summary="List all aliases",
            handler=calls.aliases,
            answer=Answer(schemas=(AliasList,)),
            codes=_DENIED,
        ),
        _route(
            method="PUT",
            path="/admin/aliases/{name:path}",
            name="putAlias",
            summary="Point an alias at a model, also while batches that use it run",
            handler=calls.put_alias,
            answer=Answer(schemas=(AliasObject,)),
            codes=(*_BODY, Code.MISSING_REQUIRED_PARAMETER, Code.MODEL_NOT_FOUND),
            body=Body(schema=schemas.PutAlias),
        ),
        _route(
            method="DELETE",
            path="/admin/aliases/{name:path}",
            name="removeAlias",
            summary="Remove an alias",
            handler=calls.drop_alias,
            answer=Answer(schemas=(schemas.AliasRemoved,)),
            codes=_ONE,
        ),
    )
