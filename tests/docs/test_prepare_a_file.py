"""The rules of an input file are those of its page: each line shown there that breaks one gets the code beside it."""

import re

import pytest

from hornada.core.errors import Code
from hornada.core.judge import CUSTOM_ID_LENGTH, Judge
from hornada.core.limits import Limits
from hornada.core.strict import MAX_DEPTH
from tests.core.lines import rules
from tests.docs.test_documents import ROOT

PAGE = (ROOT / "docs" / "how-to" / "prepare-a-file.md").read_text(encoding="utf-8")
GOOD = re.findall(r"^\{.*\}$", PAGE, re.MULTILINE)
ROWS = re.findall(r"^\| .* \| (?:`(.*)` )?\| `(\w+)` \|$", PAGE, re.MULTILINE)


def judge() -> Judge:
    """One that has taken the lines of the example."""
    made = Judge(rules())
    assert [list(made.faults(line.encode(), number)) for number, line in enumerate(GOOD, 1)] == [[], []]
    return made


@pytest.mark.parametrize(("line", "code"), [row for row in ROWS if row[0]])
def test_a_line_that_breaks_a_rule_gets_the_code_beside_it(line: str, code: str) -> None:
    assert [finding.code.value for finding in judge().faults(line.encode(), 3)] == [code]


def test_numbers_and_codes_are_those_in_force() -> None:
    limits = Limits()
    assert {code for _, code in ROWS} <= {code.value for code in Code}
    assert f"1 to {CUSTOM_ID_LENGTH} characters" in PAGE
    assert f"{limits.line_bytes >> 20} MiB (`limits.line_bytes`) and {MAX_DEPTH} levels" in PAGE
    assert f"{limits.lines:,} lines (`limits.lines`), and for embeddings {limits.embedding_inputs:,} inputs" in PAGE
    assert f"{limits.file_bytes >> 20} MiB (`limits.file_bytes`)" in PAGE
