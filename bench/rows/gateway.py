"""P5 and P12: regular calls, beside a batch and alone."""

import sys
import threading
from pathlib import Path

from bench.client import Client, granted
from bench.hornada import KEY, Hornada, answers
from bench.report import Result
from bench.setting import Setting

SERVER_SLOTS = 32
CALLERS = 4


def pass_through(setting: Setting) -> list[Result]:
    """P12: what a regular call costs more than a direct one, and how many a second pass; beside a bare gateway."""
    app = ["-m", "uvicorn", "bench.yardsticks.gateway:app", "--port", "PORT", "--no-access-log", "--log-level", "error"]
    one, many = setting.input(setting.pick(2_000, 10_000)), setting.input(setting.pick(10_000, 50_000))
    setting.quiet()
    with (
        setting.server(256) as server,
        setting.helper([sys.executable, *app], {"UPSTREAM": setting.stub.root}) as (helper, port),
    ):
        bare = f"http://127.0.0.1:{port}"
        helper.until(lambda: answers(Client(bare, KEY), "/"), 20)
        ours = f"http://127.0.0.1:{server.port}"
        for warm in (bare, ours):
            setting.blast(setting.input(500), warm, 8, KEY)
        single = {base: setting.blast(one, base, 1, KEY) for base in (setting.stub.root, bare, ours)}
        loaded = {base: setting.blast(many, base, 64, KEY) for base in (bare, ours)}
    direct = single[setting.stub.root]["p50_ms"]
    added, theirs = single[ours]["p50_ms"] - direct, single[bare]["p50_ms"] - direct
    rate, other = loaded[ours]["rate"], loaded[bare]["rate"]
    bad = single[ours]["bad"] + loaded[ours]["bad"]
    return [
        Result(
            row="P12",
            work="regular call, 1 / 64 connections",
            figure=f"+{added:.2f} ms p50, {rate:,.0f}/s{'' if not bad else f', {bad:.0f} BAD'}",
            yardstick=f"uvicorn + aiohttp +{theirs:.2f} ms, {other:,.0f}/s",
            ratio=f"{added / theirs:.2f} x, {rate / other:.2f} x",
            target="+0.35 ms, >= 4,000/s",
            met=not bad and added <= 0.35 and rate >= 4000,
            facts={"single": list(single.values()), "loaded": list(loaded.values())},
        )
    ]


def beside_a_batch(setting: Setting) -> list[Result]:
    """P5: regular calls to a server that queues beyond 32, alone and beside a batch that wants all of it."""
    calls = setting.input(setting.pick(200, 1_000))
    batch = setting.input(setting.pick(20_000, 50_000))
    setting.quiet(latency_ms=100, max_inflight=SERVER_SLOTS, queue=1)
    with setting.server(SERVER_SLOTS) as server:
        alone = setting.blast(calls, f"http://127.0.0.1:{server.port}", CALLERS, KEY)
        beside, busy = contended(setting, server, calls, batch)
    p95, calm = beside["p95_ms"], alone["p95_ms"]
    return [
        Result(
            row="P5",
            work=f"{CALLERS} regular callers beside a batch, {SERVER_SLOTS}-slot server that queues",
            figure=f"p95 {p95:.0f} ms, {busy:.0%} of slots used",
            yardstick=f"alone {calm:.0f} ms",
            ratio=f"{p95 / calm:.2f} x",
            target="p95 <= alone + max(5 %, 5 ms) at >= 87 % use",
            met=p95 <= calm + max(0.05 * calm, 5) and busy >= 0.87,
            facts={"alone": alone, "beside": beside},
        )
    ]


def contended(setting: Setting, server: Hornada, calls: Path, batch: Path) -> tuple[dict[str, float], float]:
    """The regular callers' figures while a batch runs, and the share of the slots in use meanwhile."""
    file_id = str(granted(server.client.upload(batch), "upload")["id"])
    granted(server.client.create(file_id), "create")
    busy = threading.Event()
    while setting.stub.stats()["inflight"] < SERVER_SLOTS // 2:
        busy.wait(0.05)
    setting.stub.reset()
    found = setting.blast(calls, f"http://127.0.0.1:{server.port}", CALLERS, KEY)
    return found, float(setting.stub.stats()["avg_inflight"]) / SERVER_SLOTS
