"""P13: what relaying a stream of events costs."""

from bench import procstat
from bench.hornada import KEY, Hornada
from bench.report import Result
from bench.setting import Setting, percentile
from bench.streams import Reader, at_once

STREAMS = 32
EVENTS = 100
GAP_MS = 20.0
"""Between two events of one stream; the streams begin at random moments within one gap, so events come one by one."""
SHORT = 3
"""Events of a stream of which only the first matters."""


def events(setting: Setting) -> list[Result]:
    """P13: CPU an event with 32 open streams, the calls' own cost in it; and how much later the first event comes."""
    with setting.server(256) as server:
        cpu, count, missing = relayed(setting, server, setting.pick(3, 10))
        ours, direct, unsound = first_events(setting, server, setting.pick(100, 500))
    setting.quiet()
    each = cpu / count * 1e6
    mine, bare = (percentile(waits, 0.5) * 1000 for waits in (ours, direct))
    bad = missing + unsound
    return [
        Result(
            row="P13",
            work=f"{STREAMS} streams of {EVENTS} events, {GAP_MS:.0f} ms apart; first event",
            figure=f"{each:.0f} us CPU an event, first +{mine - bare:.2f} ms p50{'' if not bad else f', {bad} BAD'}",
            yardstick=f"direct: first after {bare:.2f} ms",
            ratio=f"{mine / bare:.2f} x",
            target="<= 50 us an event, first + <= 1 ms",
            met=not bad and each <= 50 and mine - bare <= 1,
            facts={
                "cpu_s": cpu,
                "events": count,
                "first_ms": {"ours": spread(ours), "direct": spread(direct)},
                "events_missing": missing,
                "streams_unsound": unsound,
            },
        )
    ]


def relayed(setting: Setting, server: Hornada, rounds: int) -> tuple[float, int, int]:
    """CPU seconds of the server, the content events that came, and how many did not or lacked their stream's end."""
    base = f"http://127.0.0.1:{server.port}"
    setting.quiet(latency_ms=GAP_MS / 2, jitter_ms=GAP_MS / 2, sse_events=EVENTS, sse_gap_ms=GAP_MS)
    at_once(base, KEY, STREAMS)
    used = procstat.cpu([server.pid])
    found = [stream for _ in range(rounds) for stream in at_once(base, KEY, STREAMS)]
    used = procstat.cpu([server.pid]) - used
    came = sum(len(stream.events) for stream in found)
    ended = sum(len(stream.events) for stream in found if stream.whole)
    return used, came, EVENTS * STREAMS * rounds - ended


def first_events(setting: Setting, server: Hornada, rounds: int) -> tuple[list[float], list[float], int]:
    """Seconds to the first event through the server and directly, by turns, and how many streams were not sound."""
    setting.quiet(sse_events=SHORT, sse_gap_ms=5)
    with Reader(f"http://127.0.0.1:{server.port}", KEY) as relay, Reader(setting.stub.root, KEY) as straight:
        relay.read(), straight.read()
        pairs = [(relay.read(), straight.read()) for _ in range(rounds)]
    unsound = sum(not (stream.whole and len(stream.events) == SHORT) for pair in pairs for stream in pair)
    ours, direct = ([stream.events[0] for stream in side if stream.events] for side in zip(*pairs, strict=True))
    return ours, direct, unsound


def spread(waits: list[float]) -> dict[str, float]:
    """The middle and the tail of some waits, in milliseconds."""
    return {f"p{share:.0%}"[:-1]: percentile(waits, share) * 1000 for share in (0.5, 0.95, 0.99)}
