"""Every case of ``cases.json`` ends in one of its listed outcomes on a real server."""

from pathlib import Path

import pytest

from bench.client import Client
from bench.hornada import Hornada
from tests.cases.judge import verdict
from tests.cases.run import CASES, Run


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [case["id"] for case in CASES.values() if not case["manual"]])
def test_a_case_ends_in_a_listed_outcome(name: str, server: Hornada, backend: Client, folder: Path) -> None:
    case = CASES[name]
    facts = Run(case, server.client, backend, folder).go()
    found, why = verdict(case["outcomes"], facts)
    print(f"{found}: {name}", *why, sep="\n  ")
    assert found != "miss", "\n  ".join([case["right"], *why, "the server's log ends:", server.log()])
