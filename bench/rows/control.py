"""P11: control calls while a batch runs at full speed."""

import http.client
import threading
import time
from types import TracebackType
from typing import Self

from bench.client import granted
from bench.hornada import Hornada
from bench.report import Result
from bench.rows.speed import LINES, SLOTS
from bench.setting import PATIENCE_S, Setting, percentile

IDLE_S = 2.0
EVERY_S = 0.01


class Caller:
    """GETs one path over a kept connection, ``every`` seconds, while its ``with`` block runs; how long each waited."""

    def __init__(self, server: Hornada, path: str, every: float) -> None:
        self.client = server.client
        self.path = path
        self.every = every
        self.waits: list[float] = []
        self.refused = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._call, daemon=True)

    def _call(self) -> None:
        connection = http.client.HTTPConnection(self.client.host, self.client.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.client.key}"}
        try:
            while not self._over.wait(self.every):
                began = time.perf_counter()
                connection.request("GET", self.path, headers=headers)
                answer = connection.getresponse()
                answer.read()
                self.waits.append(time.perf_counter() - began)
                self.refused += answer.status != 200
        finally:
            connection.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()


def during_a_batch(setting: Setting) -> list[Result]:
    """A caller that looks at the batch a hundred times a second, idle and while it runs."""
    setting.quiet()
    with setting.server(SLOTS) as server:
        file_id = str(granted(server.client.upload(setting.input(LINES)), "upload")["id"])
        with Caller(server, f"/v1/files/{file_id}", EVERY_S) as idle:
            time.sleep(IDLE_S)
        batch_id = str(granted(server.client.create(file_id), "create")["id"])
        with Caller(server, f"/v1/batches/{batch_id}", EVERY_S) as busy:
            server.client.finish(batch_id, PATIENCE_S, poll=0.2)
    calm, p50, p99, most = (
        percentile(waits, share) * 1000
        for waits, share in ((idle.waits, 0.99), (busy.waits, 0.5), (busy.waits, 0.99), (busy.waits, 1))
    )
    return [
        Result(
            row="P11",
            work="control calls during a batch",
            figure=f"p50 {p50:.1f}, p99 {p99:.1f}, max {most:.0f} ms",
            yardstick=f"idle {calm:.1f} ms",
            ratio=f"{p99 / calm:.1f} x" if calm else "-",
            target="p99 <= 25 ms",
            met=p99 <= 25 and not busy.refused and bool(busy.waits),
            less={"p99 ms": p99},
            facts={"calls": len(busy.waits), "refused": busy.refused},
        )
    ]
