"""What the pages about the client show does what they say, typed as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.hornada import KEY, Hornada
from tests.cli.model_server import MODEL, ModelServer
from tests.client.conftest import write

PAGES = Path(__file__).resolve().parents[2] / "docs" / "how-to"
BASE = "http://127.0.0.1:8080/v1"


def blocks(page: str, language: str) -> list[str]:
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return fence.findall((PAGES / page).read_text("utf-8"))


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with the files that the pages name."""
    write(tmp_path / "requests.jsonl", f"a{tmp_path.name}", "refuse", "c")
    write(tmp_path / "huge.jsonl", f"huge{tmp_path.name}")
    (tmp_path / "reviews.csv").write_text("id,review\n1,nice\n2,awful\n", "utf-8")
    return tmp_path


def typed(folder: Path, program: list[str], base: str, upstream: str, text: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("HORNADA_", "OPENAI_"))}
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    environ |= {"HORNADA_BASE_URL": base, "HORNADA_API_KEY": KEY, "PATH": path}
    text = text.replace(BASE, base).replace("sk-...", KEY).replace("NAME", MODEL)
    text = text.replace("http://127.0.0.1:11434/v1", upstream)
    return subprocess.run(
        [*program, text], cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_programs_of_the_page_about_python_run(server: Hornada, models: ModelServer, desk: Path) -> None:
    follow, look, again, files = blocks("use-from-python.md", "python")
    ran = typed(desk, [sys.executable, "-c"], server.base, models.base, follow)
    assert ran.returncode == 0, ran.stderr
    assert "completed 2 of 3" in ran.stdout
    assert f"0-a{desk.name} A{desk.name}".upper() in ran.stdout.upper()
    assert "1-refuse no" in ran.stdout
    ran = typed(desk, [sys.executable, "-c"], server.base, models.base, look)
    assert ran.returncode == 0, ran.stderr
    assert "parts/requests-0001.jsonl 3" in ran.stdout
    ran = typed(desk, [sys.executable, "-c"], server.base, models.base, again)
    assert (ran.returncode, ran.stdout) == (0, "0 answered at last\n"), ran.stderr
    ran = typed(desk, [sys.executable, "-c"], server.base, models.base, files)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr


def test_the_commands_of_the_page_about_commands_run(server: Hornada, models: ModelServer, desk: Path) -> None:
    one, before, table, script, huge, files = blocks("use-the-command-line.md", "sh")
    ran = typed(desk, ["bash", "-c"], server.base, models.base, one)
    assert ran.returncode == 1, ran.stderr
    assert len((desk / "results.jsonl").read_bytes().splitlines()) == 3
    ran = typed(desk, ["bash", "-ec"], server.base, models.base, before)
    assert (ran.returncode, "lines: 3" in ran.stdout) == (0, True), ran.stderr
    ran = typed(desk, ["bash", "-c"], server.base, models.base, table)
    assert ran.returncode == 0, ran.stderr
    assert "GOOD OR BAD? NICE" in (desk / "labels.csv").read_text("utf-8")
    for _ in range(2):
        (desk / "results.jsonl").unlink(missing_ok=True)
        ran = typed(desk, ["bash", "-c"], server.base, models.base, script)
        assert ran.returncode == 1, ran.stderr
        assert (desk / "results.jsonl").exists()
    ran = typed(desk, ["bash", "-c"], server.base, models.base, huge)
    assert ran.returncode == 0, ran.stderr
    ran = typed(desk, ["bash", "-ec"], server.base, models.base, files)
    assert (ran.returncode, "0 files would be deleted." in ran.stderr) == (0, True), ran.stderr


def test_the_commands_of_the_page_about_one_file_run(models: ModelServer, desk: Path) -> None:
    first, table, again = blocks("run-one-file.md", "sh")
    ran = typed(desk, ["bash", "-c"], BASE, models.base, first)
    assert ran.returncode == 1, ran.stderr
    ran = typed(desk, ["bash", "-c"], BASE, models.base, table)
    assert ran.returncode == 0, ran.stderr
    assert "ONE WORD. AWFUL" in (desk / "labels.csv").read_text("utf-8")
    ran = typed(desk, ["bash", "-c"], BASE, models.base, again)
    assert (ran.returncode, "already done" in ran.stderr) == (0, True)


def test_completion_is_offered_for_the_shells_that_are_named(desk: Path) -> None:
    program = "from hornada.cli import main; main()"
    for shell in ("bash", "zsh", "fish"):
        environ = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
        command = [sys.executable, "-c", program, "--show-completion", shell]
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
        assert "_COMPLETE" in ran.stdout, ran.stderr
