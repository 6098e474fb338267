"""The process is killed again and again at random moments; the result is the same as if it had not been."""

import os
import random
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from bench.hornada import Hornada
from bench.stub import Stub
from tests.crash.story import BROKEN, Story

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "2"))
KILLS = int(os.environ.get("CRASH_KILLS", "4"))
LONGEST_S = 0.5


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_kills_at_random_moments_leave_the_same_output(seed: int, server: Hornada, stub: Stub, data: Path) -> None:
    chance = random.Random(seed)
    story = Story(server, stub, data)
    for _ in range(KILLS):
        server.start()
        timer = threading.Timer(chance.uniform(0, LONGEST_S), server.kill)
        timer.start()
        with suppress(*BROKEN):
            story.go()
        timer.join()
        story.look()
    server.start()
    story.go()
    story.check_end()
