"""openai-python's earlier lines of versions, each with what it needs and nothing of ours."""

import json
from pathlib import Path

import pytest

from bench.hornada import KEY, Hornada
from tests.acceptance.conftest import MODEL
from tests.acceptance.environments import run_with

PROGRAM = Path(__file__).with_name("openai_program.py")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("base", ["/v1", "/openai/v1"])
@pytest.mark.parametrize("version", ["1.109.1", "2.54.0"])
def test_all_that_its_users_do(version: str, server: Hornada, base: str) -> None:
    printed = run_with(f"openai=={version}", PROGRAM, f"http://127.0.0.1:{server.port}{base}", KEY, MODEL)
    found = json.loads(printed.splitlines()[-1])
    assert (found["version"], found["failures"]) == (version, [])
    assert found["checks"] > 30
