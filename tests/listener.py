"""A receiver of webhooks for tests of a real server: a small HTTP server in a thread."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

ALLOWED = {"allow_http": True, "allow_networks": ["127.0.0.0/8"]}
"""What lets a server send to this machine."""


class Heard(NamedTuple):
    """One message."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Listener:
    """Keeps what it hears; ``status`` is what it answers."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.status = 200
        self.url = ""
        self._news = threading.Condition()

    def add(self, message: Heard) -> None:
        """Takes a message."""
        with self._news:
            self.heard.append(message)
            self._news.notify_all()

    def wait(self, n: int, seconds: float = 60) -> list[Heard]:
        """What was heard once there are so many messages."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.heard) >= n, seconds), f"{len(self.heard)} of {n} messages came"
        return self.heard[:n]


@contextmanager
def listening() -> Iterator[Listener]:
    """A listener on a port of its own."""
    listener = Listener()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            listener.add(Heard(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(listener.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
