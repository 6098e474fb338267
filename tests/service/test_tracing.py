"""Spans as a collector gets them, from a real server over a real model server."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench import lines
from bench.hornada import Hornada, model, settings
from bench.stub import Stub
from hornada.core.catalog import Server
from hornada.service import tracing as service_tracing
from hornada.service.tracing import Tracing
from hornada.upstream import connect
from hornada.upstream.protocol import Failure, Timeouts

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class Collector:
    """Takes what OTLP/HTTP sends."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.service = ""
        self.logged = ""
        """What the server said itself."""
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.path == "/v1/traces":
                    collector.take(body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.service = known(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += scope.spans

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]


def known(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """What a collector has of a server that answered a regular call, refused one, and ran a batch of three lines."""
    folder, collector = tmp_path_factory.mktemp("traced"), Collector()
    env = {
        "HORNADA_SERVER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "HORNADA_SERVER_SHUTDOWN_GRACE_S": "2",
    }
    with (
        Stub(folder / "stub.log") as stub,
        Hornada(folder, settings([model(lines.MODEL, stub.upstream)]), env) as hornada,
    ):
        hornada.start()
        ask = {"model": lines.MODEL, "messages": [{"role": "user", "content": "a secret question"}]}
        parent = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
        assert hornada.client.call("POST", "/chat/completions", json.dumps(ask).encode(), parent).status == 200
        assert hornada.client.call("GET", "/batches/batch_none").status == 404
        odd = {"baggage": "secret=" + "x" * 9000, "tracestate": "Secret=\t,secret"} | parent
        assert hornada.client.call("GET", "/models", headers=odd).status == 200
        batch = hornada.client.submit(lines.write(folder / "in.jsonl", 3))
        end = time.monotonic() + 60
        while hornada.client.batch(batch)["status"] != "completed":
            assert time.monotonic() < end
            time.sleep(0.05)
        assert hornada.terminate() == 0
        collector.logged = hornada.running.tail(1_000_000)
        yield collector
        collector.server.shutdown()
        collector.server.server_close()


def test_a_regular_call_is_in_its_client_s_trace_and_its_model_server_s_call_below_it(traced: Collector) -> None:
    (call,) = [span for span in traced.named("POST /chat/completions") if span.kind == Span.SPAN_KIND_SERVER]
    assert (call.trace_id.hex(), call.parent_span_id.hex()) == (TRACE, "00f067aa0ba902b7")
    found = known(call.attributes)
    assert found["http.route"] == "/chat/completions"
    assert found["http.response.status_code"] == 200
    assert found["hornada.request_id"].startswith("req_")
    (asked,) = [span for span in traced.spans if span.parent_span_id == call.span_id]
    assert (asked.kind, asked.trace_id) == (Span.SPAN_KIND_CLIENT, call.trace_id)
    assert known(asked.attributes)["server.address"] == "127.0.0.1"


def test_a_refusal_has_its_status_and_its_route(traced: Collector) -> None:
    (call,) = traced.named("GET /batches/{id}")[:1]
    found = known(call.attributes)
    assert (found["http.route"], found["url.path"]) == ("/batches/{id}", "/v1/batches/batch_none")
    assert found["http.response.status_code"] == 404
    assert call.status.code == 0


def test_each_line_of_a_batch_is_a_trace_with_the_call_that_it_made(traced: Collector) -> None:
    spans = traced.named("line")
    assert [known(span.attributes)["hornada.line"] for span in spans] == [0, 1, 2]
    assert len({span.trace_id for span in spans}) == 3
    for span in spans:
        assert known(span.attributes)["gen_ai.request.model"] == lines.MODEL
        (asked,) = [each for each in traced.spans if each.parent_span_id == span.span_id]
        assert known(asked.attributes)["http.response.status_code"] == 200


def test_it_says_who_it_is_and_nothing_of_what_was_asked_or_of_keys(traced: Collector) -> None:
    assert traced.service == "hornada"
    told = " ".join(str(span) for span in traced.spans)
    assert "secret" not in told
    assert "sk-" not in told
    assert "secret" not in traced.logged.lower()


async def test_a_collector_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_tracing, "_CLOSE_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        tracing = Tracing(f"http://127.0.0.1:{silent.getsockname()[1]}")
        upstream = tracing.connecting(connect)(Server(url="http://127.0.0.1:9"))
        assert isinstance(await upstream.send("/x", b"{}", Timeouts(), max_bytes=1), Failure)
        await upstream.close()
        tracing.close()
        assert "traces" in {thread.name for thread in threading.enumerate()}, "what is left still waits to be sent"
