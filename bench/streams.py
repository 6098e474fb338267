"""Callers that read an answer event by event, each over one kept connection."""

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Self

from bench import lines
from bench.client import Client

TIMEOUT_S = 60.0
END = b"data: [DONE]"


class Streamed(NamedTuple):
    """One answer: seconds from the call to each content event, and whether it was granted and ended with ``[DONE]``."""

    events: list[float]
    whole: bool


class Reader:
    """One caller; ``base`` is a root such as ``http://127.0.0.1:8080``. Close it, or use it as a context."""

    def __init__(self, base: str, key: str) -> None:
        client = Client(base, key)
        self._connection = http.client.HTTPConnection(client.host, client.port, timeout=TIMEOUT_S)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        _, asked = lines.body(0, lines.prompt(lines.PROMPT_CHARS), "chat")
        self._body = json.dumps({**asked, "stream": True}).encode()

    def read(self) -> Streamed:
        """One call, read to its end. Raises OSError and HTTPException."""
        events, last = list[float](), b""
        began = time.perf_counter()
        self._connection.request("POST", "/v1/chat/completions", body=self._body, headers=self._headers)
        answer = self._connection.getresponse()
        while line := answer.readline():
            if b'"content":' in line:
                events.append(time.perf_counter() - began)
            last = line.strip() or last
        return Streamed(events, answer.status == 200 and last == END)

    def close(self) -> None:
        """Gives the connection up."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def at_once(base: str, key: str, count: int) -> list[Streamed]:
    """``count`` streams read side by side, a thread and a connection each."""

    def one(_: int) -> Streamed:
        with Reader(base, key) as reader:
            return reader.read()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(one, range(count)))
