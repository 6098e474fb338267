"""Sends a message to an address that a user chose: never into our own network, never further than it was sent."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hornada.core.network import Network
from hornada.upstream.posted import Posted

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

    from hornada.upstream.outward import Outward


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
