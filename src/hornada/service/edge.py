"""What stands between the socket and the application: HTTP's heads, TLS, and which pages of other sites may call."""

import logging
import ssl
from collections.abc import Sequence
from pathlib import Path

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hornada.config.certificates import no_passphrase
from hornada.service.reload import Stamp, stamp

log = logging.getLogger("hornada")

RENEW_S = 60.0
"""How often the certificate's files are looked at, in seconds."""
HEAD_BYTES = 64 * 1024
"""So much of a head, or of what may follow a body, may come before it is whole; what one read brings is beside it."""
_PREFLIGHT_S = 3600

_Stamps = tuple[Stamp, Stamp]


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


class Bounded(HttpToolsProtocol):
    """uvicorn's protocol, without its patience: its parser gathers a header for as long as one comes.

    Each read copies all that was gathered, so one header of a few hundred megabytes, which needs no key, would stop the
    process for minutes.
    """

    _gathered = 0

    def data_received(self, data: bytes) -> None:
        """Takes what came; ends the connection when too much of it led to nothing."""
        self._gathered += len(data)
        if self._gathered > HEAD_BYTES + len(data):
            self._refuse()
            return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """A call begins."""
        self._gathered = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        self._gathered = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Some of its body."""
        self._gathered = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """It is whole."""
        self._gathered = 0
        super().on_message_complete()

    def _refuse(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.send_400_response(f"The head of a call may have {HEAD_BYTES} bytes.")
        else:  # in the middle of an answer
            self.transport.close()


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
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=no_passphrase)
            self._context.load_cert_chain(certificate, key, password=no_passphrase)
        except (OSError, ValueError) as error:
            log.error("the certificate in %s cannot be used, the one before stays: %s", certificate, error)  # noqa: TRY400 - no traceback
        else:
            log.info("the certificate in %s was renewed", certificate)

    def _stamps(self) -> _Stamps | None:
        certificate, key = (stamp(Path(file)) for file in self._files)
        return None if certificate is None or key is None else (certificate, key)
