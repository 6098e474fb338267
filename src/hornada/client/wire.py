"""HTTP to a batch server: calls that are repeated when that is safe, uploads and downloads that are streamed."""

import email.utils
import json
import random
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, cast
from urllib.error import URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request, UnknownHandler

from hornada import __version__
from hornada.client.faults import BadInput, ClientError, Garbled, Refused, Unreached
from hornada.core.ids import new_id

Json = dict[str, Any]
Body = Callable[[], Iterable[bytes]]
"""Gives the bytes of a request's body anew for each try."""

PIECE = 1 << 18
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_FIRST_TRIES = 3
"""Tries of a server that has not answered once: a wrong address should be told soon."""
_FIRST_WAIT_S = 0.5
_MOST_WAIT_S = 30.0
_MOST_REFUSAL = 1 << 20


Note = Callable[[str, float], None]
"""Hears why a call has to be repeated, and in how many seconds it is."""


class Wire:
    """One server and one key. ``patience_s``: for how long a server that is away or busy is asked again."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        *,
        patience_s: float = 120.0,
        timeout_s: float = 600.0,
        on_wait: Note | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        if urlsplit(self.base_url).scheme not in {"http", "https"} or not urlsplit(self.base_url).hostname:
            example = "http://127.0.0.1:8080/v1"
            raise BadInput(f'The base URL must be one with its scheme, such as "{example}", not "{base_url}".')
        self._key = api_key
        self._patience_s = patience_s
        self._timeout_s = timeout_s
        self._on_wait = on_wait
        self._met = False
        self._opener = OpenerDirector()
        for handler in (ProxyHandler(), _Http(), _Https(), UnknownHandler()):
            self._opener.add_handler(handler)  # none that follows redirects: they would carry the key elsewhere

    def get(self, *path: str, **query: str | int | None) -> Json:
        """``GET``; the object answered. Raises Refused, Unreached and Garbled, as every call."""
        return self._json("GET", path, query=query)

    def post(
        self, *path: str, body: Json | None = None, headers: Mapping[str, str] | None = None, once: bool = False
    ) -> Json:
        """``POST`` of JSON. ``once``: not sent again where it may have arrived; see Unreached.sent."""
        data = b"" if body is None else json.dumps(body).encode()
        sent = {"content-type": "application/json", **(headers or {})}
        return self._json("POST", path, body=lambda: [data], size=len(data), headers=sent, once=once)

    def delete(self, *path: str) -> Json:
        """``DELETE``; the object answered."""
        return self._json("DELETE", path)

    def upload(self, name: str, size: int, body: Body, fields: Mapping[str, str], *, key: str) -> Json:
        """``POST /files`` of ``size`` bytes, streamed, behind the form's other ``fields``."""
        boundary = "hornada" + new_id()
        plain = name.replace("\\", "_").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        others = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
            for field, value in fields.items()
        )
        head = (
            f'{others}--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{plain}"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        ).encode()
        tail = f"\r\n--{boundary}--\r\n".encode()

        def whole() -> Iterable[bytes]:
            yield head
            yield from body()
            yield tail

        headers = {
            "content-type": f"multipart/form-data; boundary={boundary}",
            "idempotency-key": key,
        }
        return self._json("POST", ("files",), body=whole, size=len(head) + size + len(tail), headers=headers)

    def send(self, *path: str, size: int, body: Body, **query: str | int | None) -> Json:
        """``POST`` of ``size`` bytes as they are, streamed."""
        headers = {"content-type": "application/jsonl"}
        return self._json("POST", path, body=body, size=size, headers=headers, query=query)

    def open(
        self,
        *path: str,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        **query: str | int | None,
    ) -> HTTPResponse:
        """``GET`` whose answer is read by the caller, who closes it; its status is below 300."""
        return self._send("GET", path, headers=headers or {}, timeout_s=timeout_s, query=query)

    def _json(self, method: str, path: tuple[str, ...], **more: Any) -> Json:
        with self._send(method, path, **more) as answer:
            try:
                found = json.loads(answer.read())
            except (HTTPException, OSError) as error:
                raise Unreached(f"{self.base_url} broke off its answer: {error}.", sent=True) from None
            except (ValueError, RecursionError):
                found = None
        if not isinstance(found, dict):
            call = f"{method} /{'/'.join(path)}"
            raise Garbled(f"What answers at {self.base_url} is no batch server: {call} gave no JSON.")
        return found

    def _send(
        self,
        method: str,
        path: tuple[str, ...],
        *,
        query: Mapping[str, str | int | None] | None = None,
        body: Body | None = None,
        size: int = 0,
        headers: Mapping[str, str] | None = None,
        once: bool = False,
        timeout_s: float | None = None,
    ) -> HTTPResponse:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        url = "/".join((self.base_url, *(quote(piece, safe="") for piece in path)))
        url += f"?{urlencode(given)}" if given else ""
        began, tries = time.monotonic(), 0
        while True:
            tries += 1
            refused: ClientError
            try:
                answer = self._try(method, url, body, size, headers or {}, timeout_s or self._timeout_s)
            except (OSError, HTTPException) as error:
                sent = not _unsent(error)
                refused, asked = Unreached(f"{self.base_url} does not answer: {_reason(error)}.", sent=sent), None
                again = not (once and sent) and (self._met or tries < _FIRST_TRIES)
            else:
                self._met = True
                if 200 <= answer.status < 300:
                    return answer
                with answer:
                    refused, asked = _refusal(answer, self.base_url), _asked(answer)
                says = answer.headers.get("x-should-retry")
                again = says != "false" and (answer.status in _AGAIN or says == "true")
                if once and answer.status >= 500 and answer.status != 503:
                    refused, again = Unreached(str(refused), sent=True), False
            wait = _wait(tries, asked)
            if not again or time.monotonic() - began + wait > self._patience_s:
                raise refused
            if self._on_wait is not None:
                self._on_wait(str(refused), wait)
            time.sleep(wait)

    def _try(
        self, method: str, url: str, body: Body | None, size: int, headers: Mapping[str, str], timeout_s: float
    ) -> HTTPResponse:
        request = Request(url, method=method, data=cast("Any", body() if body else None))  # noqa: S310 - http or https
        request.add_header("user-agent", f"hornada/{__version__}")
        request.add_header("accept", "application/json, application/jsonl, */*")
        if self._key:
            request.add_unredirected_header("authorization", f"Bearer {self._key}")
        if body is not None:
            request.add_header("content-length", str(size))
        for name, value in headers.items():
            request.add_header(name, value)
        return cast("HTTPResponse", self._opener.open(request, timeout=timeout_s))


class _Hearing(HTTPConnection):
    """Hears the answer of a server that refuses a body before it has it all."""

    def send(self, data: Any) -> None:
        """Sends as ever; a connection that the server closes is still read from."""
        try:
            super().send(data)
        except (BrokenPipeError, ConnectionResetError):
            if self.sock is None:
                raise


class _HearingSafely(HTTPSConnection, _Hearing):
    pass


class _Http(HTTPHandler):
    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Hearing, req)


class _Https(HTTPSHandler):
    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_HearingSafely, req, context=ssl.create_default_context())


def _unsent(error: BaseException) -> bool:
    """Whether the request surely did not arrive: no connection came about."""
    inner = error.reason if isinstance(error, URLError) else error
    return isinstance(inner, ConnectionRefusedError) or type(inner).__name__ in {"gaierror", "SSLCertVerificationError"}


def _reason(error: BaseException) -> str:
    inner = error.reason if isinstance(error, URLError) else error
    if isinstance(inner, ssl.SSLCertVerificationError):
        why = inner.verify_message.rstrip(".")
        return f"its certificate is not believed ({why}); SSL_CERT_FILE may name authorities of your own"
    if isinstance(inner, OSError) and inner.strerror:
        return inner.strerror[:1].lower() + inner.strerror[1:]
    return str(inner) or type(inner).__name__


def _refusal(answer: HTTPResponse, base: str) -> ClientError:
    """What a status of 300 or more says."""
    if answer.status < 400:
        where = answer.headers.get("location", "another address")
        return Garbled(f"{base} sends callers on to {where}; give that address, if you trust it with your key.")
    try:
        text = answer.read(_MOST_REFUSAL)
        found = json.loads(text)
    except (ValueError, RecursionError, OSError, HTTPException):
        found = None
    error = found.get("error", found) if isinstance(found, dict) else None
    if isinstance(error, str):
        return Refused(answer.status, error)
    if not isinstance(error, dict) or not isinstance(error.get("message") or error.get("detail"), str):
        return Refused(answer.status, f"{base} answered with status {answer.status} {answer.reason}".rstrip() + ".")
    code, param = error.get("code"), error.get("param")
    message = str(error.get("message") or error.get("detail"))
    return Refused(answer.status, message, str(code) if code else None, str(param) if param is not None else None)


def _asked(answer: HTTPResponse) -> float | None:
    """How long a server asks to be left alone, in seconds."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = answer.headers.get(name)
        if text is None:
            continue
        try:
            return max(float(text) * unit, 0.0)
        except ValueError:
            moment = email.utils.parsedate_tz(text)
            if moment is not None:
                return max(email.utils.mktime_tz(moment) - time.time(), 0.0)
    return None


def _wait(tries: int, asked: float | None) -> float:
    """Seconds before the next try: what the server asks for, or longer and longer, with jitter."""
    grown = float(min(_FIRST_WAIT_S * 2.0 ** min(tries - 1, 10), _MOST_WAIT_S))
    jittered = grown * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
    return jittered if asked is None else asked + jittered * 0.1


def wait_s(tries: int) -> float:
    """Seconds to wait after so many failures in a row."""
    return _wait(tries, None)


__all__ = ["PIECE", "Body", "Json", "Note", "Wire", "wait_s"]
