"""How a postman sends: over connections whose addresses are looked at one by one."""

import asyncio
import os
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from hornada import __version__
from hornada.core.network import Network, is_open
from hornada.upstream.posted import NOT_PUBLIC, Posted
from hornada.upstream.target import trust

_READ_BYTES = 64 * 1024
_READ_S = 1.0
"""So much of an answer's body is read, and dropped, before the connection is closed: its head has said all."""
_HEAD_BYTES = 16 * 1024
_LOOKUPS = 128

_WORDS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((aiohttp.ClientSSLError, ssl.SSLError), "its certificate or its TLS is not to be trusted"),
    ((aiohttp.ClientResponseError,), "what it answered is no HTTP"),
    ((aiohttp.ServerDisconnectedError, ConnectionError), "it closed the connection before it answered"),
)


class NotPublic(OSError):
    """An address that must not be asked."""


class Outward:
    """POSTs JSON over fresh connections: no redirect is followed, no proxy used, no cookie kept, no answer unpacked.

    Every address is looked at when it is connected to, whoever gave it, so that a name which leads elsewhere at its
    second look-up gains nothing. ``networks``: those that may be asked though they are not public.
    """

    def __init__(self, networks: Sequence[Network] = (), resolver: AbstractResolver | None = None) -> None:
        self._networks = networks
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> Posted:
        """Sends it and waits for the head of the answer, at most so many seconds from the look-up on."""
        began = time.perf_counter()

        def took() -> int:
            return round((time.perf_counter() - began) * 1000)

        try:
            async with asyncio.timeout(timeout_s):
                code, retry_after = await self._asked(url, body, headers)
        except Exception as error:  # noqa: BLE001 - whatever a stranger answers is an attempt that failed
            return Posted(error=_why(error, timeout_s), took_ms=took())
        return Posted(code=code, retry_after_s=retry_after, took_ms=took())

    async def close(self) -> None:
        """Drops every connection."""
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)  # aiohttp's transports close a turn later

    async def _asked(self, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, float | None]:
        async with self._open().post(
            URL(url, encoded=True),
            data=body,
            headers={"user-agent": f"hornada/{__version__}", "content-type": "application/json", **headers},
            allow_redirects=False,
        ) as response:
            with suppress(aiohttp.ClientError, OSError, ValueError):
                async with asyncio.timeout(_READ_S):
                    await _drop(response.content)
            response.close()
            return response.status, _seconds(response.headers.get("retry-after"))

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    force_close=True,
                    use_dns_cache=False,
                    ssl=trust(),
                    resolver=self._resolver or Threads(),
                    socket_factory=self._socket,
                ),
                timeout=aiohttp.ClientTimeout(total=None),
                trust_env=False,
                auto_decompress=False,
                skip_auto_headers=("Accept-Encoding",),
                cookie_jar=aiohttp.DummyCookieJar(),
                max_line_size=_HEAD_BYTES,
                max_field_size=_HEAD_BYTES,
            )
        return self._session

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        """A socket for one address: the last place before something is sent there. Raises NotPublic."""
        family, kind, protocol, _, place = info
        host = str(place[0])
        if not is_open(ip_address(host.partition("%")[0]), self._networks):
            raise NotPublic(NOT_PUBLIC)
        return socket.socket(family=family, type=kind, proto=protocol)


class Threads(AbstractResolver):
    """Looks names up in threads of its own: a name whose servers are silent holds up no other look-up of the process.

    They end with the process, which does not wait for them.
    """

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(_LOOKUPS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name; raises OSError."""
        async with self._free:
            found = await _looked_up(host, port, family)
        return [
            ResolveResult(
                hostname=host, host=str(place[0]), port=port, family=kind, proto=protocol, flags=socket.AI_NUMERICHOST
            )
            for kind, _, protocol, _, place in found
        ]

    async def close(self) -> None:
        """There is nothing to let go."""


async def _looked_up(host: str, port: int, family: socket.AddressFamily) -> list[Any]:
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[Any]] = loop.create_future()

    def tell(answer: list[Any] | OSError) -> None:
        if found.done():
            return
        if isinstance(answer, OSError):
            found.set_exception(answer)
        else:
            found.set_result(answer)

    def look() -> None:
        answer: list[Any] | OSError
        try:
            answer = list(socket.getaddrinfo(host, port, family, socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answer = error if isinstance(error, OSError) else OSError(str(error))
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, answer)

    threading.Thread(target=look, name="webhook look-up", daemon=True).start()
    return await found


async def _drop(content: aiohttp.StreamReader) -> None:
    left = _READ_BYTES
    while left and (piece := await content.read(left)):
        left -= len(piece)


def _why(error: BaseException, timeout_s: float) -> str:
    """Why there was no answer, without the address as it was given."""
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, OSError):
        return _connecting(error, error.os_error)
    return next((words for kind, words in _WORDS if isinstance(error, kind)), f"it failed: {type(error).__name__}")


def _connecting(error: aiohttp.ClientConnectorError, reason: OSError) -> str:
    """The words for a connection that did not come about; with several addresses, all of their words."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name cannot be looked up"
    if isinstance(error, aiohttp.ClientConnectorSSLError | aiohttp.ClientConnectorCertificateError):
        return _WORDS[0][1]
    if isinstance(reason, NotPublic) or NOT_PUBLIC in str(reason):
        return f"refused, for {NOT_PUBLIC}"
    return f"it cannot be reached: {os.strerror(reason.errno) if reason.errno else type(reason).__name__}"


def _seconds(text: str | None) -> float | None:
    """The seconds of a Retry-After, given as a number or as a date (RFC 9110, 10.2.3)."""
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text.strip()[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
