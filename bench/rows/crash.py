"""P10: kill -9 in the middle of a batch, and the start after it."""

import time

from bench.client import granted
from bench.report import Result
from bench.setting import PATIENCE_S, Setting

SLOTS = 64
LATENCY_S = 0.02
TICK_S = 0.5


def kill_midway(setting: Setting) -> list[Result]:
    """Lines lost, lines run again beyond those in flight and one tick's answers, time to be ready and at work again."""
    lines = setting.pick(6_000, 20_000)
    path = setting.input(lines)
    setting.quiet(latency_ms=LATENCY_S * 1000)
    with setting.server(SLOTS) as server:
        file_id = str(granted(server.client.upload(path), "upload")["id"])
        batch_id = str(granted(server.client.create(file_id), "create")["id"])
        while setting.stub.stats()["ok"] < lines // 3:
            time.sleep(0.05)
        server.kill()
        time.sleep(0.1)
        at_kill = setting.stub.stats()
        before = setting.stub.answered(lines)
        setting.stub.reset()
        ready_s = server.start()
        ready = time.monotonic()
        batch = server.client.finish(batch_id, PATIENCE_S)
        after = setting.stub.stats()
        repeats = len(before & setting.stub.answered(lines)) + after["extra_ok"]
        verdict = setting.verify(server, batch, path)
    pace = at_kill["ok"] / at_kill["span_s"]
    allowed = SLOTS + pace * TICK_S
    first = after["first_s"] - ready
    return [
        Result(
            row="P10",
            work=f"kill -9 at a third of {lines} lines",
            figure=f"{verdict.lost} lost, {repeats} repeats, ready {ready_s:.2f} s, first call {first:+.2f} s",
            yardstick=f"{SLOTS} in flight + a tick = {allowed:.0f}",
            ratio=f"{repeats / allowed:.2f} x",
            target="0 lost, repeats <= in flight + a tick, ready <= 1.5 s, first call <= 1 s",
            met=verdict.sound and not verdict.failed and repeats <= allowed and ready_s <= 1.5 and first <= 1.0,
            more={"sound": float(verdict.sound)},
            less={"repeats of allowed": repeats / allowed, "ready s": ready_s},
            facts={"verdict": vars(verdict), "ready_s": ready_s, "first_call_s": first, "lines_per_s": pace},
        )
    ]
