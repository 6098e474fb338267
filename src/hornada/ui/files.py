"""The dashboard's files as HTTP sends them: packed, tagged, and with what a browser may do with them."""

import base64
import gzip
import hashlib
import json
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable

from msgspec import Struct

Headers = tuple[tuple[bytes, bytes], ...]

MEDIA = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".mjs": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".json": b"application/json; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".LICENSE": b"text/plain; charset=utf-8",
}
IMPORTS = {"preact": "preact.mjs", "preact/hooks": "preact-hooks.mjs", "htm": "htm.mjs"}
"""What the modules import by name, and the file under ``vendor`` that it is."""

GUARDS: Headers = (
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
_FOREVER = b"public, max-age=31536000, immutable"
_ASK = b"no-cache"


class File(Struct, frozen=True):
    """A file with its gzip form, its ``ETag`` and the rest of its headers."""

    body: bytes
    packed: bytes
    tag: bytes
    headers: Headers


class Dashboard:
    """The page at ``/ui/`` and what it loads from ``/ui/assets/DIGEST/``, whose digest changes with any of the files.

    ``base``: where the API's calls start. Files are read when they are first asked for, and kept.
    """

    def __init__(self, base: str) -> None:
        self._base = base

    def find(self, path: str) -> File | None:
        """The file at a path below ``/ui/``, or None; the page is at the empty one, and for ``/ui`` itself at ``.``."""
        return self._files.get(path)

    @cached_property
    def _files(self) -> dict[str, File]:
        found = dict(_read(files("hornada.ui") / "static", ""))
        page = found.pop("index.html")
        every = b"".join(name.encode() + b"\0" + _digest(body) for name, body in sorted(found.items()))
        assets = "assets/" + _digest(every).hex()[:16]
        served = {f"{assets}/{name}": _file(name, body, _FOREVER) for name, body in found.items()}
        served[""] = self._page(page.decode(), assets)
        served["."] = self._page(page.decode(), "ui/" + assets)
        return served

    def _page(self, page: str, assets: str) -> File:
        imports = json.dumps({"imports": {name: f"./{assets}/vendor/{file}" for name, file in IMPORTS.items()}})
        body = page.replace("{assets}", assets).replace("{base}", self._base).replace("{imports}", imports)
        return _file("index.html", body.encode(), _ASK, (b"content-security-policy", policy(imports)))


def policy(imports: str) -> bytes:
    """The page's Content-Security-Policy: its own files and calls only, and no text that becomes markup or script.

    ``imports``: the text of the one script that stands in the page itself, which says where modules are.
    """
    allowed = base64.b64encode(_digest(imports.encode())).decode()
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'sha256-{allowed}'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    ).encode()


def _read(folder: Traversable, below: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _read(entry, f"{below}{entry.name}/")
        elif _suffix(entry.name) in MEDIA:
            found.append((below + entry.name, entry.read_bytes()))
    return found


def _file(name: str, body: bytes, cache: bytes, *more: tuple[bytes, bytes]) -> File:
    headers = ((b"content-type", MEDIA[_suffix(name)]), (b"cache-control", cache), *more, *GUARDS)
    return File(body, gzip.compress(body, 9, mtime=0), b'"%s"' % _digest(body).hex()[:32].encode(), headers)


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()
