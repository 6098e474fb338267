"""Frameworks on top of the official clients. Hundreds of megabytes each: `make acceptance` runs them, CI does not."""

import json
from pathlib import Path

import pytest

from bench.hornada import KEY, Hornada
from tests.acceptance.conftest import MODEL
from tests.acceptance.environments import run_with

HERE = Path(__file__).parent

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]


def test_litellm(server: Hornada) -> None:
    printed = run_with("litellm==1.110.2", HERE / "litellm_program.py", server.base, KEY, MODEL)
    found = json.loads(printed.splitlines()[-1])
    assert (found["status"], found["ids"], found["listed"]) == ("completed", [f"r-{n}" for n in range(6)], True)
    assert found["tokens"] > 0


def test_inspect_ai(server: Hornada, tmp_path: Path) -> None:
    before = {batch["id"] for batch in server.client.call("GET", "/batches").json["data"]}
    program = HERE / "inspect_program.py"
    printed = run_with("inspect-ai==0.3.285", program, server.base, KEY, MODEL, str(tmp_path), also=("openai",))
    found = json.loads(printed.splitlines()[-1])
    assert (found["status"], found["error"], found["errors"], found["answered"]) == ("success", None, [], 12)
    made = [batch for batch in server.client.call("GET", "/batches").json["data"] if batch["id"] not in before]
    assert sum(batch["request_counts"]["completed"] for batch in made) == 12


def test_curator(server: Hornada, tmp_path: Path) -> None:
    program = HERE / "curator_program.py"
    printed = run_with("bespokelabs-curator==0.1.31", program, server.base, KEY, MODEL, str(tmp_path))
    assert json.loads(printed.splitlines()[-1]) == {"answered": 8}
