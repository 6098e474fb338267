"""The systemd units, judged by systemd itself."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY, program

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
EXPOSURE = 2.0
"""Of ten, as ``systemd-analyze security`` counts."""


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [program("systemd-analyze", "apt-get install systemd"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def settings(unit: Path) -> dict[str, str]:
    return dict(re.findall(r"^(\w+)=(.*)$", unit.read_text(), re.MULTILINE))


@pytest.fixture(params=UNITS, ids=lambda path: path.name)
def unit(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The unit with a program that exists, since none is installed under /opt."""
    text = request.param.read_text().replace("/opt/hornada/bin/hornada", "/bin/true")
    path = tmp_path / request.param.name.replace("@", "@api")
    path.write_text(text)
    return path


def test_systemd_understands_every_line(unit: Path) -> None:
    done = analyze("verify", unit)
    assert (done.returncode, done.stderr) == (0, "")


def test_little_is_open_to_it(unit: Path) -> None:
    done = analyze("security", "--offline=true", f"--threshold={EXPOSURE * 10:.0f}", unit)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_it_is_stopped_later_than_it_stops(path: Path) -> None:
    found = settings(path)
    (grace,) = re.findall(r"HORNADA_SERVER_SHUTDOWN_GRACE_S=(\d+)", path.read_text())[:1]
    assert int(found["TimeoutStopSec"]) >= 2 * int(grace) + 10
    assert found["KillSignal"] == "SIGTERM"
