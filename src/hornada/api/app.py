"""The ASGI application: finds the route, admits the caller, answers, and spells whatever goes wrong."""

import logging
import time
from contextlib import nullcontext
from functools import cached_property
from typing import Any

from starlette.types import Receive, Scope, Send

from hornada.api import access, openapi
from hornada.api.call import (
    Call,
    ClientGone,
    Headers,
    Outgoing,
    Response,
    header,
    json_response,
    respond,
)
from hornada.api.content import RangeRefused
from hornada.api.metering import count, linger
from hornada.api.router import NotAllowed, Route, Router
from hornada.api.routes import table
from hornada.api.services import Services
from hornada.api.traffic import GONE, UNKNOWN
from hornada.core.account import Role
from hornada.core.errors import Code, Refusal, Unavailable
from hornada.core.ids import new_id

log = logging.getLogger(__name__)

_RETRY_S = 1
_UNTRACED = nullcontext()


class App:
    """An ASGI 3 application, plain down to the handlers: nothing stands between a stream and its reader."""

    def __init__(self, services: Services) -> None:
        self._admission = services.admission
        self._meter = services.meter
        self._dialects = services.dialects
        self._stopping = services.stopping
        self._traffic = services.traffic
        self._access_log = services.access_log
        self._traced = services.traced or (lambda _: _UNTRACED)
        self.routes = table(services, lambda: self._document, lambda: self._page)
        self._router = Router(self.routes, services.dialects)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection's call; anything but HTTP is turned away."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = "req_" + new_id()
        dialect, rest = self._router.dialect(scope)
        call = Call(scope, receive, Outgoing(send, request_id), request_id, dialect)
        began = time.perf_counter()
        try:
            with self._traced(call):
                await self._respond(call, rest)
        finally:
            self._ended(call, time.perf_counter() - began)

    async def _respond(self, call: Call, rest: str | None) -> None:
        try:
            response = await self._answer(call, rest)
        except ClientGone:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an envelope
            response = _failed(call, error)
        if response is not None:
            await (linger(call, response) if call.lingering else respond(call.send, response))

    async def _answer(self, call: Call, rest: str | None) -> Response | None:
        found = self._router.find(call.scope, rest)
        call.params = found.params
        call.route = found.route.path
        if not found.route.public:
            call.keyed = True
            self._traffic.open += 1
            self._check_open(call)
            call.principal = await self._admission.principal(_token(call.scope))
            if found.route.mounted:
                await count(call, self._meter)
            _check_belongs(call, found.route)
        return await found.route.handler(call)

    def _check_open(self, call: Call) -> None:
        """Raises Refusal SERVICE_UNAVAILABLE when the process takes on nothing new."""
        if self._stopping():
            call.closing = True
            raise Refusal(Code.SERVICE_UNAVAILABLE, "The server is stopping. Try again soon.", retry_after=_RETRY_S)

    def _ended(self, call: Call, seconds: float) -> None:
        if call.keyed:
            self._traffic.open -= 1
        route, method = (call.route, call.scope["method"]) if call.route else (UNKNOWN, UNKNOWN)
        self._traffic.ended(route, method, call.send.status or GONE, seconds)
        if self._access_log:
            access.note(call, seconds)

    @cached_property
    def _document(self) -> dict[str, Any]:
        return openapi.document(self.routes, self._dialects)

    @cached_property
    def _page(self) -> bytes:
        return openapi.page(self.routes, self._dialects)


def build(services: Services) -> App:
    """The application over these services."""
    return App(services)


def _check_belongs(call: Call, route: Route) -> None:
    """Raises Refusal PERMISSION_DENIED when the operator calls what is an organization's to do."""
    if route.members_only and call.principal.role is Role.OPERATOR:
        message = "The operator's key belongs to no organization; use the key of one for this."
        raise Refusal(Code.PERMISSION_DENIED, message)


def _failed(call: Call, error: Exception) -> Response | None:
    """The answer to a call that went wrong; None when its answer has begun and can only break off."""
    if call.send.started:
        log.error("%s broke off while it was being answered", call.id, exc_info=error, extra={"request_id": call.id})
        return None
    match error:
        case Refusal():
            return refused(call, error)
        case Unavailable():
            log.warning("%s could not be served: %s", call.id, error, extra={"request_id": call.id})
            message = "The server cannot do this at the moment; nothing was changed. Try again soon."
            return refused(call, Refusal(Code.SERVICE_UNAVAILABLE, message, retry_after=_RETRY_S))
        case _:
            log.error("%s failed", call.id, exc_info=error, extra={"request_id": call.id})
            message = f"The server failed; its operator finds the cause in the log under {call.id}."
            return refused(call, Refusal(Code.INTERNAL_ERROR, message))


def refused(call: Call, refusal: Refusal) -> Response:
    """A refusal in the dialect of the call."""
    spelled = call.dialect.error(refusal, call.id)
    headers = tuple((name.encode(), value.encode()) for name, value in spelled.headers.items())
    return json_response(spelled.body, spelled.status, (*headers, *_extra(call, refusal, spelled.status)))


def _extra(call: Call, refusal: Refusal, status: int) -> Headers:
    """Headers that HTTP wants with a refusal (RFC 9110: 11.6.1, 14.4, 15.5.6)."""
    extra: list[tuple[bytes, bytes]] = [(b"connection", b"close")] if call.closing else []
    if status == 401:
        extra.append((b"www-authenticate", b"Bearer"))
    if isinstance(refusal, NotAllowed):
        extra.append((b"allow", refusal.allow.encode()))
    if isinstance(refusal, RangeRefused):
        extra.extend(refusal.headers)
    return tuple(extra)


def _token(scope: Scope) -> str | None:
    """The key of a call: ``Authorization: Bearer``, or ``api-key`` as Azure's clients send it."""
    scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return header(scope, b"api-key") or None


async def _lifespan(receive: Receive, send: Send) -> None:
    """Says yes: what is to be started and stopped is the service's, not the application's."""
    while True:
        phase = (await receive())["type"]
        await send({"type": phase + ".complete"})
        if phase == "lifespan.shutdown":
            return
