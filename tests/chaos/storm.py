"""A schedule of faults that a seed decides, and who plays it."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.chaos.findings import Findings
from tests.chaos.fleet import Fleet, Node
from tests.chaos.network import Wires
from tests.chaos.weather import Weather
from tests.database_server import DatabaseServer
from tests.object_store import ObjectStore

FAULTS = {
    "kill": 6,
    "freeze": 4,
    "replace": 3,
    "cut": 3,
    "ledger": 2,
    "refuse": 2,
    "hang": 1,
}
"""How often each comes, in proportion."""


class Fault(NamedTuple):
    """``at`` seconds from the start, for ``lasts`` seconds; ``node``: the index of whom it strikes, if anybody."""

    at: float
    kind: str
    lasts: float
    node: int


def schedule(
    seed: int, seconds: float, *, nodes: int, ttl_s: float, pause_s: float, kinds: Sequence[str]
) -> list[Fault]:
    """What befalls an installation; the same for the same numbers."""
    chance = random.Random(f"storm {seed}")
    faults: list[Fault] = []
    at = chance.uniform(1, pause_s)
    order = list(kinds)  # each at least once, if there is time
    chance.shuffle(order)
    while at < seconds:
        kind = order.pop() if order else chance.choices(kinds, [FAULTS[kind] for kind in kinds])[0]
        lasts = chance.choice([chance.uniform(0.2, ttl_s), chance.uniform(ttl_s, 2.5 * ttl_s)])
        if kind == "kill":
            lasts = chance.uniform(0, ttl_s)
        faults.append(Fault(at, kind, min(lasts, max(0.2, seconds - at)), chance.randrange(nodes)))
        at += chance.uniform(0.3, 2 * pause_s)
    return faults


class Storm:
    """Plays a schedule. ``wires``: those of the node ``wired``, the one that can be cut off."""

    def __init__(
        self,
        fleet: Fleet,
        database: DatabaseServer,
        bucket: ObjectStore,
        wires: Wires | None,
        wired: str,
        weather: Weather,
        findings: Findings,
    ) -> None:
        self._fleet = fleet
        self._database = database
        self._bucket = bucket
        self._wires = wires
        self._wired = wired
        self._weather = weather
        self._findings = findings
        self._on: set[str] = set()
        self._aside: list[threading.Thread] = []

    def play(self, faults: Sequence[Fault], until: Callable[[], bool]) -> None:
        """All of it, in order; ``until`` is asked meanwhile and may end it early."""
        began = time.monotonic()
        due: list[tuple[float, int, Callable[[], None]]] = []
        waiting = list(faults)
        while (waiting or due) and not until():
            now = time.monotonic() - began
            while waiting and waiting[0].at <= now:
                fault = waiting.pop(0)
                undo = self._strike(fault)
                if undo is not None:
                    due.append((now + fault.lasts, len(waiting), undo))
            for item in sorted(due, key=lambda each: each[:2]):
                if item[0] <= now:
                    due.remove(item)
                    item[2]()
            self._fleet.look()
            time.sleep(0.1)
        self.calm([undo for _, _, undo in due])

    def calm(self, undo: Sequence[Callable[[], None]]) -> None:
        """Ends all faults."""
        for each in undo:
            each()
        for thread in self._aside:
            thread.join()

    def _strike(self, fault: Fault) -> Callable[[], None] | None:
        """Does it; how it is undone. None when it cannot be done now."""
        node = self._fleet.nodes[fault.node % len(self._fleet.nodes)]
        what = (
            f"{fault.kind} {node.name if fault.kind in ('kill', 'freeze', 'replace') else ''} for {fault.lasts:.1f} s"
        )
        undo = getattr(self, f"_{fault.kind}")(node)
        self._findings.note(what if undo is not None else f"({what}: not now)")
        return undo if undo is None or callable(undo) else None

    def _kill(self, node: Node) -> Callable[[], None] | None:
        if not node.wanted or node.leaving is not None:
            return None
        self._fleet.kill(node)
        return lambda: self._fleet.revive(node)

    def _freeze(self, node: Node) -> Callable[[], None] | None:
        if not node.up or node.leaving is not None or not node.wanted:
            return None
        self._fleet.freeze(node)
        return lambda: self._fleet.thaw(node)

    def _replace(self, node: Node) -> Callable[[], None] | None:
        if not node.up or not node.served or node.leaving is not None or not node.wanted:
            return None  # who has only begun has nothing to end
        self._fleet.replace(node)
        return lambda: None

    def _cut(self, _: Node) -> Callable[[], None] | None:
        if self._wires is None:
            return None
        return self._toggle(f"cut {self._wired}", self._wires.cut, self._wires.mend)

    def _ledger(self, _: Node) -> Callable[[], None] | None:
        return self._toggle("ledger", self._database.stop_hard, self._database.start)

    def _refuse(self, _: Node) -> Callable[[], None] | None:
        return self._toggle("bucket", self._bucket.kill, self._bucket.start)

    def _hang(self, _: Node) -> Callable[[], None] | None:
        return self._toggle("bucket", self._bucket.freeze, self._bucket.thaw)

    def _toggle(self, trouble: str, begin: Callable[[], None], end: Callable[[], None]) -> Callable[[], None] | None:
        if trouble in self._on:
            return None
        self._on.add(trouble)
        self._weather.begin(trouble)
        begin()

        def undo() -> None:
            def aside() -> None:  # a server that recovers takes its time
                end()
                self._weather.end(trouble)
                self._on.discard(trouble)

            thread = threading.Thread(target=aside)
            thread.start()
            self._aside.append(thread)

        return undo
