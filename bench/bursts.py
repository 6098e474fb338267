"""Regular callers that do not wait for each other: calls at random moments, few a second and many by turns."""

import http.client
import json
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from bench import lines
from bench.client import Client

RATES = (4.0, 18.0)
"""Calls a second, by turns."""
TURN_S = 5.0
AT_ONCE = 96
_TIMEOUT_S = 60.0


class Bursts:
    """Calls for ``seconds``, at the same moments for the same ``seed``; ``waits``: seconds of each, ``bad``: errors."""

    def __init__(self, client: Client, seconds: float, seed: int = 5) -> None:
        self.waits: list[float] = []
        self.bad = 0
        self._client = client
        self._moments = moments(seconds, random.Random(seed))
        self._kept = threading.local()
        _, asked = lines.body(0, lines.prompt(lines.PROMPT_CHARS), "chat")
        self._body = json.dumps(asked).encode()

    def run(self) -> "Bursts":
        """Makes every call at its moment, each in a thread of its own, and waits for the last answer."""
        began = time.perf_counter()
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for moment in self._moments:
                time.sleep(max(0.0, began + moment - time.perf_counter()))
                threads.submit(self._call)
        return self

    def _call(self) -> None:
        connection = getattr(self._kept, "connection", None)
        if connection is None:
            connection = http.client.HTTPConnection(self._client.host, self._client.port, timeout=_TIMEOUT_S)
            self._kept.connection = connection
        headers = {"Authorization": f"Bearer {self._client.key}", "Content-Type": "application/json"}
        began = time.perf_counter()
        try:
            connection.request("POST", "/v1/chat/completions", body=self._body, headers=headers)
            answer = connection.getresponse()
            answer.read()
            good = answer.status == 200
        except (OSError, http.client.HTTPException):
            connection.close()
            good = False
        self.waits.append(time.perf_counter() - began)
        self.bad += not good


def moments(seconds: float, chance: random.Random) -> list[float]:
    """When calls are made, in seconds from the start: at random, at the rate of the turn."""
    found, now = list[float](), 0.0
    while (now := now + chance.expovariate(RATES[int(now / TURN_S) % 2])) < seconds:
        found.append(now)
    return found
