"""A thin proxy in front of a batch server: it forwards, and does to some calls what networks and other servers do."""

import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import urlsplit

Meddle = Callable[[str, str, int], str | tuple[int, dict[str, str]] | None]
"""Told method, path and how often that was asked before.

``"cut"``: half of the answer; ``"lose"``: none of it, though the server has done it; ``"spoil"``: other bytes; a status
with headers: that instead; None: as it is.
"""


class Proxy:
    """A context manager; ``base`` stands for ``upstream``. Knows only OpenAI's own routes when ``plain``."""

    def __init__(self, upstream: str, meddle: Meddle = lambda *_: None, *, plain: bool = False) -> None:
        self.asked: list[tuple[str, str]] = []
        self.upstream = urlsplit(upstream)
        self._meddle = meddle
        self._plain = plain
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": self}))
        self._server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._server.server_port}{self.upstream.path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def does(self, method: str, path: str) -> str | tuple[int, dict[str, str]] | None:
        """What becomes of a call, which is noted."""
        before = self.asked.count((method, path))
        self.asked.append((method, path))
        own = path.partition("?")[0].endswith(("/results", "/events", "/retry", "/validate"))
        return (404, {}) if self._plain and own else self._meddle(method, path, before)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def do_GET(self) -> None:
        self._any()

    def do_POST(self) -> None:
        self._any()

    def do_DELETE(self) -> None:
        self._any()

    def _any(self) -> None:
        path = self.path.removeprefix(self.proxy.upstream.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        does = self.proxy.does(self.command, path)
        self.close_connection = True
        if isinstance(does, tuple):
            self._reply(does[0], {**does[1], "content-length": "0"}, b"")
            return
        status, headers, content = self._forward(body)
        match does:
            case "lose":
                return
            case "cut":
                content = content[: len(content) // 2]
            case "spoil":
                content = content.swapcase()
        self._reply(status, headers, content)

    def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        upstream = self.proxy.upstream
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
