"""P8b: what a long queue of batches costs in memory."""

import time

from bench import procstat
from bench.client import granted
from bench.hornada import Hornada
from bench.report import Result
from bench.setting import PATIENCE_S, Setting

LINES = 100


def many_batches(setting: Setting) -> list[Result]:
    """A server whose one slot is held: batches pile up, each accepted, none advancing."""
    first, last = setting.pick(100, 200), setting.pick(300, 1000)
    setting.quiet(latency_ms=600_000)
    with setting.server(1) as server:
        file_id = str(granted(server.client.upload(setting.input(LINES)), "upload")["id"])
        early = filled(server, file_id, 0, first)
        late = filled(server, file_id, first, last)
    each = (late - early) / (last - first) / 1024
    return [
        Result(
            row="P8b",
            work=f"backlog of {last} batches",
            figure=f"{each:.2f} KiB a batch, {late / procstat.MIB:.0f} MiB in all",
            target="<= 2 KiB a batch, <= 150 MiB",
            met=each <= 2 and late <= 150 * procstat.MIB,
            less={"MiB in all": late / procstat.MIB},
            facts={"rss_first": early, "rss_last": late, "from": first, "to": last},
        )
    ]


def filled(server: Hornada, file_id: str, first: int, last: int) -> int:
    """Creates batches ``first .. last - 1``; resident bytes when the last of them was accepted."""
    for number in range(first, last):
        batch = granted(server.client.create(file_id, metadata={"number": str(number)}), "create")
    end = time.monotonic() + PATIENCE_S
    while server.client.batch(batch["id"])["status"] == "validating" and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1)
    return procstat.rss(server.pid)
