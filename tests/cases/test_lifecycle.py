"""From creation to the end: states, cancels, twins, counts."""

from pathlib import Path

import pytest

from bench.client import Client
from bench.hornada import Hornada
from tests.cases.check import cases, check


@pytest.mark.timeout(300)
@cases("2-lifecycle")
def test_the_case_ends_in_a_listed_outcome(name: str, server: Hornada, backend: Client, folder: Path) -> None:
    check(name, server, backend, folder)
