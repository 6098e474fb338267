"""The query of a list."""

import pytest

from hornada.api.paging import BatchPage, FilePage, batch_page, file_page
from hornada.core.batch import BatchFilter, Status
from hornada.core.clock import SECOND
from hornada.core.errors import Code, Refusal
from hornada.core.page import Period
from hornada.dialects import DIALECTS

WORD = DIALECTS["infernode"].word


def test_a_page_of_batches_has_twenty_items_unless_told_otherwise() -> None:
    assert batch_page({}, WORD) == BatchPage(limit=20, after=None, only=BatchFilter())
    asked = batch_page({"limit": "100", "after": "batch_x"}, WORD)
    assert asked == BatchPage(limit=100, after="batch_x", only=BatchFilter())


def test_a_page_of_files_has_ten_thousand_items_newest_first_unless_told_otherwise() -> None:
    whole = FilePage(limit=10_000, after=None, newest_first=True, purpose=None, created=Period())
    assert file_page({}) == whole
    asked = file_page({"limit": "7", "order": "asc", "purpose": "batch", "after": "file-x"})
    assert asked == FilePage(limit=7, after="file-x", newest_first=False, purpose="batch", created=Period())


def test_a_filter_has_every_part_that_is_asked_for() -> None:
    query = {"status": "failed, expired", "metadata[suite]": "a=b", "metadata[]": "", "created_after": "10"}
    assert batch_page({**query, "created_before": "20"}, WORD).only == BatchFilter(
        statuses=frozenset({Status.FAILED, Status.EXPIRED}),
        metadata={"suite": "a=b", "": ""},
        created=Period(since=11 * SECOND, until=20 * SECOND),
    )
    assert file_page({"created_before": "0"}).created == Period(until=0)


def test_a_status_means_all_that_show_as_it() -> None:
    shown = batch_page({"status": "in_progress"}, DIALECTS["novita"].word).only.statuses
    assert shown == {Status.IN_PROGRESS, Status.FINALIZING}


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ({"status": "done"}, Code.INVALID_VALUE, "status"),
        ({"status": ""}, Code.INVALID_VALUE, "status"),
        ({"status": "failed,"}, Code.INVALID_VALUE, "status"),
        ({"created_after": "yesterday"}, Code.INVALID_TYPE, "created_after"),
        ({"created_before": ""}, Code.INVALID_TYPE, "created_before"),
        ({"created_before": "-1"}, Code.INTEGER_BELOW_MIN_VALUE, "created_before"),
        ({"created_after": "253402300800"}, Code.INTEGER_ABOVE_MAX_VALUE, "created_after"),
        ({"created_after": "1.5"}, Code.INVALID_TYPE, "created_after"),
        ({"metadata": "x"}, Code.INVALID_VALUE, "metadata"),
        ({"metadata.suite": "x"}, Code.INVALID_VALUE, "metadata"),
        ({"metadata[suite": "x"}, Code.INVALID_VALUE, "metadata"),
        ({"metadata[" + "k" * 65 + "]": "x"}, Code.PROPERTY_NAME_ABOVE_MAX_LENGTH, "metadata"),
        ({"metadata[k]": "x" * 513}, Code.STRING_ABOVE_MAX_LENGTH, "metadata.k"),
        ({f"metadata[{n}]": "x" for n in range(17)}, Code.OBJECT_ABOVE_MAX_PROPERTIES, "metadata"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(query: dict[str, str], code: Code, param: str) -> None:
    with pytest.raises(Refusal) as caught:
        batch_page(query, WORD)
    assert (caught.value.code, caught.value.param) == (code, param)


def test_a_dialect_knows_its_own_words_only() -> None:
    with pytest.raises(Refusal, match=r"'finalizing'\. Supported values are: 'validating', 'in_progress', 'completed'"):
        batch_page({"status": "finalizing"}, DIALECTS["novita"].word)


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
        batch_page({"limit": limit}, WORD)
    assert (caught.value.code, caught.value.param) == (code, "limit")
    assert len(caught.value.message) < 200


def test_the_message_has_limit_and_value() -> None:
    with pytest.raises(Refusal) as caught:
        batch_page({"limit": "101"}, WORD)
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
