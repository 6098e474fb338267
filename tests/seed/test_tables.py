"""Every row of the guide's three tables has a test that is named after it."""

import re
from pathlib import Path

import pytest

STATUSES = ("validating", "in_progress", "finalizing", "completed", "failed", "cancelling", "cancelled", "expired")
LIMITS = (
    "file_size",
    "line_size",
    "lines_per_file",
    "vector_inputs",
    "client_storage",
    "active_batches",
    "queued_lines",
)
FAILURES = (
    "of_the_whole_file",
    "model_not_batchable",
    "model_not_found",
    "duplicate_custom_id",
    "file_too_large",
    "too_many_active_batches",
    "authorization_revoked",
    "it_stays_in_validating",
    "in_progress_without_advancing",
)
ROWS = [
    *(f"status_{name}" for name in STATUSES),
    *(f"limit_{name}" for name in LIMITS),
    *(f"failure_{name}" for name in FAILURES),
]
NAMES = re.findall(r"def (test_in_\w+)", "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py")))


@pytest.mark.parametrize("row", ROWS)
def test_a_row_has_its_test(row: str) -> None:
    assert [name for name in NAMES if row in name]


def test_every_statement_has_a_test() -> None:
    numbers = {int(found) for name in NAMES for found in re.findall(r"_(\d+)(?=_)", name)}
    assert numbers >= set(range(1, 108))
