"""The OpenAPI document and the page that lists the routes, both made from the table of routes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import msgspec

from hornada import __version__
from hornada.api.router import Body, Route
from hornada.api.schemas import ErrorEnvelope
from hornada.core.errors import Code
from hornada.dialects import DIALECTS

_REF = "#/components/schemas/{name}"
_KEYED = (Code.INVALID_API_KEY, Code.RATE_LIMIT_EXCEEDED, Code.INTERNAL_ERROR, Code.SERVICE_UNAVAILABLE)
_STRING = {"type": "string"}


def document(routes: Sequence[Route], dialects: Mapping[str, str]) -> dict[str, Any]:
    """The OpenAPI 3.1 document. Statuses and codes are InferNode's; ``servers`` are the mounted dialects."""
    structs = {struct for route in routes for struct in _structs(route)} | {ErrorEnvelope}
    ordered = sorted(structs, key=lambda struct: struct.__name__)
    references, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    schemas = dict(zip(ordered, references, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        operation = _operation(route, schemas)
        paths.setdefault(shown(route), {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hornada", "version": __version__, "summary": "Files and batches of model calls"},
        "servers": [{"url": base, "description": f"{name} dialect"} for base, name in dialects.items()],
        "security": [{"bearer": []}, {"apiKey": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "api-key"},
            },
        },
    }


def page(routes: Sequence[Route], dialects: Mapping[str, str]) -> bytes:
    """The routes as HTML."""
    mounts = ", ".join(f"<code>{escape(base)}</code> ({escape(name)})" for base, name in dialects.items())
    rows = "\n".join(
        f"<tr><td>{route.method}</td><td><code>{escape(shown(route))}</code></td><td>{escape(route.summary)}</td></tr>"
        for route in routes
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Hornada</title>"
        "<style>body{font-family:sans-serif;margin:2rem}td{padding:.2rem 1rem .2rem 0}</style>"
        f"<h1>Hornada {escape(__version__)}</h1><p>Base paths: {mounts}; <code>/healthz</code> and below have none. "
        f'The whole contract: <a href="/openapi.json">openapi.json</a>.</p><table>{rows}</table></html>'
    ).encode()


def shown(route: Route) -> str:
    """A route's path as OpenAPI writes it."""
    return route.path.replace(":path}", "}")


def _structs(route: Route) -> Iterable[type[msgspec.Struct]]:
    yield from route.answer.schemas
    if route.body and not isinstance(route.body.schema, dict):
        yield route.body.schema


def _operation(route: Route, schemas: Mapping[type[msgspec.Struct], dict[str, Any]]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": _parameters(route),
        "responses": _responses(route, schemas),
    }
    if route.body:
        operation["requestBody"] = _body(route.body, schemas)
    if not route.mounted:
        operation["servers"] = [{"url": "/"}]
    if route.public:
        operation["security"] = []
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    pieces = re.findall(r"\{(\w+)", route.path)
    placed = [{"name": name, "in": "path", "required": True, "schema": _STRING} for name in pieces]
    asked = [
        {"name": p.name, "in": "query", "style": p.style, "schema": p.schema, "description": p.about}
        for p in route.query
    ]
    return [*placed, *asked]


def _success(route: Route, schemas: Mapping[type[msgspec.Struct], dict[str, Any]]) -> dict[str, Any]:
    references = [schemas[struct] for struct in route.answer.schemas]
    schema = {"anyOf": references} if len(references) > 1 else (references or [{}])[0]
    return {"description": "Done.", "content": {route.answer.media: {"schema": schema}}}


def _responses(route: Route, schemas: Mapping[type[msgspec.Struct], dict[str, Any]]) -> dict[str, Any]:
    success = _success(route, schemas)
    unready = {"503": {**success, "description": "Not now."}} if route.unready else {}
    return {"200": success, **unready, **_failures(route, schemas[ErrorEnvelope])}


def _failures(route: Route, envelope: dict[str, Any]) -> dict[str, Any]:
    dialect = DIALECTS["infernode"]
    codes: dict[int, list[str]] = {}
    for code in dict.fromkeys((*route.codes, *(() if route.public else _KEYED))):
        codes.setdefault(dialect.status(code), []).append(f"`{code.value}`")
    content = {"application/json": {"schema": envelope}}
    return {
        str(status): {"description": ", ".join(names), "content": content} for status, names in sorted(codes.items())
    }


def _body(body: Body, schemas: Mapping[type[msgspec.Struct], dict[str, Any]]) -> dict[str, Any]:
    schema = body.schema if isinstance(body.schema, dict) else schemas[body.schema]
    return {"required": body.required, "content": {body.media: {"schema": schema}}}
