"""What stands between the socket and the application: HTTP's heads, TLS, and which pages of other sites may call."""

import asyncio
import logging
import ssl
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import cast

import msgspec
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hornada.config.certificates import no_passphrase
from hornada.core.errors import Code
from hornada.core.ids import new_id
from hornada.dialects.codes import STATUS, envelope, kind_of
from hornada.service.reload import Stamp, stamp

log = logging.getLogger("hornada")

RENEW_S = 60.0
"""How often the certificate's files are looked at, in seconds."""
HEAD_BYTES = 64 * 1024
"""So much of a head, or of what may follow a body, may come before it is whole; what one read brings is beside it."""
_PREFLIGHT_S = 3600
HEAD_S = 30.0
"""So many seconds a connection may take for the head of a call, once it stands or something of that head has come."""
BODY_S = 300.0
"""In each stretch of so many seconds a body must bring ..."""
BODY_BYTES = 32 * 1024
"""... so many bytes, or end; not while the server itself is slow to take them."""

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
    process for minutes. And a connection on which a head, or a body, comes byte by byte would be held for ever.
    """

    head_s, body_s = HEAD_S, BODY_S
    _heard = False
    _gathered = 0
    _in_body = False
    _brought = 0
    _excused = False
    _timer: asyncio.TimerHandle | None = None
    _timed_body = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there; its first head is awaited."""
        super().connection_made(cast(asyncio.Transport, transport))
        self._time(body=False)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes what came; ends the connection when too much of it led to nothing."""
        self._heard = True
        self._gathered += len(data)
        if self._gathered > HEAD_BYTES + len(data):
            self._refuse(Code.INVALID_HTTP, f"The head of a call may have {HEAD_BYTES} bytes.")
            return
        super().data_received(data)
        self._watch()

    def on_message_begin(self) -> None:
        """A call begins."""
        self._gathered = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        super().on_headers_complete()  # raises when the path is none
        self._gathered, self._in_body, self._brought = 0, True, 0

    def on_body(self, body: bytes) -> None:
        """Some of its body."""
        self._gathered = 0
        self._brought += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """It is whole."""
        self._gathered, self._in_body, self._heard = 0, False, False
        super().on_message_complete()

    def _watch(self) -> None:
        """Sees to it that what is awaited of the client has its time, and nothing else has."""
        if self.transport.is_closing() or not (self._in_body or self._at_rest):
            self._stop()
        elif self._timer is None or self._timed_body is not self._in_body:
            self._time(body=self._in_body)
        self._excused = self._excused or self.flow.read_paused

    @property
    def _at_rest(self) -> bool:
        """No call is under way."""
        return self.cycle is None or self.cycle.response_complete

    def _time(self, *, body: bool) -> None:
        self._stop()
        self._timed_body, self._excused = body, self.flow.read_paused
        self._timer = self.loop.call_later(self.body_s if body else self.head_s, self._late)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if not self._timed_body:
            self._refuse(Code.REQUEST_TIMEOUT, f"The head of a call must be whole after {self.head_s:g} seconds.")
        elif self._brought >= BODY_BYTES or self._excused or self.flow.read_paused:
            self._brought = 0
            self._time(body=True)
        else:
            message = f"A body must bring {BODY_BYTES} bytes in {self.body_s:g} seconds, or end."
            self._refuse(Code.REQUEST_TIMEOUT, message)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words and plain text
        """The parser met what is no HTTP."""
        self._refuse(Code.INVALID_HTTP, "What was sent is not valid HTTP/1.1.")

    def _refuse(self, code: Code, message: str) -> None:
        """Ends the connection, with a word where somebody waits for an answer that has not begun."""
        if self.transport.is_closing():
            return
        awaited = not self.cycle.response_started if self._in_body else self._at_rest and self._heard
        if awaited and not self.pipeline:  # behind a call under way it would be taken for that one's answer
            self._answer(code, message)
        self.transport.close()

    def _answer(self, code: Code, message: str) -> None:
        """A refusal from below the application, in the envelope of all others, and the end of the connection."""
        status, request_id = STATUS[code], "req_" + new_id()
        body = msgspec.json.encode(envelope(message, kind_of(status, {}), None, code, request_id)) + b"\n"
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
        head += f"content-length: {len(body)}\r\nx-request-id: {request_id}\r\nconnection: close\r\n\r\n"
        self.transport.write(head.encode() + body)


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
