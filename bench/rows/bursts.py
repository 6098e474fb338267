"""P5: regular calls in bursts to a server that queues: alone, with a batch sent as plain calls, beside a batch."""

import threading
from dataclasses import dataclass
from typing import Any

from bench.bursts import RATES, Bursts
from bench.client import granted
from bench.hornada import KEY, Hornada
from bench.report import Result
from bench.setting import Setting, percentile

LATENCY_MS = 1000
JITTER_MS = 200
RESERVE = 4
LEARN_S = 40.0


@dataclass
class Seen:
    """What callers waited, in milliseconds, the part of the server's slots in use meanwhile, all answers a second."""

    p50: float
    p95: float
    p99: float
    used: float
    rate: float
    bad: int


def beside_a_batch(setting: Setting) -> list[Result]:
    """64 and 32 slots as configured, and 32 that are to be found by the server's gauge."""
    found = [row(setting, slots, share, slots) for slots, share in ((64, 0.94), (32, 0.87))]
    return [*found, row(setting, 32, 0.87, "auto")]


def row(setting: Setting, slots: int, share: float, capacity: int | str) -> Result:
    """One server."""
    seconds = float(setting.pick(20, 60))
    batch = setting.input(int(slots * (seconds + LEARN_S + 20)))
    setting.quiet(latency_ms=LATENCY_MS, jitter_ms=JITTER_MS, max_inflight=slots, queue=1, gauge=1)
    try:
        with setting.server(slots, capacity=capacity, reserve=RESERVE) as server:
            alone = calls(setting, server, slots, seconds)
            plain = crowded(setting, server, slots, seconds)
            file_id = str(granted(server.client.upload(batch), "upload")["id"])
            granted(server.client.create(file_id), "create")
            threading.Event().wait(LEARN_S if capacity == "auto" else 3.0)
            gated = calls(setting, server, slots, seconds)
    finally:
        setting.stub.tune(jitter_ms=0, gauge=0)
    allowed = alone.p95 + max(0.05 * alone.p95, 5)
    bad = alone.bad + gated.bad
    return Result(
        row="P5",
        work=f"{RATES[0]:.0f} <-> {RATES[1]:.0f} calls/s beside a batch, {slots} slots that queue, capacity {capacity}",
        figure=f"p95 {gated.p95:.0f} ms, {gated.used:.1%} used{'' if not bad else f', {bad} BAD'}",
        yardstick=f"alone {alone.p95:.0f} ms; batch as plain calls {plain.p95:.0f} ms",
        ratio=f"{gated.p95 / alone.p95:.2f} x",
        target=f"p95 <= alone + max(5 %, 5 ms) at >= {share:.0%} use",
        met=not bad and gated.p95 <= allowed and gated.used >= share,
        more={f"used, capacity {capacity}": gated.used},
        less={f"p95 of alone, capacity {capacity}": gated.p95 / alone.p95},
        facts={name: vars(seen) for name, seen in (("alone", alone), ("plain", plain), ("gated", gated))},
    )


def calls(setting: Setting, server: Hornada, slots: int, seconds: float) -> Seen:
    """Callers in bursts, whatever else runs."""
    setting.stub.reset()
    bursts = Bursts(server.client, seconds).run()
    stats: dict[str, Any] = setting.stub.stats()
    p50, p95, p99 = (percentile(bursts.waits, share) * 1000 for share in (0.5, 0.95, 0.99))
    return Seen(p50, p95, p99, stats["avg_inflight"] / slots, stats["ok"] / stats["span_s"], bursts.bad)


def crowded(setting: Setting, server: Hornada, slots: int, seconds: float) -> Seen:
    """The same beside a program that sends its batch as plain calls, one for each slot at a time."""
    path = setting.input(int(slots * (seconds + 2)))
    base = f"http://127.0.0.1:{server.port}"
    crowd = threading.Thread(target=setting.blast, args=(path, base, slots, KEY), daemon=True)
    crowd.start()
    seen = calls(setting, server, slots, seconds)
    crowd.join()
    return seen
