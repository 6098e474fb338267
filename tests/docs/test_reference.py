"""The reference says what the code says."""

from pathlib import Path

import pytest

from hornada.core.errors import Code
from tools.reference import ROOT, written
from tools.reference.errors import ABOUT

FILES = sorted(written())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_written_page_is_what_the_code_gives(path: Path) -> None:
    shown = path.relative_to(ROOT)
    assert path.read_text(encoding="utf-8") == written()[path], f"{shown} is out of date: run `make reference`"


def test_every_code_is_told() -> None:
    assert set(ABOUT) == set(Code)
