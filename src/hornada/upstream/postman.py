"""Sends a message to an address that a user chose: never into our own network, never further than it was sent."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from hornada.core.network import Network

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

    from hornada.upstream.outward import Outward

NOT_PUBLIC = "its name leads to an address that is not public"
"""Without the address: whoever may not ask there need not learn where it is."""


class Posted(Struct, frozen=True, kw_only=True):
    """What came of a message: the status of its answer, or in words why there is none."""

    code: int | None = None
    retry_after_s: float | None = None
    error: str | None = None
    took_ms: int = 0


class Postman:
    """POSTs JSON. ``networks``: those that may be asked though they are not public; ``resolver``: looks names up."""

    def __init__(self, networks: Sequence[Network] = (), resolver: "AbstractResolver | None" = None) -> None:
        self._networks = networks
        self._resolver = resolver
        self._outward: Outward | None = None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> Posted:
        """Sends a message and waits for the head of its answer, at most so many seconds from the look-up on."""
        if self._outward is None:
            from hornada.upstream.outward import Outward

            self._outward = Outward(self._networks, self._resolver)
        return await self._outward.post(url, body, headers, timeout_s)

    async def close(self) -> None:
        """Drops every connection."""
        if self._outward is not None:
            await self._outward.close()
