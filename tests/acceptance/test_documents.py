"""README and quickstart, command by command: a reader who types what they show gets what they promise."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.client import TERMINAL, Client
from bench.hornada import PROGRAM, answers
from bench.process import Process, free_port
from tests.acceptance.conftest import MODEL

ROOT = Path(__file__).resolve().parents[2]
README, QUICKSTART = ROOT / "README.md", ROOT / "docs" / "quickstart.md"
SHOWN_UPSTREAM, SHOWN_BASE, SHOWN_KEY = "http://127.0.0.1:11434/v1", "http://127.0.0.1:8080/v1", "sk-..."
ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith("HORNADA_")}
PATIENCE_S = 60


def blocks(page: Path, language: str) -> list[str]:
    """Every fenced block of a page in a language."""
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return fence.findall(page.read_text(encoding="utf-8"))


def commands(page: Path, *words: str) -> list[str]:
    """The shell commands of a page that hold all of these words, continued lines joined."""
    lines = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [line for line in lines if all(word in line for word in words)]


class Reader:
    """Types what the pages show, in a folder of its own, with the addresses and ids that are real here."""

    def __init__(self, folder: Path, upstream: str) -> None:
        self.folder, self.upstream = folder, upstream
        self.port = free_port()
        self.key = ""

    @property
    def serving(self) -> list[str]:
        """What starts the server."""
        (shown,) = commands(README, "hornada serve")
        assert (shown,) == tuple(commands(QUICKSTART, "hornada serve"))
        return self._real(shown).split()

    def typed(self, command: str, **ids: str) -> str:
        """What a shell command prints; ids by the placeholders that stand for them."""
        for kind, value in ids.items():
            command = re.sub(rf"{kind}[-_]\.\.\.", value, command)
        (setting,) = commands(README, "KEY=")
        script = f"{self._real(setting)}\n{self._real(command)}"
        run = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=ENVIRON,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return run.stdout + run.stderr

    def program(self, page: Path) -> str:
        """What the page's Python prints."""
        code = self._real("\n".join(blocks(page, "python"))).replace("time.sleep(5)", "time.sleep(0.1)")
        run = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.folder,
            env=ENVIRON,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    def write(self, page: Path) -> list[str]:
        """Writes the page's input file; its ids."""
        (shown,) = blocks(page, "json")
        (self.folder / "requests.jsonl").write_text(shown.replace("NAME", MODEL), "utf-8")
        return [json.loads(line)["custom_id"] for line in shown.splitlines()]

    def _real(self, text: str) -> str:
        base = f"http://127.0.0.1:{self.port}/v1"
        text = text.replace(SHOWN_UPSTREAM, self.upstream).replace(SHOWN_BASE, base).replace(SHOWN_KEY, self.key)
        return text.replace(".venv/bin/hornada", str(PROGRAM))


@pytest.fixture(scope="module")
def reader(llama: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A reader who has started the server as the pages say and has its key from what it printed."""
    reader = Reader(tmp_path_factory.mktemp("reader"), llama)
    env = {"HORNADA_SERVER_PORT": str(reader.port), "HORNADA_DATA": str(reader.folder / "hornada-data")}
    with Process(reader.serving, reader.folder / "server.log", env) as process:
        process.until(lambda: answers(Client(f"http://127.0.0.1:{reader.port}"), "/readyz"), 60)
        (reader.key,) = re.findall(r"^\s+(sk-\S+)$", (reader.folder / "server.log").read_text(), re.MULTILINE)
        yield reader


def test_the_commands_of_the_readme_run_a_batch(reader: Reader) -> None:
    listed: Any = json.loads(reader.typed(commands(README, "/models")[0]))
    assert MODEL in [model["id"] for model in listed["data"]]
    ids = reader.write(README)
    file = json.loads(reader.typed(commands(README, "file=@")[0]))["id"]
    batch = json.loads(reader.typed(commands(README, "input_file_id")[0], file=file))
    end = time.monotonic() + PATIENCE_S
    while batch["status"] not in TERMINAL:
        assert time.monotonic() < end, batch
        batch = json.loads(reader.typed(commands(README, "/batches/batch_")[0], batch=batch["id"]))
    assert batch["status"] == "completed"
    reader.typed(commands(README, "/content")[0], file=batch["output_file_id"])
    results = (reader.folder / "results.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["custom_id"] for line in results] == ids
    (reader.folder / "results.jsonl").unlink()


@pytest.mark.parametrize("page", [README, QUICKSTART], ids=lambda page: page.stem)
def test_the_program_prints_the_answers(reader: Reader, page: Path) -> None:
    ids = reader.write(page)
    printed = reader.program(page)
    assert "completed" in printed
    assert [name for name in ids if f'"{name}"' in printed] == ids


@pytest.mark.parametrize("page", [README, QUICKSTART], ids=lambda page: page.stem)
def test_the_program_prints_what_is_wrong_with_a_file(reader: Reader, page: Path) -> None:
    (reader.folder / "requests.jsonl").write_text('{"custom_id": "a"}\n{"custom_id": "b", "body": {"model": "none"}}\n')
    printed = reader.program(page)
    assert "failed" in printed
    assert "line 1: Missing required parameter: 'body'." in printed
    assert f"Models that this key may use: {MODEL}." in printed


def test_the_run_without_a_server_writes_every_result_and_is_not_done_twice(reader: Reader) -> None:
    ids = reader.write(README)
    (command,) = commands(README, "hornada run", "requests.jsonl")
    reader.typed(command)
    results = (reader.folder / "results.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["custom_id"] for line in results] == ids
    assert "already done: 2 lines, 0 failed" in reader.typed(command)
