"""Runs one case on a server and fails with the reasons when none of its outcomes came."""

from pathlib import Path

import pytest

from bench.client import Client
from bench.hornada import Hornada
from tests.cases.judge import verdict
from tests.cases.run import CASES, Run


def cases(group: str) -> pytest.MarkDecorator:
    """Every case of a group that can share a server, by its id."""
    names = [case["id"] for case in CASES.values() if case["group"] == group and not case["manual"]]
    return pytest.mark.parametrize("name", names)


def check(name: str, server: Hornada, backend: Client, folder: Path) -> None:
    """One case; prints its verdict."""
    case = CASES[name]
    facts = Run(case, server.client, backend, folder).go()
    found, why = verdict(case["outcomes"], facts)
    print(f"{found}: {name}", *why, sep="\n  ")
    assert found != "miss", "\n  ".join([case["right"], *why, "the server's log ends:", server.log()])
