"""The model servers of the catalog: one client each, and which one takes the next call."""

from collections.abc import Callable
from itertools import count

from hornada.core.catalog import Model, Server
from hornada.upstream.protocol import Upstream


class Servers:
    """Clients by server, connected when first needed, with the calls each has in flight."""

    def __init__(self, connect: Callable[[Server], Upstream]) -> None:
        self._connect = connect
        self._upstreams: dict[Server, Upstream] = {}
        self._busy: dict[Server, int] = {}
        self._turns = count(1)
        self._turn: dict[Server, int] = {}

    def upstream(self, server: Server) -> Upstream:
        """The client of a server."""
        found = self._upstreams.get(server)
        if found is None:
            found = self._upstreams[server] = self._connect(server)
        return found

    def pick(self, model: Model) -> Server:
        """The server with the fewest calls in flight for its weight, of equals the one whose last call is longest ago.

        Say ``done`` when its call has ended.
        """
        servers = model.servers
        server = servers[0]
        if len(servers) > 1:
            server = min(servers, key=lambda s: ((self._busy.get(s, 0) + 1) / s.weight, self._turn.get(s, 0)))
            self._turn[server] = next(self._turns)
        self._busy[server] = self._busy.get(server, 0) + 1
        return server

    def done(self, server: Server) -> None:
        """A call to a server that was picked has ended."""
        self._busy[server] -= 1

    async def close(self) -> None:
        """Drops every connection."""
        for upstream in self._upstreams.values():
            await upstream.close()
