"""The receivers of the how-to page, typed as they stand, hear of real batches and of nobody else's lies."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import openai
import pytest

from bench.client import Client
from bench.hornada import KEY, PROGRAM, Hornada, model, settings, table
from bench.process import Process, free_port
from tests.acceptance.conftest import MODEL
from tests.acceptance.test_documents import ROOT, blocks
from tests.acceptance.test_openai_node import folder as node_folder
from tests.acceptance.test_openai_node import tool
from tests.listener import ALLOWED

__all__ = ["node_folder"]

PAGE = ROOT / "docs" / "how-to" / "webhooks.md"
CHAT = "/v1/chat/completions"
LINE = '{"custom_id": "a", "method": "POST", "url": "%s", "body": {"model": "%s", "max_tokens": 4, "messages": [%s]}}\n'
ASKED = '{"role": "user", "content": "hello"}'


@pytest.fixture(scope="module")
def server(llama: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hornada]:
    config = settings([model(MODEL, llama, capacity=8)]) + table("[webhooks]", ALLOWED)
    with Hornada(tmp_path_factory.mktemp("webhooks"), config) as hornada:
        hornada.start()
        yield hornada


class Receiver:
    """A program of the page, with an endpoint of its own."""

    def __init__(self, server: Hornada) -> None:
        self.port = free_port()
        self.client = openai.OpenAI(base_url=server.base, api_key=KEY, max_retries=0)
        made = self.client.webhooks.create(
            name="page", url=f"http://127.0.0.1:{self.port}/", event_types=["batch.completed", "batch.failed"]
        )
        self.id, self.secret, self.base = made.id, made.signing_secret, server.base

    @contextmanager
    def running(self, command: list[str | Path], log: Path) -> Iterator[Process]:
        """The program, once it listens."""
        env = {"OPENAI_BASE_URL": self.base, "OPENAI_API_KEY": KEY, "OPENAI_WEBHOOK_SECRET": self.secret}
        with Process(command, log, {**env, "PORT": str(self.port)}) as process:
            process.until(self._answers, 60)
            yield process
        self.client.webhooks.delete(self.id)
        self.client.close()

    def _answers(self) -> bool:
        try:
            return Client(f"http://127.0.0.1:{self.port}").call("POST", "/", {"not": "signed"}).status == 400
        except OSError:
            return False

    def hears(self, process: Process, log: Path) -> None:
        """Runs one batch and lets another one fail; waits until both are told."""
        line = LINE % (CHAT, MODEL, ASKED)
        ids = []
        for data in (line.encode(), b"{\n"):
            file = self.client.files.create(file=("in.jsonl", data), purpose="batch")
            batch = self.client.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h")
            ids.append(batch.id)
        words = (f"batch.completed {ids[0]} file-", f"batch.failed {ids[1]} ")
        process.until(lambda: all(each in log.read_text() for each in words), 60)
        assert self.client.webhooks.test(self.id, event_type="batch.completed").status_code == 204


def test_the_python_receiver(server: Hornada, tmp_path: Path) -> None:
    (program,) = blocks(PAGE, "python")
    path, log = tmp_path / "receiver.py", tmp_path / "receiver.log"
    path.write_text(program)
    receiver = Receiver(server)
    with receiver.running([sys.executable, path], log) as process:
        receiver.hears(process, log)


@pytest.mark.timeout(400)
def test_the_javascript_receiver(server: Hornada, node_folder: Path, tmp_path: Path) -> None:
    (program,) = blocks(PAGE, "js")
    log = tmp_path / "receiver.log"
    path = node_folder / f"receiver-{os.getpid()}.mjs"
    path.write_text(program)
    receiver = Receiver(server)
    try:
        with receiver.running([tool("node"), path], log) as process:
            receiver.hears(process, log)
    finally:
        path.unlink()


def test_the_commands_of_the_page_are_commands() -> None:
    lines = "".join(blocks(PAGE, "sh")).replace("\\\n", " ").splitlines()
    for command in (line.split() for line in lines if line.startswith("hornada")):
        words = [PROGRAM, *command[1:4], "--help"]
        run = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
        options = [word for word in command[4:] if word.startswith("--")]
        assert run.returncode == 0, run.stderr
        assert all(option in run.stdout for option in options), command
