"""Calls that operators and their tools make: health, readiness, metrics, documentation. No dialect, no key."""

from collections.abc import Callable
from typing import Any

from hornada import __version__
from hornada.api.call import Call, Response, json_response
from hornada.api.dashboard import DashboardCalls
from hornada.api.services import Services

METRICS_MEDIA = b"text/plain; version=0.0.4; charset=utf-8"
HTML = b"text/html; charset=utf-8"


class OperationCalls:
    """``document`` gives the OpenAPI document, ``page`` its HTML; both are made when they are first asked for."""

    def __init__(self, services: Services, document: Callable[[], dict[str, Any]], page: Callable[[], bytes]) -> None:
        self._ready = services.ready
        self._metrics = services.metrics
        self._document = document
        self._page = page
        self._to_dashboard = DashboardCalls(services).there

    async def about(self, call: Call) -> Response:
        """``GET /``: what this is; a browser is led to the dashboard."""
        if self._to_dashboard and "text/html" in (call.header(b"accept") or ""):
            return Response(302, b"", b"text/plain", ((b"location", b"ui/"), (b"vary", b"accept")))
        return json_response({"name": "hornada", "version": __version__, "docs": "/docs", "openapi": "/openapi.json"})

    async def alive(self, call: Call) -> Response:  # noqa: ARG002 - the shape of a handler
        """``GET /healthz``: the process answers."""
        return json_response({"status": "ok"})

    async def ready(self, call: Call) -> Response:  # noqa: ARG002
        """``GET /readyz``: whether calls can be served, and if not, why."""
        readiness = await self._ready()
        status = "ready" if readiness.ok else "unready"
        told = {"status": status, "reasons": list(readiness.reasons), "notes": list(readiness.notes)}
        return json_response(told, 200 if readiness.ok else 503)

    async def metrics(self, call: Call) -> Response:  # noqa: ARG002
        """``GET /metrics``: Prometheus text."""
        return Response(200, await self._metrics(), METRICS_MEDIA)

    async def document(self, call: Call) -> Response:  # noqa: ARG002
        """``GET /openapi.json``."""
        return json_response(self._document())

    async def docs(self, call: Call) -> Response:  # noqa: ARG002
        """``GET /docs``: the routes as a page."""
        return Response(200, self._page(), HTML)
