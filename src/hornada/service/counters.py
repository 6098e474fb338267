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
    "hornada_lines_total": "Lines by `model` and `result`: ok, failed, or stopped (never sent: their batch ended).",
    "hornada_line_retries_total": "Further tries of lines by `model` and `kind`: busy (or away), failed.",
    "hornada_tokens_total": "Tokens by `model`, `kind` (input, cached of them, output), `traffic` (batch, regular).",
    "hornada_call_seconds": "Until a model's server answered or began a stream, by `model` and `traffic`; histogram.",
    "hornada_batches_total": "Batches that have ended, by `status`.",
    "hornada_lines_lost_total": "Lines whose answer or request was lost in storage, of batches that ended so.",
    "hornada_batches_live": "Batches that have not ended, by `status`.",
    "hornada_http_requests_total": "Calls by `route`, `method`, `status` (499: hung up before there was an answer).",
    "hornada_http_request_seconds": "How long calls took until their last byte, by `route`; histogram.",
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
        lost = CounterMetricFamily("hornada_lines_lost_total", NAMES["hornada_lines_lost_total"], self._tally.lost)
        return iter((ended, live, lost))

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
