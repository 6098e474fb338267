"""The client for every other way to a model server: through a proxy, or with a password in its address."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from io import BytesIO

import aiohttp
from multidict import CIMultiDictProxy
from yarl import URL

from hornada.core.catalog import Server
from hornada.upstream.connection import HEAD_BYTES
from hornada.upstream.protocol import STATUSES, Answer, AnswerStream, Failure, Fault, StreamBroken, Timeouts, Turns
from hornada.upstream.target import Target, checked_headers, trust

_KEEPALIVE_S = 4.0
_PIECE = 256 * 1024


class General:
    """One model server behind ``proxy`` (an ``http`` address), or reached directly without one."""

    def __init__(self, server: Server, proxy: str | None = None) -> None:
        self._target = Target(server)
        self._url = URL(server.url)
        self._ca_file = server.ca_file
        self._proxy = proxy
        self._session: aiohttp.ClientSession | None = None

    async def send(
        self,
        path: str,
        body: bytes,
        timeouts: Timeouts,
        *,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        turns: Turns | None = None,  # noqa: ARG002 - it has its own pace
    ) -> Answer | Failure:
        """POSTs a JSON body and reads the whole answer."""
        return await self._whole("POST", path, body, timeouts, max_bytes, headers)

    async def get(self, path: str, timeouts: Timeouts, *, max_bytes: int) -> Answer | Failure:
        """GETs ``path`` below the base address, or below the host's root when it starts with ``//``."""
        return await self._whole("GET", path, None, timeouts, max_bytes, None)

    async def stream(
        self, path: str, body: bytes, timeouts: Timeouts, *, headers: Mapping[str, str] | None = None
    ) -> AnswerStream | Failure:
        """The same, returning as soon as the head of the answer is there."""
        end = asyncio.get_running_loop().time() + timeouts.total
        try:
            async with asyncio.timeout_at(end):
                response = await self._request("POST", path, body, timeouts, headers)
        except _FAULTS as error:
            return self._failure(error)
        return _Pieces(self, response, end)

    async def close(self) -> None:
        """Drops every connection."""
        if self._session is not None:
            await self._session.close()

    async def _whole(
        self,
        method: str,
        path: str,
        body: bytes | None,
        timeouts: Timeouts,
        max_bytes: int,
        headers: Mapping[str, str] | None,
    ) -> Answer | Failure:
        try:
            async with asyncio.timeout(timeouts.total):
                response = await self._request(method, path, body, timeouts, headers)
                async with response:
                    pieces, size = [], 0
                    async for piece in response.content.iter_chunked(_PIECE):
                        pieces.append(piece)
                        size += len(piece)
                        if size > max_bytes:
                            response.close()
                            return Failure(Fault.TOO_LARGE, f"{self._target.label} sent more than {max_bytes} bytes.")
        except _FAULTS as error:
            return self._failure(error)
        return Answer(response.status, joined(response.headers), b"".join(pieces))

    async def _request(
        self, method: str, path: str, body: bytes | None, timeouts: Timeouts, headers: Mapping[str, str] | None
    ) -> aiohttp.ClientResponse:
        sent = self._target.headers(method) | dict(checked_headers(headers or {}))
        response = await self._open().request(
            method,
            self._url.join(URL(self._target.path(path), encoded=True)),
            data=None if body is None else BytesIO(body),
            headers=sent,
            timeout=aiohttp.ClientTimeout(total=None, connect=timeouts.connect, sock_read=timeouts.first_byte),
            proxy=self._proxy,
            allow_redirects=False,
        )
        if response.status not in STATUSES:
            response.close()
            raise _GarbledError(f"answered with the status {response.status}, which HTTP does not know")
        return response

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_S, ssl=trust(self._ca_file)),
                auto_decompress=False,
                skip_auto_headers=("Accept-Encoding",),
                cookie_jar=aiohttp.DummyCookieJar(),
                max_line_size=HEAD_BYTES,
                max_field_size=HEAD_BYTES,
            )
        return self._session

    def _failure(self, error: BaseException) -> Failure:
        label = self._target.label
        match error:
            case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError() | aiohttp.ClientHttpProxyError():
                return Failure(Fault.UNREACHABLE, f"{label} cannot be reached: {type(error).__name__}.")
            case FileNotFoundError() | PermissionError() | ssl.SSLError():  # the file of authorities
                return Failure(Fault.UNREACHABLE, f"{label} cannot be reached: {error}.")
            case TimeoutError():
                return Failure(Fault.TIMEOUT, f"{label} did not answer in time.")
            case _GarbledError():
                return Failure(Fault.GARBLED, f"{label} {error}.")
            case aiohttp.ClientResponseError():
                return Failure(Fault.GARBLED, f"{label} sent what is no HTTP answer.")
            case _:
                return Failure(Fault.RESET, f"{label} closed the connection before its answer was whole.")


class _GarbledError(aiohttp.ClientError):
    """The head of an answer that nobody can pass on."""


_FAULTS = (aiohttp.ClientError, OSError, TimeoutError)


class _Pieces:
    """An AnswerStream over aiohttp's response."""

    def __init__(self, client: General, response: aiohttp.ClientResponse, end: float) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = joined(response.headers)
        self._client = client
        self._response = response
        self._end = end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Pieces as they arrive; raises StreamBroken when the body ends early or a deadline passes."""
        while True:
            try:
                async with asyncio.timeout_at(self._end):
                    piece = await self._response.content.readany()
            except _FAULTS as error:
                self._response.close()
                raise StreamBroken(self._client._failure(error)) from None  # noqa: SLF001 - one module's affair
            if not piece:
                return
            yield piece

    async def aclose(self) -> None:
        """Lets the connection go; aiohttp has taken it back already if the body was read to its end."""
        self._response.close()


def joined(headers: CIMultiDictProxy[str]) -> dict[str, str]:
    """Headers by their lower-case names; the values of a repeated one are joined by commas (RFC 9110, 5.3)."""
    return {name.lower(): ", ".join(headers.getall(name)) for name in headers}
