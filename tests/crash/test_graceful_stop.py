"""SIGTERM: what runs is finished and committed, the process ends with 0, and the next start runs only the rest."""

import os
import time
from pathlib import Path

from bench.hornada import Hornada
from bench.stub import Stub
from tests.crash import ledger
from tests.crash.conftest import LATENCY_MS, SLOW_MS
from tests.crash.story import Story

LONG_AGO_S = 3 * 86_400


def test_a_graceful_stop_runs_no_line_twice(server: Hornada, stub: Stub, data: Path) -> None:
    stub.tune(latency_ms=SLOW_MS)
    story = Story(server, stub, data)
    server.start()
    story.batch_id = server.client.submit(data)
    while stub.stats()["ok"] < 60:
        assert server.client.batch(story.batch_id)["status"] in ("validating", "in_progress")
    assert server.terminate() == 0
    answered = stub.answered(story.lines)
    found = ledger.snapshot(server.ledger, server.folder)
    ledger.check(found, server.blobs)
    assert found.committed() == answered, "an answer that arrived was not kept"
    assert len(answered) < story.lines
    stub.tune(latency_ms=LATENCY_MS)
    server.start()
    story.file_id = "known"
    story.go()
    assert stub.stats()["requests"] == story.lines
    story.check_end()


def test_bytes_that_no_row_names_are_collected_and_others_are_not(server: Hornada, stub: Stub, data: Path) -> None:
    story = Story(server, stub, data)
    server.start({"HORNADA_CRASH_AT": "upload_object_written"})
    story.until_it_dies()
    orphans = {path for path in server.blobs.rglob("*") if path.is_file()}
    assert orphans, "the killed upload left its bytes"
    server.start()
    story.go()
    story.check_end()
    for path in server.blobs.rglob("*"):
        if path.is_file():
            old = path.stat().st_mtime - LONG_AGO_S
            os.utime(path, (old, old))
    kept = ledger.snapshot(server.ledger, server.folder).files
    server.start()
    end = time.monotonic() + 60
    while any(path.exists() for path in orphans) and time.monotonic() < end:
        time.sleep(0.1)
    assert not [path for path in orphans if path.exists()]
    assert all((server.blobs / row["object"]).exists() for row in kept)
    story.check_end()
