"""A user with the guide in hand: writes lines, goes through the four steps, reads what comes back."""

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench.client import TERMINAL, Answer, Client, granted
from bench.hornada import model, settings

CHAT, EMBED, TEXT = "/v1/chat/completions", "/v1/embeddings", "/v1/completions"
BASES = ("/v1", "/infernode/v1")
ONCE = pytest.mark.parametrize("base", ["/infernode/v1"])
"""For tests that take long: at one base path only."""
PATIENCE_S = 60.0
POLL_S = 0.05

Json = dict[str, Any]
Line = Json | str | bytes

ENDPOINTS = {"m-chat": [CHAT], "m-other": [CHAT], "m-nobatch": [CHAT], "m-text": [TEXT], "m-embed": [EMBED]}
SHARE, CAPACITY = 2, 8
ALIAS = "Saptiva Turbo"


def configuration(backend: Client, *, more: str = "", plan: Json | None = None, **limits: float) -> str:
    """The models of the tests on the mock server, one of them without batches, one with two slots for them."""
    upstream = f"http://127.0.0.1:{backend.port}/v1"
    models = [
        model(name, upstream, endpoints=offered, capacity=CAPACITY, batch=name != "m-nobatch")
        for name, offered in ENDPOINTS.items()
    ]
    models.append(model("m-share", upstream, endpoints=[CHAT], capacity=CAPACITY, batch=SHARE))
    models.append(model("m-away", "http://127.0.0.1:9/v1", endpoints=[CHAT], capacity=1))
    within = {"upstream_timeout_s": 60, **limits}
    return settings(models, aliases={ALIAS: "m-chat"}, limits=within, plan=plan) + more


class Ended(NamedTuple):
    """A batch at its end with the lines of its two files."""

    batch: Json
    output: list[Json]
    error: list[Json]

    @property
    def causes(self) -> list[tuple[str, int | None]]:
        """Code and line of each entry of ``errors``."""
        return [(found["code"], found["line"]) for found in (self.batch["errors"] or {"data": []})["data"]]

    def answered(self, count: int) -> bool:
        """Whether that many lines were all answered and the batch ended well: ``completed`` alone does not say so."""
        good = [row for row in self.output if row["response"]["status_code"] == 200]
        counts = {"total": count, "completed": count, "failed": 0}
        ended = (self.batch["status"], self.batch["request_counts"], self.batch["error_file_id"] or None)
        return ended == ("completed", counts, None) and len(good) == len(self.output) == count


class Guide:
    """Calls under one base path of a server."""

    def __init__(self, client: Client, backend: Client) -> None:
        self.client = client
        self.backend = backend
        self.call = client.call

    def upload(self, data: bytes | Path, **more: Any) -> Json:
        """Step 1."""
        return answered(self.client.upload(data, **more), "upload")

    def create(self, file_id: str, endpoint: str = CHAT, **more: Any) -> Json:
        """Step 2."""
        return answered(self.client.create(file_id, endpoint, **more), "create")

    def start(self, data: bytes | Path, endpoint: str = CHAT) -> Json:
        """Steps 1 and 2."""
        return self.create(self.upload(data)["id"], endpoint)

    def check(self, batch: Json) -> Json:
        """Step 3, once."""
        return self.client.batch(batch["id"])

    def until(self, batch: Json, done: Callable[[Json], bool]) -> Json:
        """Step 3, until ``done(batch)``."""
        for seen in self.client.watch(batch["id"], PATIENCE_S, POLL_S):
            if done(seen):
                return seen
        raise AssertionError(f"the batch ended first: {seen}")

    def end(self, batch: Json) -> Ended:
        """Steps 3 and 4."""
        batch = self.client.finish(batch["id"], PATIENCE_S, POLL_S)
        assert batch["status"] in TERMINAL
        return Ended(batch, self.rows(batch["output_file_id"]), self.rows(batch["error_file_id"]))

    def run(self, data: bytes | Path, endpoint: str = CHAT) -> Ended:
        """All four steps."""
        return self.end(self.start(data, endpoint))

    @contextmanager
    def held(self, count: int = 20, free: int = 0, *, word: str = "", **body: Any) -> Iterator[Json]:
        """A batch of ``count`` lines in its middle: the first ``free`` of them are answered and counted.

        The others are not answered before the block ends, however slow the machine is. Every text begins with ``word``.
        """
        word = word or mark()
        wait = f' @@{{"hold": "{word}"}}'
        texts = (f"{word} doc-{n}" + (wait if n >= free else "") for n in range(count))
        batch = self.start(jsonl(*(chat(f"doc-{n}", text, **body) for n, text in enumerate(texts))))
        try:
            yield self.until(batch, lambda seen: seen["request_counts"]["completed"] == free) if free else batch
        finally:
            self.backend.call("POST", "/__open", word.encode())

    def rows(self, file_id: str | None) -> list[Json]:
        """The lines of a result file; none if there is none."""
        return [json.loads(row) for row in self.client.content(file_id).splitlines()]

    def cancel(self, batch: Json) -> Answer:
        """Asks a batch to stop."""
        return self.call("POST", f"/batches/{batch['id']}/cancel")

    def ask(self, text: str, **more: Any) -> Answer:
        """A regular call with the same body that ``chat`` gives a line."""
        return self.call("POST", "/chat/completions", chat("x", text, **more)["body"])

    def calls(self, mark: str) -> int:
        """How often the model server was asked something that holds ``mark``."""
        seen = self.backend.call("GET", "/__stats").json["calls"]
        return sum(count for text, count in seen.items() if mark in text)


def answered(answer: Answer, what: str) -> Json:
    """The answered object; nothing but 200 will do."""
    found = granted(answer, what)
    assert answer.status == 200
    return found


def mark() -> str:
    """A word that no other test uses: the same bytes again would be the same file."""
    return uuid.uuid4().hex


def chat(custom_id: str, text: str, **body: Any) -> Json:
    """A line to chat completions."""
    content = {"model": "m-chat", "messages": [{"role": "user", "content": text}], **body}
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": content}


def vectors(custom_id: str, inputs: Any) -> Json:
    """A line to embeddings."""
    body = {"model": "m-embed", "input": inputs}
    return {"custom_id": custom_id, "method": "POST", "url": EMBED, "body": body}


def slow(custom_id: str, text: str, seconds: float = 0.3, **body: Any) -> Json:
    """A line that the model server takes its time over."""
    return chat(custom_id, f'{text} {custom_id} @@{{"delay": {seconds}}}', **body)


def refused(custom_id: str, text: str, status: int = 400, **body: Any) -> Json:
    """A line that the model server refuses for good."""
    fault = {"message": "no", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}
    return chat(custom_id, f"{text} @@{json.dumps({'status': status, 'error': fault})}", **body)


def several(count: int, text: str = "") -> list[Json]:
    """Lines that are all answered."""
    text = text or mark()
    return [chat(f"doc-{n}", f"{text} {n}") for n in range(count)]


def jsonl(*lines: Line) -> bytes:
    """The bytes of a file; texts and bytes go in as they are."""
    return b"".join(_bytes(line) + b"\n" for line in lines)


def _bytes(line: Line) -> bytes:
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)).encode()
