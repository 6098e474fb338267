"""Traces (OpenTelemetry): a span for each call of a client, each line of a batch, and each call of a model server.

Names and attributes are those of OpenTelemetry's conventions for HTTP. Bodies, keys and queries are never in them.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hornada import __version__
from hornada.api.call import Call
from hornada.core.catalog import Server
from hornada.engine.held import Held
from hornada.engine.lanes import Attempt
from hornada.engine.retries import Result
from hornada.upstream.protocol import Answer, AnswerStream, Failure, Timeouts, Turns, Upstream

_CARRIED = ("traceparent", "tracestate")
"""Of a client's headers: which trace its call is in. Its baggage is no business of ours, nor of a model server."""
_TRACE = TraceContextTextMapPropagator()
_QUIET = "opentelemetry.trace"
"""What logs headers that are wrong, as they came."""
_CLOSE_S = 3.0
_GONE = 499
_Outcome = TypeVar("_Outcome", Answer | Failure, AnswerStream | Failure)


class Tracing:
    """Spans, sent to ``endpoint`` (an OTLP collector's base URL, such as ``http://127.0.0.1:4318``) in the background.

    What else there is to set (sampling, headers, name of the service) comes from the ``OTEL_*`` variables.
    """

    def __init__(self, endpoint: str) -> None:
        logging.getLogger(_QUIET).setLevel(logging.ERROR)
        resource = Resource.create({SERVICE_VERSION: __version__})
        if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
            resource = resource.merge(Resource({SERVICE_NAME: "hornada"}))
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("hornada", __version__)

    @contextmanager
    def call(self, call: Call) -> Iterator[None]:
        """The span of a client's call, in the client's trace if its headers name one."""
        scope = call.scope
        method = scope["method"]
        parent = _TRACE.extract({name: found for name in _CARRIED if (found := call.header(name.encode()))})
        attributes = {
            "http.request.method": method,
            "url.path": scope["path"],
            "url.scheme": scope["scheme"],
            "hornada.request_id": call.id,
        }
        with self._tracer.start_as_current_span(method, parent, SpanKind.SERVER, attributes) as span:
            yield
            if call.route is not None:
                span.update_name(f"{method} {call.route}")
                span.set_attribute("http.route", call.route)
            if call.keyed and hasattr(call, "principal"):
                span.set_attribute("hornada.organization", call.principal.org)
            _answered(span, call.send.status or _GONE, worst=500)

    def connecting(self, connect: Callable[[Server], Upstream]) -> Callable[[Server], Upstream]:
        """``connect``, with a span for each call of the clients that it makes."""
        return lambda server: _TracedUpstream(connect(server), server, self._tracer)

    def lines(self, attempt: Attempt) -> Attempt:
        """``attempt``, with a span for each of them."""

        async def traced(held: Held, line: int) -> Result:
            chunk = held.work.chunk
            attributes: dict[str, str | int] = {
                "hornada.batch": f"batch_{chunk.batch}",
                "hornada.line": chunk.span.first + line,
                "hornada.organization": chunk.org,
                "gen_ai.request.model": chunk.model,
            }
            with self._tracer.start_as_current_span("line", attributes=attributes):
                return await attempt(held, line)

        return traced

    def close(self) -> None:
        """Sends what is left; waits for it a few seconds at most."""
        ending = threading.Thread(target=self._provider.shutdown, name="traces", daemon=True)
        ending.start()
        ending.join(_CLOSE_S)


class _TracedUpstream:
    def __init__(self, upstream: Upstream, server: Server, tracer: trace.Tracer) -> None:
        self._upstream = upstream
        self._tracer = tracer
        parts = urlsplit(server.url)
        self._server: dict[str, str | int] = {"server.address": parts.hostname or ""}
        if parts.port:
            self._server["server.port"] = parts.port

    async def send(
        self,
        path: str,
        body: bytes,
        timeouts: Timeouts,
        *,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        turns: Turns | None = None,
    ) -> Answer | Failure:
        """POSTs a JSON body and reads the whole answer."""
        with self._span("POST", path) as span:
            carried = _carried(headers)
            sent = self._upstream.send(path, body, timeouts, max_bytes=max_bytes, headers=carried, turns=turns)
            return _seen(span, await sent)

    async def stream(
        self, path: str, body: bytes, timeouts: Timeouts, *, headers: Mapping[str, str] | None = None
    ) -> AnswerStream | Failure:
        """The same, returning as soon as the head of the answer is there; so far goes the span."""
        with self._span("POST", path) as span:
            return _seen(span, await self._upstream.stream(path, body, timeouts, headers=_carried(headers)))

    async def get(self, path: str, timeouts: Timeouts, *, max_bytes: int) -> Answer | Failure:
        """GETs ``path``: questions of our own, which have no span."""
        return await self._upstream.get(path, timeouts, max_bytes=max_bytes)

    async def close(self) -> None:
        """Drops every connection."""
        await self._upstream.close()

    @contextmanager
    def _span(self, method: str, path: str) -> Iterator[Span]:
        name, attributes = f"{method} {path}", {"http.request.method": method, "url.template": path, **self._server}
        with self._tracer.start_as_current_span(name, kind=SpanKind.CLIENT, attributes=attributes) as span:
            yield span


def _carried(headers: Mapping[str, str] | None) -> Mapping[str, str]:
    """The headers, with those that carry the trace on to the model server."""
    carried = dict(headers or {})
    _TRACE.inject(carried)
    return carried


def _seen(span: Span, outcome: _Outcome) -> _Outcome:
    if isinstance(outcome, Failure):
        span.set_attribute("error.type", outcome.fault.value)
        span.set_status(StatusCode.ERROR, outcome.message)
    else:
        _answered(span, outcome.status, worst=400)
    return outcome


def _answered(span: Span, status: int, *, worst: int) -> None:
    """Notes a status; from ``worst`` on the call counts as failed."""
    span.set_attribute("http.response.status_code", status)
    if status >= worst:
        span.set_status(StatusCode.ERROR)
        span.set_attribute("error.type", str(status))
