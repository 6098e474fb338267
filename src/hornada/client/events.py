"""Server-sent events of a batch, where a server has them."""

import json
from collections.abc import Iterator

from hornada.client.batch import Batch, read_batch
from hornada.client.wire import Wire

_SILENCE_S = 45.0
"""A stream that says nothing for so long is taken for dead; Hornada says something every 15 s."""


def events(wire: Wire, batch_id: str) -> Iterator[Batch]:
    """The batch whenever it has got on, until the stream ends. Raises Refused where there are no events."""
    data: list[str] = []
    with wire.open("batches", batch_id, "events", timeout_s=_SILENCE_S) as answer:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            return
        for raw in answer:
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            if line.startswith("data:"):
                data.append(line[5:].lstrip())
            elif not line and data:
                found = json.loads("\n".join(data))
                yield read_batch({**found["batch"], "hornada": found.get("progress")})
                data = []
