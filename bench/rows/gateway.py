"""P12: what a regular call costs."""

from bench.hornada import KEY
from bench.report import Result
from bench.setting import Setting


def pass_through(setting: Setting) -> list[Result]:
    """P12: what a regular call costs more than a direct one, and how many a second pass; beside a bare gateway."""
    one, many = setting.input(setting.pick(2_000, 10_000)), setting.input(setting.pick(10_000, 50_000))
    setting.quiet()
    with setting.server(256) as server, setting.bare_gateway() as (_, bare):
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
            more={"rate of bare": rate / other},
            less={"added of bare": added / theirs, "bad": bad},
            facts={"single": list(single.values()), "loaded": list(loaded.values())},
        )
    ]
