"""What stands between the socket and the application: TLS, and which pages of other sites may call."""

import logging
import ssl
from collections.abc import Sequence
from pathlib import Path

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

log = logging.getLogger("hornada")

RENEW_S = 60.0
"""How often the certificate's files are looked at, in seconds."""
_PREFLIGHT_S = 3600

_Stamps = tuple[tuple[int, int, int], ...]


def shared(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """The application, callable from pages of these origins ("*": of all); without any the application itself.

    Keys travel in a header, never in a cookie, so no call carries rights that the page does not hold itself.
    """
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=list(origins),
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["*"],
        expose_headers=["*"],
        max_age=_PREFLIGHT_S,
    )


class Renewal:
    """Takes over a certificate that was renewed in its place: new connections get it, open ones go on."""

    def __init__(self, context: ssl.SSLContext, certificate: str, key: str) -> None:
        self._context = context
        self._files = (certificate, key)
        self._seen = self._stamps()

    async def once(self) -> bool:
        """Reads the files if they have changed; one that is wrong is told and the one before stays."""
        found = self._stamps()
        if found is not None and found != self._seen:
            self._seen = found
            self._read()
        return False

    def _read(self) -> None:
        certificate, key = self._files
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_locked)
            self._context.load_cert_chain(certificate, key, password=_locked)
        except (OSError, ValueError) as error:
            log.error("the certificate in %s cannot be used, the one before stays: %s", certificate, error)  # noqa: TRY400 - no traceback
        else:
            log.info("the certificate in %s was renewed", certificate)

    def _stamps(self) -> _Stamps | None:
        try:
            found = [Path(file).stat() for file in self._files]
        except OSError:
            return None
        return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in found)


def _locked() -> str:
    raise ValueError("the key is locked with a passphrase")
