"""An operator at a running server, with the command line and the calls under ``/admin``."""

import json
import subprocess
import uuid
from typing import Any, NamedTuple
from urllib.parse import quote

from bench.client import Answer, Client, granted
from bench.hornada import PROGRAM, Hornada, settings, table

OPERATOR_KEY = "sk-operator-of-these-tests"
PATIENCE_S = 60.0
CAPACITY = 4

Json = dict[str, Any]


def configuration() -> str:
    """No model at all: the tests add theirs while the server runs."""
    return settings([]) + table("[server]", {"operator_key": OPERATOR_KEY})


class Ended(NamedTuple):
    """A batch at its end with the lines of its two files."""

    batch: Json
    output: list[Json]
    error: list[Json]

    @property
    def counts(self) -> tuple[int, int]:
        """Lines answered and failed; together they are all."""
        counts = self.batch["request_counts"]
        assert counts["completed"] + counts["failed"] == counts["total"] == len(self.output) + len(self.error)
        assert (counts["completed"], counts["failed"]) == (len(self.output), len(self.error))
        return counts["completed"], counts["failed"]

    def answered(self) -> dict[str, list[str]]:
        """Which lines each model answered, by the name under which its server was asked."""
        found: dict[str, list[str]] = {}
        for row in self.output:
            found.setdefault(row["response"]["body"]["model"], []).append(row["custom_id"])
        return found


class Operator:
    """Whoever operates the server; ``mark`` is a word that no other test uses."""

    def __init__(self, hornada: Hornada, backend: Client) -> None:
        self.hornada = hornada
        self.backend = backend
        self.mark = uuid.uuid4().hex[:12]
        self.client = Client(f"http://127.0.0.1:{hornada.port}", OPERATOR_KEY)

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        """A call under ``/admin``."""
        return self.client.call(method, f"/admin/{path}", body)

    def told(self, method: str, path: str, body: Any = None) -> Json:
        """What a call that must be granted answers."""
        return granted(self.call(method, path, body), f"{method} {path}")

    def command(self, *arguments: str, expect: int = 0) -> Any:
        """``hornada admin … --json`` at the running server."""
        at = ["--url", f"http://127.0.0.1:{self.hornada.port}", "--key", OPERATOR_KEY, "--json"]
        done = subprocess.run([PROGRAM, "admin", *arguments, *at], capture_output=True, text=True, check=False)
        assert done.returncode == expect, done.stderr
        return json.loads(done.stdout) if done.stdout else done.stderr

    def model(self, name: str, **more: Any) -> str:
        """Adds a model of the mock server under a name of this test's own."""
        full = f"{name}-{self.mark}"
        upstream = f"http://127.0.0.1:{self.backend.port}/v1"
        self.told("PUT", f"models/{full}", {"upstream": upstream, "capacity": CAPACITY, **more})
        return full

    def point(self, alias: str, model: str) -> Json:
        """Sets or moves an alias."""
        return self.told("PUT", f"aliases/{quote(alias, safe='')}", {"model": model})

    def open(self) -> None:
        """Has the mock server answer what is held."""
        assert self.backend.call("POST", "/__open", self.mark.encode()).ok

    def order(self, *words: str) -> list[str]:
        """Which of these words each call had that the mock server got, in the order in which they came."""
        seen = self.backend.call("GET", "/__stats").json["calls"]
        return [word for text in seen for word in words if text.startswith(f"{self.mark}{word} ")]

    def calls(self) -> int:
        """How many calls of this test's lines the mock server got."""
        seen = self.backend.call("GET", "/__stats").json["calls"]
        return sum(count for text, count in seen.items() if self.mark in text)

    def lines(self, names: list[str], delay: float = 0.25, *, free: int | None = None, word: str = "") -> bytes:
        """One line for each name of a model, each of which takes so many seconds.

        All but the first ``free`` are not answered until ``open``. ``word`` tells them from others of this test.
        """
        rows = []
        for at, name in enumerate(names):
            hold = {"hold": self.mark} if free is not None and at >= free else {}
            text = f"{self.mark}{word} {at} @@{json.dumps({'delay': delay, **hold})}"
            body = {"model": name, "messages": [{"role": "user", "content": text}]}
            rows.append({"custom_id": f"{at:03}", "method": "POST", "url": "/v1/chat/completions", "body": body})
        return "".join(json.dumps(row) + "\n" for row in rows).encode()


def half_way(client: Client, batch: str, completed: int = 1) -> Json:
    """A batch of which so many lines have been answered."""
    for seen in client.watch(batch, PATIENCE_S, 0.02):
        if seen["request_counts"]["completed"] >= completed:
            return seen
    raise AssertionError("the batch ended first")


def ended(client: Client, batch: str) -> Ended:
    """A batch when it has ended, with its lines."""
    found = client.finish(batch, PATIENCE_S, 0.05)
    rows = [
        [json.loads(row) for row in client.content(found[name]).splitlines()]
        for name in ("output_file_id", "error_file_id")
    ]
    return Ended(found, *rows)
