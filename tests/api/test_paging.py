"""The query of a list."""

import pytest

from hornada.api.paging import Wanted, batch_page, file_page
from hornada.core.errors import Code, Refusal


def test_a_page_of_batches_has_twenty_items_unless_told_otherwise() -> None:
    assert batch_page({}) == Wanted(limit=20, after=None)
    assert batch_page({"limit": "100", "after": "batch_x"}) == Wanted(limit=100, after="batch_x")


def test_a_page_of_files_has_ten_thousand_items_newest_first_unless_told_otherwise() -> None:
    assert file_page({}) == Wanted(limit=10_000, after=None)
    asked = file_page({"limit": "7", "order": "asc", "purpose": "batch", "after": "file-x"})
    assert asked == Wanted(limit=7, after="file-x", newest_first=False, purpose="batch")


@pytest.mark.parametrize("query", [{"limit": "", "after": "", "order": "", "purpose": ""}])
def test_an_empty_value_is_no_value(query: dict[str, str]) -> None:
    assert file_page(query) == file_page({})


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("0", Code.INTEGER_BELOW_MIN_VALUE),
        ("-1", Code.INTEGER_BELOW_MIN_VALUE),
        ("101", Code.INTEGER_ABOVE_MAX_VALUE),
        ("9" * 5000, Code.INTEGER_ABOVE_MAX_VALUE),
        ("ten", Code.INVALID_TYPE),
        ("1.0", Code.INVALID_TYPE),
        ("1_0", Code.INVALID_TYPE),
        ("٣", Code.INVALID_TYPE),
    ],
)
def test_a_limit_out_of_bounds_is_refused(limit: str, code: Code) -> None:
    with pytest.raises(Refusal) as caught:
        batch_page({"limit": limit})
    assert (caught.value.code, caught.value.param) == (code, "limit")
    assert len(caught.value.message) < 200


def test_the_message_has_limit_and_value() -> None:
    with pytest.raises(Refusal) as caught:
        batch_page({"limit": "101"})
    assert caught.value.message == (
        "Invalid 'limit': integer above maximum value. Expected a value <= 100, but got 101 instead."
    )


def test_files_have_a_larger_limit() -> None:
    assert file_page({"limit": "10000"}).limit == 10_000
    with pytest.raises(Refusal):
        file_page({"limit": "10001"})


def test_an_order_is_asc_or_desc() -> None:
    with pytest.raises(Refusal) as caught:
        file_page({"order": "up"})
    assert (caught.value.code, caught.value.param) == (Code.INVALID_VALUE, "order")
