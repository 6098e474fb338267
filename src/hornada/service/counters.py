"""The counters among the metrics: what has happened since the process started."""

from collections.abc import Iterator, Mapping
from itertools import chain

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from hornada.api.traffic import Traffic
from hornada.core.batch import Status
from hornada.core.histogram import Histogram
from hornada.engine.tally import ModelTally, Tally

NAMES = {
    "hornada_oldest_call_seconds": "How long a model's oldest call has waited for its answer or a stream's begin.",
    "hornada_lines_total": "Lines by result; stopped: never sent, because their batch ended.",
    "hornada_line_retries_total": "Further tries of lines; busy: the server was busy or away, failed: a try came to "
    "nothing.",
    "hornada_tokens_total": "Tokens of what was answered; cached ones are among the input.",
    "hornada_call_seconds": "How long a model's server took to answer a line or a regular call, or to begin a stream.",
    "hornada_batches_total": "Batches that have ended, by how.",
    "hornada_batches_live": "Batches that have not ended, by status.",
    "hornada_http_requests_total": "Calls over HTTP; status 499: the client hung up before there was an answer.",
    "hornada_http_request_seconds": "How long calls over HTTP took, from the first byte in to the last byte out.",
}


class CounterCollector(Collector):
    """Reads the counts of one process. ``live``: batches that have not ended, by status."""

    def __init__(self, tally: Tally, traffic: Traffic, live: Mapping[Status, int]) -> None:
        self._tally = tally
        self._traffic = traffic
        self._live = live

    def collect(self) -> Iterator[Metric]:
        """All of NAMES."""
        return chain(_of_models(self._tally.models), self._of_batches(), self._of_calls())

    def _of_batches(self) -> Iterator[Metric]:
        ended, live = _counter("hornada_batches_total", "status"), _gauge("hornada_batches_live", "status")
        for status, number in self._tally.ended.items():
            ended.add_metric([status], number)
        for status, number in self._live.items():
            live.add_metric([status], number)
        return iter((ended, live))

    def _of_calls(self) -> Iterator[Metric]:
        calls = _counter("hornada_http_requests_total", "route", "method", "status")
        seconds = _histogram("hornada_http_request_seconds", "route")
        for (route, method, status), number in list(self._traffic.calls.items()):
            calls.add_metric([route, method, str(status)], number)
        for route, histogram in list(self._traffic.seconds.items()):
            _add(seconds, [route], histogram)
        return iter((calls, seconds))


def _of_models(models: Mapping[str, ModelTally]) -> Iterator[Metric]:
    oldest = _gauge("hornada_oldest_call_seconds", "model")
    lines = _counter("hornada_lines_total", "model", "result")
    retries = _counter("hornada_line_retries_total", "model", "kind")
    tokens = _counter("hornada_tokens_total", "model", "kind", "traffic")
    seconds = _histogram("hornada_call_seconds", "model", "traffic")
    for name, tally in models.items():
        oldest.add_metric([name], tally.waiting.oldest_s)
        for result in ("ok", "failed", "stopped"):
            lines.add_metric([name, result], getattr(tally, result))
        retries.add_metric([name, "busy"], tally.busy)
        retries.add_metric([name, "failed"], tally.retried)
        for word, traffic in (("batch", tally.batch), ("regular", tally.regular)):
            for kind in ("input", "cached", "output"):
                tokens.add_metric([name, kind, word], getattr(traffic, kind))
            _add(seconds, [name, word], traffic.seconds)
    return iter((oldest, lines, retries, tokens, seconds))


def _counter(name: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(name, NAMES[name], labels=labels)


def _gauge(name: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, NAMES[name], labels=labels)


def _histogram(name: str, *labels: str) -> HistogramMetricFamily:
    return HistogramMetricFamily(name, NAMES[name], labels=labels)


def _add(family: HistogramMetricFamily, labels: list[str], histogram: Histogram) -> None:
    buckets = [("+Inf" if bound == float("inf") else repr(bound), float(n)) for bound, n in histogram.cumulative()]
    family.add_metric(labels, buckets, histogram.sum)
