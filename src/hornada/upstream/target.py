"""What a request to one model server starts with: where it goes, and a head in which nothing can be smuggled."""

import re
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from hornada import __version__
from hornada.core.catalog import Server

_PATH = re.compile(r"//?[!-\"$-~]*\Z")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE = re.compile(r"[\t -~\x80-\xff]*\Z")
_FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection", "expect", "upgrade"})
_KNOWN_HEADS = 64
_PORTS = {"http": 80, "https": 443}


class Target:
    """A model server's address and key, taken apart once."""

    __slots__ = ("_base", "_heads", "_key", "_query", "authority", "host", "label", "port", "secure")

    def __init__(self, server: Server) -> None:
        """Raises ValueError when the address or the key cannot be put into a request."""
        parts = urlsplit(server.url)
        self.host = parts.hostname or ""
        self.secure = parts.scheme == "https"
        self.port = parts.port or _PORTS[parts.scheme]
        self.label = f"{self.host}:{self.port}"
        self.authority = parts.netloc.rpartition("@")[2]
        self._base = parts.path.rstrip("/")
        self._query = f"?{parts.query}" if parts.query else ""
        self._key = checked_headers({"authorization": f"Bearer {server.api_key}"} if server.api_key else {})
        self._heads: dict[tuple[str, str], bytes] = {}
        checked_headers({"host": self.authority}, framing=True)

    def path(self, path: str) -> str:
        """Where ``path`` lies on the host: below the base address, or below the root when it starts with ``//``.

        Raises ValueError when it could not stand in a request line.
        """
        if not _PATH.match(path):
            msg = f"No path for a request: {path!r}."
            raise ValueError(msg)
        return path[1:] if path.startswith("//") else self._base + path + self._query

    def head(self, method: str, path: str) -> bytes:
        """The head of a request up to, and without, ``Content-Length`` and what a single call adds."""
        found = self._heads.get((method, path))
        if found is None:
            found = self._compose(method, path)
            if len(self._heads) < _KNOWN_HEADS:
                self._heads[method, path] = found
        return found

    def headers(self, method: str) -> dict[str, str]:
        """Headers of every request."""
        fixed = {"user-agent": f"hornada/{__version__}", "accept": "*/*", **self._key}
        return fixed | {"content-type": "application/json"} if method == "POST" else fixed

    def _compose(self, method: str, path: str) -> bytes:
        line = f"{method} {self.path(path)} HTTP/1.1\r\n".encode("ascii")
        return line + lines({"host": self.authority} | self.headers(method))


def checked_headers(headers: Mapping[str, str], *, framing: bool = False) -> Mapping[str, str]:
    """The headers, if none of them can end a line early or (unless ``framing``) change where a message ends.

    Raises ValueError that names the header, never its value.
    """
    for name, value in headers.items():
        if not _NAME.match(name) or (not framing and name.lower() in _FRAMING) or not _VALUE.match(value):
            msg = f"The header {name!r} cannot be sent as it is."
            raise ValueError(msg)
    return headers


def trust(ca_file: str | None = None) -> ssl.SSLContext:
    """Whom to believe over TLS: the system's authorities, or those of ``SSL_CERT_FILE``, and those of ``ca_file``.

    HTTP/1.1 is all we speak. Raises OSError when the file cannot be read or holds no certificate.
    """
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    context.set_alpn_protocols(["http/1.1"])
    return context


def lines(headers: Mapping[str, str]) -> bytes:
    """Header lines as they go over the wire."""
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")
