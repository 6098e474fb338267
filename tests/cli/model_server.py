"""A model server for one test: it answers at once, refuses what it is told to refuse, and can hold its answers back."""

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MODEL = "m"


class ModelServer:
    """A context manager; ``base`` ends in ``/v1``.

    A message in ``refused`` gets a 400, the answer to one in ``cut_off`` ends at its limit of tokens. While ``gate``
    is clear, all calls but the first ``free`` wait.
    """

    def __init__(self, free: int = 0, models: Sequence[str] = (MODEL,)) -> None:
        self.models = models
        self.refused = {"refuse"}
        self.cut_off = {"cut"}
        self.gate = threading.Event()
        self.gate.set()
        self.asked: list[str] = []
        self.free = free
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body for one call."""
        said = body["messages"][0]["content"]
        with self._lock:
            self.asked.append(said)
            waits = len(self.asked) > self.free
        if waits:
            self.gate.wait(300)
        if said in self.refused:
            return 400, {"error": {"message": "no", "type": "invalid_request_error", "code": 400}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        ended = "length" if said in self.cut_off else "stop"
        choice = {"message": {"role": "assistant", "content": said.upper()}, "finish_reason": ended}
        return 200, {"choices": [choice], "usage": usage}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                data = [{"id": name, "object": "model"} for name in server.models]
                self._reply(200, {"object": "list", "data": data})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self._reply(*server.answer(body))

            def _reply(self, status: int, body: dict[str, Any]) -> None:
                content = json.dumps(body).encode()
                try:
                    self.send_response(status)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        return Handler
