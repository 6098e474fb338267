"""P3 and P4: how full the slots of a slow server are kept, and of one that refuses what is too much."""

import math

from bench.report import Result
from bench.setting import Setting

LATENCY_S = 0.2
SERVER_SLOTS = 32


def slow_server(setting: Setting) -> list[Result]:
    """P3: the share of the ideal pace, ceil(lines / slots) x latency."""
    return [paced(setting, 256, 0.96, None), paced(setting, 1000, 0.95, 0.5)]


def paced(setting: Setting, slots: int, share: float, cores: float | None) -> Result:
    """One number of slots."""
    lines = setting.pick(max(10_000, 20 * slots), 50_000)
    setting.quiet(latency_ms=LATENCY_S * 1000)
    with setting.server(slots) as server:
        run = setting.batch(server, setting.input(lines))
    ideal = math.ceil(lines / slots) * LATENCY_S
    reached = ideal / run.stats["span_s"]
    busy = run.cpu / run.run_s
    return Result(
        row="P3",
        work=f"{lines} lines, 200 ms, {slots} slots",
        figure=f"{lines / run.stats['span_s']:,.0f} lines/s, {busy:.0%} of a core{'' if run.sound else ' UNSOUND'}",
        yardstick=f"ideal {lines / ideal:,.0f} lines/s",
        ratio=f"{reached:.1%}",
        target=f">= {share:.0%} of ideal" + (f", <= {cores:.0%} of a core" if cores else ""),
        met=run.sound and reached >= share and (cores is None or busy <= cores),
        more={f"of ideal at {slots}": reached},
        facts={
            "rate_to_completed": run.rate,
            "avg_inflight": run.stats["avg_inflight"],
            "cpu_per_1000": run.cpu_per_1000,
        },
    )


def refusing_server(setting: Setting) -> list[Result]:
    """P4: 32 slots, 429 beyond them, a client that believes in 64."""
    lines = setting.pick(3_000, 6_000)
    setting.quiet(latency_ms=setting.pick(100, 200), max_inflight=SERVER_SLOTS)
    with setting.server(2 * SERVER_SLOTS) as server:
        run = setting.batch(server, setting.input(lines))
    busy = run.stats["avg_inflight"]
    refused = run.stats["r429"] / max(run.stats["requests"], 1)
    return [
        Result(
            row="P4",
            work=f"{lines} lines, {SERVER_SLOTS}-slot server that answers 429, capacity {2 * SERVER_SLOTS}",
            figure=f"{busy:.1f} busy, {run.verdict.failed} failed, {refused:.1%} refused",
            yardstick=f"{SERVER_SLOTS} slots",
            ratio=f"{busy / SERVER_SLOTS:.0%}",
            target=">= 30.5 busy, 0 failed, <= 3 % refused",
            met=run.sound and busy >= 30.5 and refused <= 0.03,
            more={"busy": busy / SERVER_SLOTS},
            less={"refused": refused},
            facts={"stats": run.stats},
        )
    ]
