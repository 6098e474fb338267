"""The page of metrics."""

from hornada.service.metrics import NAMES
from tools.reference.markdown import code, head, table

INTRODUCTION = """
`GET /metrics` answers in Prometheus's text format. Beside those below there are the `process_*` metrics of the Python
client library. Counters begin at 0 with the process.
""".strip()


def page() -> str:
    """Every metric of our own."""
    return f"{head('Metrics', INTRODUCTION)}\n{table(('Metric', 'What it is'), [(code(n), NAMES[n]) for n in NAMES])}\n"
