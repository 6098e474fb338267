"""The metrics of webhooks: what waits, and what came of what was sent."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hornada.core.clock import SECOND
from hornada.engine.courier import Courier
from hornada.store.webhook_delivery import Backlog

NAMES = {
    "hornada_webhook_attempts_total": "Attempts of this process to deliver an event, by `result`: delivered, failed.",
    "hornada_webhook_given_up_total": "Events that this process gave up to deliver: after 72 hours, or to who is gone.",
    "hornada_webhook_pending": "Events that wait for an enabled endpoint, of all processes.",
    "hornada_webhook_oldest_pending_seconds": "Age of the oldest of them; 0 when none waits.",
}


class WebhookCollector(Collector):
    """``now`` in microseconds since 1970."""

    def __init__(self, courier: Courier, backlog: Backlog, now: int) -> None:
        self._counts = courier.counts
        self._backlog = backlog
        self._now = now

    def collect(self) -> Iterator[Metric]:
        """All of NAMES."""
        attempts, given_up, pending, oldest = NAMES
        made = CounterMetricFamily(attempts, NAMES[attempts], labels=["result"])
        for result in ("delivered", "failed"):
            made.add_metric([result], self._counts[result])
        yield made
        yield CounterMetricFamily(given_up, NAMES[given_up], value=self._counts["given_up"])
        yield GaugeMetricFamily(pending, NAMES[pending], value=self._backlog.pending)
        age = 0.0 if self._backlog.oldest is None else max(0.0, (self._now - self._backlog.oldest) / SECOND)
        yield GaugeMetricFamily(oldest, NAMES[oldest], value=age)
