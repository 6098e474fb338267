"""P1, P2, P8a, P9: fifty thousand lines against a server that answers at once."""

from statistics import median

from bench.report import Result
from bench.setting import Alone, Outcome, Setting

SLOTS = 256
LINES = 50_000


def full_speed(setting: Setting) -> list[Result]:
    """Client alone and Hornada, turn by turn; medians."""
    path = setting.input(LINES)
    plain: list[Alone] = []
    least: list[Alone] = []
    ours: list[Outcome] = []
    for _ in range(setting.pick(1, 3)):
        setting.quiet()
        plain.append(setting.alone("aiohttp_client", path, SLOTS))
        setting.quiet()
        least.append(setting.alone("protocol_client", path, SLOTS))
        setting.quiet()
        with setting.server(SLOTS) as server:
            ours.append(setting.batch(server, path))
    sound = all(run.sound for run in ours)
    return [rate(plain, least, ours, sound=sound), cpu(plain, least, ours), memory(ours), edges(ours)]


def rate(plain: list[Alone], least: list[Alone], ours: list[Outcome], *, sound: bool) -> Result:
    """P1."""
    own, aiohttp, protocol = (median(run.rate for run in runs) for runs in (ours, plain, least))
    return Result(
        row="P1",
        work=f"{LINES} lines, 0 ms, {SLOTS} slots",
        figure=f"{own:,.0f} lines/s{'' if sound else ' UNSOUND'}",
        yardstick=f"aiohttp {aiohttp:,.0f}, protocol {protocol:,.0f}",
        ratio=f"{own / aiohttp:.2f} x, {own / protocol:.0%}",
        target=">= 2 x aiohttp, >= 25 % of protocol",
        met=sound and own >= 2 * aiohttp and own >= 0.25 * protocol,
        more={"sound": float(sound), "of aiohttp": own / aiohttp, "of protocol": own / protocol},
        facts={"rates": [run.rate for run in ours], "verdicts": [vars(run.verdict) for run in ours]},
    )


def cpu(plain: list[Alone], least: list[Alone], ours: list[Outcome]) -> Result:
    """P2."""
    own = median(run.cpu_per_1000 for run in ours)
    others = [median(run.cpu / run.lines * 1000 for run in runs) for runs in (plain, least)]
    return Result(
        row="P2",
        work="CPU per 1,000 lines, all in",
        figure=f"{own:.3f} s",
        yardstick=f"aiohttp {others[0]:.3f}, protocol {others[1]:.3f}",
        ratio=f"{own / others[0]:.2f} x, {own / others[1]:.2f} x",
        target="<= 0.10 s",
        met=own <= 0.10,
        less={"CPU of aiohttp": own / others[0]},
        facts={"cpu_per_1000": [run.cpu_per_1000 for run in ours]},
    )


def memory(ours: list[Outcome]) -> Result:
    """P8, one big batch."""
    peak = max(run.peak_mib for run in ours)
    work, figure = f"peak RSS, {LINES} lines", f"{peak:.0f} MiB"
    return Result("P8a", work, figure, "<= 150 MiB", peak <= 150, less={"peak MiB": peak})


def edges(ours: list[Outcome]) -> Result:
    """P9."""
    first, last = (median(values) for values in zip(*((run.first_call_s, run.finish_s) for run in ours), strict=True))
    return Result(
        row="P9",
        work="create -> first call; last answer -> completed",
        figure=f"{first:.2f} s; {last:.2f} s",
        target="<= 1.0 s; <= 1.5 s",
        met=first <= 1.0 and last <= 1.5,
        less={"first call s": first, "finish s": last},
        facts={"first_call_s": first, "finish_s": last, "upload_s": [run.upload_s for run in ours]},
    )
