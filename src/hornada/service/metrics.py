"""What /metrics shows, read from the engine's state at the moment it is asked."""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from hornada.api.traffic import Traffic
from hornada.core.batch import Status
from hornada.service.counters import NAMES as COUNTED
from hornada.service.counters import CounterCollector
from hornada.service.webhook_metrics import NAMES as TOLD
from hornada.service.webhook_metrics import WebhookCollector
from hornada.service.wiring import Engine
from hornada.store.webhook_delivery import Backlog

NAMES = {
    "hornada_capacity_slots": "Concurrent requests that a model's servers get at most: as configured, learned or cut.",
    "hornada_regular_calls_in_flight": "Regular calls that a model is answering.",
    "hornada_lines_in_flight": "Batch lines that a model is answering.",
    "hornada_lines_waiting": "Batch lines held by this process that wait for a slot or their next try.",
    "hornada_model_away": "1 while a model does not answer and its batches are paused.",
    "hornada_reserved_slots": "Slots that lines leave free for regular calls.",
    "hornada_granted_slots": "Slots that lines of this process may use: its part, where several share a model.",
    "hornada_wanted_slots": "Slots that lines held by this process could use: those in flight and those that wait.",
    "hornada_harm_ratio": "95th percentile of regular calls' time to first byte, beside lines by without; 10 minutes.",
    "hornada_model_paused": "1 while the operator has paused a model, so that none of its lines starts.",
    "hornada_server_healthy": "1 while a model's server is in use, 0 while it is left out but for a probe.",
    "hornada_chunks_held": "Chunks leased by this process.",
    "hornada_unsaved_result_bytes": "Bytes of results that are not yet durable.",
    "hornada_processes_live": "Processes that share the ledger, this one among them, by `role`.",
    "hornada_loop_in_trouble": "1 while a loop cannot do its work.",
} | COUNTED
"""Every metric of our own, with its meaning; process_* come from the client library."""
NAMES |= TOLD


class EngineCollector(Collector):
    """Reads one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        """All of NAMES that are not counters."""
        engine = self._engine
        by_model = {name: GaugeMetricFamily(name, NAMES[name], labels=["model"]) for name in list(NAMES)[:8]}
        harm = GaugeMetricFamily("hornada_harm_ratio", NAMES["hornada_harm_ratio"], labels=["model"])
        paused = GaugeMetricFamily("hornada_model_paused", NAMES["hornada_model_paused"], labels=["model"])
        name = "hornada_server_healthy"
        healthy = GaugeMetricFamily(name, NAMES[name], labels=["model", "server"])
        catalog = engine.models.catalog()
        for model in catalog.models.values():
            paused.add_metric([model.name], int(model.name in catalog.paused))
            for server, well in engine.servers.health(model).items():
                healthy.add_metric([model.name, server], int(well))
            gate = engine.gates.of(model)
            waiting, away = engine.dispatcher.state(model.name)
            granted, wanted = gate.allowed, gate.lines + waiting
            values = (gate.capacity, gate.regular, gate.lines, waiting, int(away), gate.reserve, granted, wanted)
            for family, value in zip(by_model.values(), values, strict=True):
                family.add_metric([model.name], value)
            if gate.harm.ratio is not None:
                harm.add_metric([model.name], gate.harm.ratio)
        yield from by_model.values()
        yield from (harm, paused, healthy)
        yield GaugeMetricFamily("hornada_chunks_held", NAMES["hornada_chunks_held"], value=engine.dispatcher.held)
        name = "hornada_processes_live"
        live = GaugeMetricFamily(name, NAMES[name], labels=["role"])
        for role, number in engine.membership.crew.roles.items():
            live.add_metric([role], number)
        yield live
        name = "hornada_unsaved_result_bytes"
        yield GaugeMetricFamily(name, NAMES[name], value=engine.dispatcher.unsaved_bytes)
        name = "hornada_loop_in_trouble"
        loops = GaugeMetricFamily(name, NAMES[name], labels=["loop"])
        for loop in engine.loops:
            loops.add_metric([loop.name], int(loop.trouble is not None))
        yield loops


def render(engine: Engine, traffic: Traffic, live: Mapping[Status, int], backlog: Backlog) -> bytes:
    """The metrics in Prometheus's text format."""
    registry = CollectorRegistry()
    registry.register(EngineCollector(engine))
    registry.register(CounterCollector(engine.tally, traffic, live))
    registry.register(WebhookCollector(engine.courier, backlog, engine.clock.now()))
    ProcessCollector(registry=registry)
    return generate_latest(registry)
