"""Regular calls over HTTP: the body in, one engine call, the answer out, piece by piece if it is a stream."""

import asyncio
from collections.abc import Mapping

import msgspec
from starlette.types import Receive, Scope, Send

from hornada.api.call import ClientGone, header
from hornada.core.account import Principal
from hornada.core.errors import Code, Refusal
from hornada.engine.declined import Declined
from hornada.engine.gateway import Called, CalledStream, Gateway

_JSON = b"application/json"
_EVENTS_END = (b"\n\n", b"\r\n\r\n", b"\r\r")
_NOT_IMPLEMENTED = 501
_UNWATCHED_S = 0.02


class Regular:
    """A raw ASGI handler, entered when the caller is known. Refusals and ClientGone are for its caller to answer."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send, principal: Principal, endpoint: str, request_id: str
    ) -> None:
        """Answers one call; when the client hangs up, the call to the model server is dropped at once."""
        body = await self._body(scope, receive)
        task = asyncio.current_task()
        assert task is not None
        watch = _Watch(receive, task)
        try:
            called = await self._gateway.call(principal, endpoint, body)
            match called:
                case Called():
                    await _whole(send, called.status, _passed(called.headers), called.body, request_id)
                case CalledStream():
                    await _relay(send, called, request_id)
                case Declined():
                    await _whole(send, called.status, _said(called), _envelope(called, request_id) + b"\n", request_id)
        except asyncio.CancelledError:
            if not watch.gone:
                raise
            task.uncancel()
            raise ClientGone from None
        finally:
            watch.end()

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        encoding = header(scope, b"content-encoding") or "identity"
        if encoding.lower() != "identity":
            what = f"Content-Encoding '{encoding[:64]}' is not supported for this call; send the body as it is."
            raise Refusal(Code.UNSUPPORTED_ENCODING, what)
        most = self._gateway.request_bytes
        declared = header(scope, b"content-length") or "0"
        if declared.isdecimal() and (len(declared) > 18 or int(declared) > most):
            raise _too_large(most, declared)
        message = await receive()
        pieces, size = [], 0
        while message["type"] == "http.request":
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > most:
                raise _too_large(most, f"more than {most}")
            if not message.get("more_body", False):
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
            message = await receive()
        raise ClientGone


def _too_large(most: int, actual: str) -> Refusal:
    message = f"The request body is too large: at most {most} bytes are taken here, but got {actual}."
    return Refusal(Code.REQUEST_TOO_LARGE, message)


class _Watch:
    """Cancels a call when its client hangs up: servers do not cancel a handler whose client has gone.

    It begins after a moment: most calls that end within it need no task beside them.
    """

    def __init__(self, receive: Receive, task: "asyncio.Task[None]") -> None:
        self.gone = False
        self._receive = receive
        self._called = task
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(_UNWATCHED_S, self._begin)

    def end(self) -> None:
        """The call is over."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone = True
        self._called.cancel()


async def _whole(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes, request_id: str) -> None:
    headers += [(b"content-length", b"%d" % len(body)), (b"x-request-id", request_id.encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _relay(send: Send, stream: CalledStream, request_id: str) -> None:
    headers = _passed(stream.headers)
    headers += [
        (b"cache-control", b"no-cache"),
        (b"x-accel-buffering", b"no"),
        (b"x-request-id", request_id.encode()),
    ]
    piece = b""
    try:
        await send({"type": "http.response.start", "status": stream.status, "headers": headers})
        async for piece in stream:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except Refusal as broken:
        if not (piece or b"\n\n").endswith(_EVENTS_END):
            return  # without its end: only a connection that breaks off tells the client that something is missing
        error = _envelope(_declined(broken), request_id)
        await send({"type": "http.response.body", "body": b"data: " + error + b"\n\n", "more_body": True})
    finally:
        await stream.aclose()
    await send({"type": "http.response.body", "body": b""})


def _passed(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """What of the model server's headers is the client's business."""
    passed = [(b"content-type", headers.get("content-type", "application/json").encode("latin-1"))]
    if "openai-processing-ms" in headers:
        passed.append((b"openai-processing-ms", headers["openai-processing-ms"].encode("latin-1")))
    return passed


def _said(declined: Declined) -> list[tuple[bytes, bytes]]:
    """Headers of a model server's refusal; what it does not have, it will not have the next time (both SDKs obey)."""
    headers = [(b"content-type", _JSON)]
    if declined.status == _NOT_IMPLEMENTED:
        headers.append((b"x-should-retry", b"false"))
    return headers


def _declined(broken: Refusal) -> Declined:
    return Declined(status=502, message=broken.message, kind="server_error", param=None, code=broken.code)


def _envelope(declined: Declined, request_id: str) -> bytes:
    error = {
        "message": declined.message,
        "type": declined.kind,
        "param": declined.param,
        "code": declined.code,
        "request_id": request_id,
    }
    return msgspec.json.encode({"error": error})
