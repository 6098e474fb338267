"""Lines whose calls the mock model server counts."""

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

from bench.client import Client

PATIENCE_S = 60.0


class Work:
    """Lines whose texts nobody else asks for, so that what the model server got of them can be counted."""

    def __init__(self, backend: Client) -> None:
        self._backend = backend
        self._mark = uuid.uuid4().hex

    def lines(
        self,
        number: int,
        *,
        delay: float = 0.05,
        size: int = 0,
        free: int | None = None,
        fails: Callable[[int], bool] = lambda _: False,
    ) -> bytes:
        """So many requests; some are always refused, and all but the first ``free`` are not answered until ``open``."""
        rows = []
        for at in range(number):
            order: dict[str, Any] = {"delay": delay}
            if free is not None and at >= free:
                order["hold"] = self._mark
            if fails(at):
                order = {"status": 400, "error": {"message": "no", "code": "bad"}}
            text = f"{self._mark} {at} {'x' * size} @@{json.dumps(order)}"
            body = {"model": "m-chat", "messages": [{"role": "user", "content": text}]}
            rows.append({"custom_id": f"{at:04}", "method": "POST", "url": "/v1/chat/completions", "body": body})
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    def open(self) -> None:
        """Has the model server answer what is held."""
        assert self._backend.call("POST", "/__open", self._mark.encode()).ok

    def calls(self) -> int:
        """Calls that the model server got."""
        seen = self._backend.call("GET", "/__stats").json["calls"]
        return sum(count for text, count in seen.items() if self._mark in text)

    def quiet(self) -> int:
        """Waits until no call comes any more; how many there were."""
        before, end = -1, time.monotonic() + PATIENCE_S
        while (now := self.calls()) != before:
            assert time.monotonic() < end, "calls go on and on"
            before = now
            time.sleep(1.5)
        return now
