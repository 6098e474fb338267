"""The how-to pages, command by command, in the order in which they stand there: each ends with 0 on a real server."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from bench import lines
from bench.hornada import KEY, PROGRAM, Hornada, model, settings, table
from bench.stub import Stub

ROOT = Path(__file__).resolve().parents[2]
TYPED_BY = {
    **dict.fromkeys(("run-one-file", "use-the-command-line", "use-from-python"), "tests/client/test_documents.py"),
    "webhooks": "tests/acceptance/test_webhooks.py",
}
"""Pages that have a test of their own."""
OF_A_MACHINE = {"run-as-a-service", "run-on-kubernetes", "run-with-docker", "upgrade"}
"""Pages that change the machine; what they start is tested in ``tests/deploy``."""
PAGES = [page for page in sorted((ROOT / "docs" / "how-to").glob("*.md")) if page.stem not in TYPED_BY]
TYPED = {"hornada", "curl"}
ELSEWHERE = {"pip", "systemctl", "psql"}
"""What needs a machine of its own on the other pages."""
OPERATOR_KEY = "sk-operator"
ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith("HORNADA_")}


def shell(page: Path) -> list[str]:
    """The commands of a page, continued lines joined, without what stands after a ``#``."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    typed = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line for each in typed if (line := re.sub(r"(^|\s)#\s.*$", "", each).strip())]


def here(command: str) -> bool:
    """Whether a command can be run in a test. Fails on one that is not known, before it changes the machine."""
    word = command.split(maxsplit=1)[0]
    assert word in TYPED | ELSEWHERE or "=" in word, command
    return word not in ELSEWHERE and not command.startswith("hornada serve")


def shows(page: Path) -> bool:
    """Whether a page has commands that can be run in a test."""
    return page.stem not in OF_A_MACHINE and any(here(command) for command in shell(page))


class Reader:
    """Types what a page shows, where the addresses, files and ids are those of a server of its own."""

    def __init__(self, hornada: Hornada, stub: Stub) -> None:
        self.hornada, self.stub = hornada, stub
        self.folder = hornada.folder
        root = f"http://127.0.0.1:{hornada.port}"
        self.env = {
            **ENVIRON,
            "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
            "HORNADA_URL": root,
            "HORNADA_KEY": OPERATOR_KEY,
            "OPERATOR_KEY": OPERATOR_KEY,
            "KEY": KEY,
            "BASE": f"{root}/v1",
        }
        self.places = {
            "https://batches.example.com": root,
            "http://127.0.0.1:8080": root,
            "http://127.0.0.1:11434/v1": stub.upstream,
            "http://10.0.0.3:8000/v1": stub.upstream,
            "/etc/hornada.toml": str(hornada.config),
            "/backups": str(self.folder / "backups"),
            "/var/lib/hornada": str(hornada.data),
        }

    def type(self, command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command in the page's folder."""
        for shown, real in self.places.items():
            command = command.replace(shown, real)
        for kind in re.findall(r"\b(KEY|MEMBER|ORGANIZATION)_ID\b", command):
            command = command.replace(f"{kind}_ID", self._id(kind))
        return subprocess.run(
            ["bash", "-c", command],
            input="y\n",
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def _id(self, kind: str) -> str:
        """The newest id of a kind; of organizations the first one's."""
        listed = {"KEY": "key list acme", "MEMBER": "member list acme", "ORGANIZATION": "org list"}[kind]
        found = json.loads(self.type(f"hornada admin {listed} --json").stdout)
        rows = found if isinstance(found, list) else found["data"]
        return str(rows[0 if kind != "ORGANIZATION" else -1]["id"])


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stub]:
    """A model server."""
    with Stub(tmp_path_factory.mktemp("stub") / "stub.log") as running:
        yield running


@pytest.fixture
def reader(stub: Stub, tmp_path: Path) -> Iterator[Reader]:
    """Somebody with a server, a model m-chat and an operator's key."""
    config = settings([model("m-chat", stub.upstream)], aliases={"Turbo": "m-chat"})
    with Hornada(tmp_path, config + table("[server]", {"operator_key": OPERATOR_KEY})) as hornada:
        config = hornada.config.read_text().replace("[server]\n", f"[server]\nport = {hornada.port}\n", 1)
        hornada.config.write_text(f'data = "{hornada.data}"\n{config}')
        hornada.start()
        yield Reader(hornada, stub)


def target(path: Path) -> None:
    """Writes a configuration whose data are to lie beside it; pages name machines that are not there."""
    folder = path.with_suffix("")
    folder.mkdir()
    storage = {"database": f"sqlite:///{folder}/ledger.db", "blobs": f"file://{folder}/blobs"}
    path.write_text(table("[storage]", storage))


@pytest.mark.parametrize("page", [page for page in PAGES if shows(page)], ids=lambda page: page.stem)
def test_what_a_page_shows_works(reader: Reader, page: Path) -> None:
    commands = [command for command in shell(page) if here(command)]
    if "acme" in " ".join(commands) and "hornada admin org create acme" not in commands:
        assert reader.type("hornada admin org create acme").returncode == 0
    written = lines.write(reader.folder / "requests.jsonl", 5)
    if "hornada run" not in " ".join(commands):
        written.write_text(written.read_text().replace(lines.MODEL, "m-chat"))
    for command in commands:
        if "hornada restore" in command:
            reader.hornada.terminate()
            shutil.rmtree(reader.hornada.data)
        if "hornada move" in command:
            reader.hornada.terminate()
            target(reader.folder / command.split()[2])
        done = reader.type(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("stem", sorted(OF_A_MACHINE))
def test_the_commands_of_a_page_for_a_machine_are_commands(stem: str) -> None:
    for command in shell(ROOT / "docs" / "how-to" / f"{stem}.md"):
        program, *words = command.split()
        if Path(program).name == "hornada":
            name = list(takewhile(str.islower, words))
            asked = subprocess.run([PROGRAM, *name, "--help"], capture_output=True, text=True, check=False, timeout=120)
            assert asked.returncode == 0, asked.stderr
            assert all(word in asked.stdout for word in words if word.startswith("--")), command


@pytest.mark.parametrize("stem", sorted(TYPED_BY))
def test_a_page_that_is_left_out_has_a_test_of_its_own(stem: str) -> None:
    assert f"{stem}.md" in (ROOT / TYPED_BY[stem]).read_text(encoding="utf-8")
