"""Whether another process has ended, asked of real ones."""

import os
import signal
import subprocess
import sys

import pytest

from hornada.engine.ground import here, surely_ended

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can say")
PROGRAM = "from hornada.engine.ground import here; print(here(), flush=True); input()"


def test_a_process_that_runs_or_is_stopped_has_not_ended_and_one_that_was_killed_has() -> None:
    other = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    ground = other.stdout.readline().strip()
    assert not surely_ended(ground)
    other.send_signal(signal.SIGSTOP)
    assert not surely_ended(ground)
    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)  # dead, and nobody has asked for it
    assert surely_ended(ground)
    other.communicate()
    assert surely_ended(ground)


def test_this_process_has_not_ended() -> None:
    assert here()
    assert not surely_ended(here())


def test_another_process_of_the_same_id_is_not_taken_for_it() -> None:
    assert surely_ended(here() + "0")


@pytest.mark.parametrize("ground", ["", "elsewhere", "elsewhere 1 2", here().split()[0], here().split()[0] + " x y"])
def test_of_another_machine_nothing_is_known(ground: str) -> None:
    assert not surely_ended(ground)


def test_a_container_started_again_knows_that_the_one_before_has_ended() -> None:
    before, again = "boot/net:[7]/pid:[1] 1 500", "boot/net:[7]/pid:[2] 1 900"
    assert surely_ended(before, again)


@pytest.mark.parametrize(
    ("there", "own"),
    [
        ("boot/net:[7]/pid:[1] 1 500", "boot/net:[8]/pid:[2] 1 900"),  # another pod
        ("boot/net:[7]/pid:[1] 1 500", "later/net:[7]/pid:[2] 1 900"),  # another machine
        ("boot/net:[7]/pid:[1] 9 500", "boot/net:[7]/pid:[2] 1 900"),  # not what its container was started for
        ("boot/net:[7]/pid:[1] 1 500", "boot/net:[7]/pid:[2] 9 900"),
    ],
)
def test_of_another_container_nothing_is_known(there: str, own: str) -> None:
    assert not surely_ended(there, own)
