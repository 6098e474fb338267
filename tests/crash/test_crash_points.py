"""The process is killed right after each durable step, and nothing is lost, run again or billed twice."""

from pathlib import Path

import pytest

from bench.client import granted
from bench.hornada import Hornada
from bench.stub import Stub
from tests.crash.conftest import SLOW_MS
from tests.crash.story import Story

ARMED = "HORNADA_CRASH_AT"
POINTS = [
    "upload_object_written",
    "file_committed",
    "batch_committed",
    "plan_committed",
    "claim_committed",
    "calls_in_flight:50",
    "segment_written",
    "segment_written:2",
    "tick_committed",
    "tick_committed:2",
    "drain_committed",
    "output_written",
]
AFTER_A_COMMIT = {"segment_written:2", "tick_committed", "tick_committed:2", "drain_committed", "output_written"}


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_a_write_boundary_costs_nothing(point: str, server: Hornada, stub: Stub, data: Path) -> None:
    story = Story(server, stub, data)
    server.start({ARMED: point})
    story.until_it_dies()
    if point != "calls_in_flight:50":  # on a slow machine a tick may come before so many
        assert bool(story.durable) == (point in AFTER_A_COMMIT), "the point is not where its name says"
    server.start()
    story.go()
    story.check_end()


def test_a_kill_after_a_cancel_keeps_the_cancel(server: Hornada, stub: Stub, data: Path) -> None:
    stub.tune(latency_ms=SLOW_MS)
    story = Story(server, stub, data, cancel_at=20)
    server.start({ARMED: "cancel_committed"})
    story.until_it_dies()
    story.cancel_at = None
    server.start()
    story.go()
    story.check_end("cancelled")
    assert not stub.answered(story.lines), "no call starts after a cancel"


def test_a_kill_after_the_end_changes_nothing(server: Hornada, stub: Stub, data: Path) -> None:
    story = Story(server, stub, data)
    server.start({ARMED: "assembled"})
    story.until_it_dies()
    server.start()
    ended = story.go()
    story.check_end()
    server.start()
    assert server.client.batch(ended["id"]) == ended
    assert not stub.answered(story.lines)


def test_an_upload_whose_answer_was_lost_is_the_same_file_when_repeated(
    server: Hornada, stub: Stub, data: Path
) -> None:
    story = Story(server, stub, data)
    server.start({ARMED: "file_committed"})
    story.until_it_dies()
    server.start()
    again = server.client.upload(data)
    listed = granted(server.client.call("GET", "/files"), "list")["data"]
    assert [file["id"] for file in listed] == [again.id]
    assert server.client.content(again.id) == data.read_bytes()
