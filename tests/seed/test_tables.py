"""Every row of InferNode's three tables, and every statement of both guides, has a test that is named after it."""

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
NAMES = re.findall(
    r"def (test_(?:in|nv)_\w+)", "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_has_its_test(row: str) -> None:
    assert [name for name in NAMES if row in name]


def test_every_statement_has_a_test() -> None:
    assert numbers("test_in_") >= set(range(1, 108))
    assert numbers("test_nv_") >= set(range(1, 49))


def numbers(start: str) -> set[int]:
    """Those in the names of tests; ``17_to_20`` stands for four."""
    names = [name for name in NAMES if name.startswith(start)]
    spans = [range(int(a), int(b) + 1) for name in names for a, b in re.findall(r"_(\d+)_to_(\d+)(?=_)", name)]
    return {int(found) for name in names for found in re.findall(r"_(\d+)(?=_)", name)}.union(*spans)
