"""P13: what relaying a stream of events costs."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from bench import procstat
from bench.hornada import KEY
from bench.report import Result
from bench.setting import Setting, percentile
from bench.streams import Reader, Streamed, at_once

STREAMS = 32
EVENTS = 100
GAP_MS = 20.0
"""Between two events of one stream; the streams begin at random moments within one gap, so events come one by one."""
SHORT = 2
SHORT_GAP_MS = 3.0
"""Of a stream of which only the first event matters."""
TURN = 10
"""Streams in a row on one way; what has slept for long wakes slowly, and that is the machine's time."""


@dataclass
class Way:
    """One way to the stub: through the process ``pid``, or directly (None)."""

    base: str
    pid: int | None = None
    cpu_s: float = 0
    events: int = 0
    bad: int = 0
    """Streams that lacked an event or their end."""
    first_s: list[float] = field(default_factory=list)

    @property
    def each_us(self) -> float:
        """CPU microseconds an event, with its share of the call."""
        return self.cpu_s / self.events * 1e6

    @property
    def first_ms(self) -> float:
        """From the call to the first event, in the middle."""
        return percentile(self.first_s, 0.5) * 1000

    def judge(self, found: Sequence[Streamed], events: int) -> None:
        """Counts the streams that are not as they were sent."""
        self.bad += sum(not (stream.whole and len(stream.events) == events) for stream in found)

    def facts(self) -> dict[str, object]:
        """The raw numbers."""
        first = {f"p{share}": percentile(self.first_s, share / 100) * 1000 for share in (5, 50, 95, 99)}
        return {"cpu_s": self.cpu_s, "events": self.events, "bad": self.bad, "first_ms": first}


def events(setting: Setting) -> list[Result]:
    """P13: how much later the first event comes, and CPU an event with 32 open streams; beside a bare gateway."""
    with setting.server(256) as server, setting.bare_gateway() as (gateway, base):
        ours, bare = Way(f"http://127.0.0.1:{server.port}", server.pid), Way(base, gateway.pid)
        direct = Way(setting.stub.root)
        first_events(setting, (ours, bare, direct), setting.pick(60, 500))
        relayed(setting, (ours, bare), setting.pick(2, 10))
    setting.quiet()
    added, theirs = ours.first_ms - direct.first_ms, bare.first_ms - direct.first_ms
    return [
        Result(
            row="P13",
            work=f"{STREAMS} streams of {EVENTS} events; first event",
            figure=f"{ours.each_us:.0f} us CPU an event, first +{added:.2f} ms{f', {ours.bad} BAD' * bool(ours.bad)}",
            yardstick=f"uvicorn + aiohttp {bare.each_us:.0f} us, +{theirs:.2f} ms; direct {direct.first_ms:.2f} ms",
            ratio=f"{ours.each_us / bare.each_us:.2f} x, {added / theirs:.2f} x",
            target="<= 50 us, first + <= 1 ms",
            met=not ours.bad and ours.each_us <= 50 and added <= 1,
            less={"CPU of bare": ours.each_us / bare.each_us, "bad": float(ours.bad)},
            facts={name: way.facts() for name, way in (("ours", ours), ("bare", bare), ("direct", direct))},
        )
    ]


def first_events(setting: Setting, ways: Sequence[Way], rounds: int) -> None:
    """Short streams, one at a time, by turns on every way; the first of each turn is not timed."""
    setting.quiet(sse_events=SHORT, sse_gap_ms=SHORT_GAP_MS)
    with ExitStack() as kept:
        readers = [(way, kept.enter_context(Reader(way.base, KEY))) for way in ways]
        for way, reader in readers * (rounds // TURN):
            found = [reader.read() for _ in range(TURN + 1)]
            way.judge(found, SHORT)
            way.first_s += [stream.events[0] for stream in found[1:] if stream.events]


def relayed(setting: Setting, ways: Sequence[Way], rounds: int) -> None:
    """Long streams side by side, by turns on every way, and the CPU that the process in it used."""
    setting.quiet(latency_ms=GAP_MS / 2, jitter_ms=GAP_MS / 2, sse_events=EVENTS, sse_gap_ms=GAP_MS)
    for way in list(ways) * rounds:
        pids = [way.pid] if way.pid else []
        used = procstat.cpu(pids)
        found = at_once(way.base, KEY, STREAMS)
        way.cpu_s += procstat.cpu(pids) - used
        way.events += sum(len(stream.events) for stream in found)
        way.judge(found, EVENTS)
