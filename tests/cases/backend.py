"""A mock model server with fault directives: it echoes the user's text and obeys the JSON after ``@@`` in it.

Text means the last user message (or its text parts), ``prompt`` or ``input``. Without a directive the answer is
``ECHO:`` + text. Directives::

    @@{"delay": 1}                                    wait, then answer
    @@{"status": 429, "times": 2, "retry_after": 1}   fail that often, then answer
    @@{"status": 400, "error": {...}}                 fail always (no "times")
    @@{"say": "...", "repeat": 3}                     answer this text, repeated
    @@{"empty": true}                                 content null, finish_reason length, reasoning only
    @@{"raw": "<html>", "ctype": "text/html"}         this body, verbatim
    @@{"inband": {...}}                               status 200 with {"error": ...}
    @@{"sse": true}                                   an event stream though none was asked for
    @@{"drop": true, "times": 1}                      close the connection in the middle of the body
    @@{"hang": 30}                                    accept, then say nothing for that long
    @@{"hold": "word"}                                wait until ``POST /__open`` with that word as body, then answer

``GET /__stats`` tells what arrived (calls by text, models, paths, headers, raw bodies, peak concurrency);
``POST /__reset`` forgets it. After ``POST /__gauge``, ``/metrics`` says how many calls it is at, as vLLM does. Run as
``python -m tests.cases.backend --port N``.
"""

import argparse
import contextlib
import http.server
import json
import threading
import time
from typing import Any

from tests.cases.answers import Directive, Json, answer, directive, refusal, text_of

MODELS = ("m-chat", "m-other", "m-nobatch", "m-text", "m-embed")
KEY_LENGTH = 400
HOLD_S = 300.0
"""How long a held call waits at most, in seconds: longer than a test, not for ever."""


class Stats:
    """What arrived, counted under one lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.gauge = False
        self.opened: set[str] = set()
        self.open = threading.Condition(self.lock)
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        self.seen: dict[str, Any] = {"calls": {}, "models": {}, "paths": {}, "log": []}
        self.seen.update(running=0, peak=0, total=0)

    def arrive(self, text: str, path: str, request: Json, headers: dict[str, str], raw: bytes) -> int:
        """Counts a call; how many with this text came before it."""
        key = text[:KEY_LENGTH]
        with self.lock:
            seen = self.seen
            seen["total"] += 1
            seen["running"] += 1
            seen["peak"] = max(seen["peak"], seen["running"])
            before = int(seen["calls"].get(key, 0))
            seen["calls"][key] = before + 1
            for table, name in (("models", str(request.get("model"))), ("paths", path)):
                seen[table][name] = seen[table].get(name, 0) + 1
            if len(seen["log"]) < KEY_LENGTH:
                shown = raw[:20000].decode("utf-8", "backslashreplace")
                seen["log"].append({"text": key, "path": path, "headers": headers, "raw": shown, "bytes": len(raw)})
            return before

    def hold(self, word: str) -> None:
        """Returns when ``word`` is let through."""
        with self.open:
            self.open.wait_for(lambda: word in self.opened, HOLD_S)

    def let(self, word: str) -> None:
        """Lets those through that are held by ``word``, now and later."""
        with self.open:
            self.opened.add(word)
            self.open.notify_all()

    def depart(self) -> None:
        """A call is over."""
        with self.lock:
            self.seen["running"] -= 1


STATS = Stats()


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def put(
        self, status: int, body: Json | str, kind: str = "application/json", retry_after: str | None = None
    ) -> None:
        """Sends a whole answer."""
        data = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """Stats, models, or a health check."""
        if self.path == "/__stats":
            with STATS.lock:
                self.put(200, STATS.seen)
        elif self.path.rstrip("/").endswith("/models"):
            self.put(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]})
        elif self.path == "/metrics" and STATS.gauge:
            with STATS.lock:
                running = STATS.seen["running"]
            self.put(200, f"vllm:num_requests_running {running}\nvllm:num_requests_waiting 0\n", "text/plain")
        else:
            with STATS.lock:
                STATS.seen["paths"][self.path] = STATS.seen["paths"].get(self.path, 0) + 1
            self.put(200, {"status": "ok"})

    def do_POST(self) -> None:
        """A model call."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/__reset":
            with STATS.lock:
                STATS.reset()
            self.put(200, {})
            return
        if self.path == "/__open":
            STATS.let(raw.decode())
            self.put(200, {})
            return
        if self.path == "/__gauge":
            STATS.gauge = True
            self.put(200, {})
            return
        try:
            request = json.loads(raw)
        except (ValueError, RecursionError):
            request = {}
        request = request if isinstance(request, dict) else {}
        text = text_of(request)
        before = STATS.arrive(text, self.path, request, dict(self.headers), raw)
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.obey(request, text, directive(text), before)
        finally:
            STATS.depart()

    def obey(self, request: Json, text: str, asked: Directive, before: int) -> None:
        """Answers as the directive says; its fault only the first ``times`` times."""
        time.sleep(float(asked.get("delay", 0)))
        if "hold" in asked:
            STATS.hold(str(asked["hold"]))
        if "times" in asked and before >= int(asked["times"]):
            self.put(*answer(self.path, request, text, asked))
        elif asked.get("hang"):
            time.sleep(float(asked["hang"]))
            self.close_connection = True
        elif asked.get("drop"):
            self.drop(request, text)
        elif "raw" in asked:
            self.put(int(asked.get("status", 200)), asked["raw"], asked.get("ctype", "application/json"))
        elif "inband" in asked:
            self.put(200, {"error": asked["inband"]})
        elif asked.get("sse"):
            self.put(200, self.events(request, text), "text/event-stream")
        elif int(asked.get("status", 200)) >= 400:
            self.refuse(asked)
        else:
            self.put(*answer(self.path, request, text, asked))

    def refuse(self, asked: Directive) -> None:
        """An error status with an error body."""
        status = int(asked["status"])
        kind = "server_error" if status >= 500 else "invalid_request_error"
        code = "rate_limit_exceeded" if status == 429 else None
        body = {"error": asked["error"]} if "error" in asked else refusal(f"mock {status}", kind, code)
        self.put(status, body, retry_after=str(asked["retry_after"]) if "retry_after" in asked else None)

    def drop(self, request: Json, text: str) -> None:
        """Half an answer, then the end of the connection."""
        data = json.dumps(answer(self.path, request, text, {})[1]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        self.wfile.flush()
        self.close_connection = True

    def events(self, request: Json, text: str) -> str:
        """The answer as server-sent events."""
        head = {"id": "chatcmpl-mock", "object": "chat.completion.chunk", "created": 1, "model": request.get("model")}
        deltas: list[tuple[Json, str | None]] = [
            ({"role": "assistant", "content": "ECHO:"}, None),
            ({"content": text}, "stop"),
        ]
        parts = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
        return "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"


class Server(http.server.ThreadingHTTPServer):
    """Room for many connections at once."""

    daemon_threads = True
    request_queue_size = 1024


def main() -> None:
    """Serves until it is killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, required=True)
    with Server(("127.0.0.1", parser.parse_args().port), Handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
