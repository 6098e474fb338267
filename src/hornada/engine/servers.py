"""The model servers of the catalog, and the way of one call through those of its model."""

from collections.abc import Callable, Collection
from itertools import count

from msgspec.structs import replace

from hornada.core.catalog import Model, Server
from hornada.core.clock import Clock, SystemClock
from hornada.core.errors import Code
from hornada.engine.station import Outcome, Station
from hornada.upstream.protocol import Failure, Fault, Timeouts, Upstream

_ELSEWHERE = frozenset({429, 502, 503})
"""Answers with which a server says that it did not run the call."""
_CONNECT_S = 2.0
"""The longest that a call tries to connect where another server could take it."""

_WORDS = {
    Fault.UNREACHABLE: "The model server could not be reached.",
    Fault.TIMEOUT: "The model server did not answer in time.",
    Fault.RESET: "The model server closed the connection before its answer was whole.",
    Fault.GARBLED: "The model server sent what is no HTTP answer.",
    Fault.TOO_LARGE: "The model server's answer is larger than this installation allows.",
}


def told(failure: Failure) -> tuple[Code, str]:
    """What callers are told of a call that got no answer: nothing of hosts and ports, which are for the log."""
    return Code.UPSTREAM_TIMEOUT if failure.fault is Fault.TIMEOUT else Code.UPSTREAM_ERROR, _WORDS[failure.fault]


class Servers:
    """Clients by server, connected when first needed, with how each is doing; lines and regular calls share it."""

    def __init__(self, connect: Callable[[Server], Upstream], clock: Clock | None = None) -> None:
        self._connect = connect
        self._clock = clock or SystemClock()
        self._stations: dict[Server, Station] = {}
        self._turns = count(1)

    def upstream(self, server: Server) -> Upstream:
        """The client of a server."""
        return self._station(server).upstream

    def way(self, model: Model) -> "Way":
        """The way of one call to a model; always ``leave`` it."""
        stations = self._stations
        return Way(self, [stations.get(server) or self._station(server) for server in model.servers])

    def health(self, model: Model) -> dict[str, bool]:
        """``host:port`` of each server of a model, and whether it is in use."""
        found: dict[str, bool] = {}
        for server in model.servers:
            station = self._station(server)
            found[station.label] = found.get(station.label, True) and station.healthy
        return found

    def choose(self, stations: list[Station]) -> Station:
        """The one with the fewest calls in flight for its weight, of equals the one whose last call is longest ago.

        Only those in use count, and before them one whose probe is due; if none is left, the one whose next probe is
        due first.
        """
        now = self._clock.monotonic()
        ready = [station for station in stations if station.ready(now)]
        chosen = min(ready, key=_order) if ready else min(stations, key=lambda station: station.out_until)
        chosen.turn = next(self._turns)
        return chosen

    async def retain(self, wanted: Collection[Server]) -> None:
        """Drops the clients of other servers, but for those that are answering a call."""
        for server, station in list(self._stations.items()):
            if server not in wanted and not station.busy:
                del self._stations[server]
                await station.upstream.close()

    async def close(self) -> None:
        """Drops every connection."""
        for station in self._stations.values():
            await station.upstream.close()

    def _station(self, server: Server) -> Station:
        found = self._stations.get(server)
        if found is None:
            found = self._stations[server] = Station(server, self._connect(server), self._clock)
        return found


class Way:
    """One call on its way through the servers of its model: at one of them at a time, never twice at the same."""

    __slots__ = ("_left", "_out", "_probe", "_servers", "_several", "_station")

    def __init__(self, servers: Servers, stations: list[Station]) -> None:
        self._servers = servers
        self._left = stations
        self._several = len(stations) > 1
        self._station: Station | None = None
        self._out = self._probe = False

    def go(self) -> Station:
        """Goes to the next server, away from the one before."""
        if self._station is not None:
            self.leave()
        left = self._left
        if len(left) == 1:
            station = left.pop()
        else:
            station = self._servers.choose(left)
            left.remove(station)
        self._out = not station.healthy
        self._probe = self._out and not station.probing
        if self._probe:
            station.probing = True
        station.busy += 1
        self._station = station
        return station

    def hurried(self, timeouts: Timeouts) -> Timeouts:
        """The deadlines for the server that it is at: where there are several, none is waited for long."""
        if not self._several or timeouts.connect <= _CONNECT_S:
            return timeouts
        return replace(timeouts, connect=_CONNECT_S)

    def heard(self, outcome: Outcome) -> None:
        """Notes what came of the call at the server that it is at."""
        if self._station is not None:
            self._station.heard(outcome, out=self._out)

    def onward(self, outcome: Outcome, *, busy: bool) -> bool:
        """Notes what came of the call, and says whether it goes on to another server.

        It does when this one was not reached, and with ``busy`` also when it said that it cannot take the call and
        another is in use. A call that may have run never does.
        """
        if self._station is not None:
            self._station.heard(outcome, out=self._out)
        if isinstance(outcome, Failure):
            return outcome.fault is Fault.UNREACHABLE and bool(self._left)
        return busy and outcome.status in _ELSEWHERE and any(station.healthy for station in self._left)

    def whole(self) -> None:
        """The answer has arrived to its last byte."""
        if self._station is not None:
            self._station.answered()

    def leave(self) -> None:
        """The call has ended where it is."""
        station, self._station = self._station, None
        if station is not None:
            station.busy -= 1
            if self._probe:
                station.probing = False


def _order(station: Station) -> tuple[bool, float, int]:
    return station.healthy, (station.busy + 1) / station.server.weight, station.turn
