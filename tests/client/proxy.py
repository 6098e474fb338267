"""A thin proxy in front of a batch server: it forwards, and does to some calls what networks and other servers do."""

import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import urlsplit

Meddle = Callable[[str, str, int], str | tuple[int, dict[str, str]] | None]
"""Told method, path and how often that was asked before.

``"cut"``: half of the answer; ``"lose"``: none of it, though the server has done it; a status with headers: that
instead; None: as it is.
"""


class Proxy:
    """A context manager; ``base`` stands for ``upstream``. Knows only OpenAI's own routes when ``plain``."""

    def __init__(self, upstream: str, meddle: Meddle = lambda *_: None, *, plain: bool = False) -> None:
        self.asked: list[tuple[str, str]] = []
        self._upstream = urlsplit(upstream)
        self._meddle = meddle
        self._plain = plain
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._server.server_port}{self._upstream.path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                path = self.path.removeprefix(proxy._upstream.path)
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                before = proxy.asked.count((self.command, path))
                proxy.asked.append((self.command, path))
                does = proxy._meddle(self.command, path, before)
                if proxy._plain and path.partition("?")[0].endswith(("/results", "/events", "/retry", "/validate")):
                    does = (404, {})
                self.close_connection = True
                if isinstance(does, tuple):
                    self._reply(does[0], {**does[1], "content-length": "0"}, b"")
                    return
                status, headers, content = self._forward(body)
                if does == "lose":
                    return
                self._reply(status, headers, content[: len(content) // 2] if does == "cut" else content)

            def do_GET(self) -> None:
                self.handle_any()

            def do_POST(self) -> None:
                self.handle_any()

            def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
                upstream = proxy._upstream
                connection = http.client.HTTPConnection(upstream.hostname or "", upstream.port, timeout=30)
                skipped = {"host", "connection", "content-length"}
                sent = {name: value for name, value in self.headers.items() if name.lower() not in skipped}
                try:
                    connection.request(self.command, self.path, body or None, sent)
                    answer = connection.getresponse()
                    dropped = {"connection", "transfer-encoding", "date", "server"}
                    headers = {name: value for name, value in answer.getheaders() if name.lower() not in dropped}
                    return answer.status, headers, answer.read()
                finally:
                    connection.close()

            def _reply(self, status: int, headers: dict[str, str], content: bytes) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
