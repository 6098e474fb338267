"""Novita's spelling, against the examples of its guide."""

import uuid
from datetime import datetime

import msgspec

from hornada.core.batch import Finding, Status
from hornada.core.catalog import Model, Price
from hornada.core.errors import Code
from hornada.core.page import Page
from hornada.dialects import DIALECTS
from tests.dialects.nouns import DONE, FRESH, INPUT

novita = DIALECTS["novita"]


def test_a_file_has_the_seven_keys_of_the_guide_and_the_status_that_sdks_wait_for() -> None:
    assert novita.file(INPUT) == {
        "id": "file_d2cor0es1cas73c0cjd0",
        "object": "file",
        "bytes": 238,
        "filename": "batch_input.jsonl",
        "created_at": 1754894162,
        "purpose": "batch",
        "metadata": {"total_requests": 2},
        "status": "processed",
        "expires_at": 1757486162,
    }


def test_a_new_batch_is_the_example_of_the_guide() -> None:
    spelled = novita.batch(FRESH)
    created_by = spelled.pop("created_by")
    assert str(uuid.UUID(created_by)) == created_by
    assert spelled == {
        "id": "batch_d2cq73a68lu0",
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "input_file_id": "file_d2cor0es1cas73c0cjd0",
        "output_file_id": "",
        "error_file_id": "",
        "completion_window": "24h",
        "in_progress_at": None,
        "expires_at": None,
        "finalizing_at": None,
        "completed_at": None,
        "failed_at": None,
        "expired_at": None,
        "cancelling_at": None,
        "cancelled_at": None,
        "status": "validating",
        "errors": "",
        "version": 0,
        "created_at": "2025-08-11T06:36:02.949816+00:00",
        "updated_at": None,
        "created_by_key_id": "key_cc19f96c",
        "remark": "",
        "total": 0,
        "completed": 0,
        "failed": 0,
        "metadata": None,
        "request_counts": {"total": 0, "completed": 0, "failed": 0},
    }


def test_the_same_member_has_the_same_uuid_in_every_batch() -> None:
    other = msgspec.structs.replace(DONE, member="m2")
    assert novita.batch(FRESH)["created_by"] == novita.batch(DONE)["created_by"]
    assert novita.batch(FRESH)["created_by"] != novita.batch(other)["created_by"]


def test_a_finished_batch_keeps_the_keys_and_tells_flat_counts() -> None:
    spelled = novita.batch(DONE)
    assert set(spelled) == set(novita.batch(FRESH))
    assert (spelled["total"], spelled["completed"], spelled["failed"]) == (3, 2, 1)
    assert (spelled["output_file_id"], spelled["error_file_id"]) == ("file_out1", "file_err1")
    assert datetime.fromisoformat(spelled["expires_at"]).timestamp() == 1754980562.949816


def test_a_whole_second_has_its_fraction_too() -> None:
    whole = msgspec.structs.replace(FRESH, created_at=1_754_894_162_000_000)
    assert novita.batch(whole)["created_at"] == "2025-08-11T06:36:02.000000+00:00"


def test_finalizing_is_shown_as_in_progress() -> None:
    finalizing = msgspec.structs.replace(DONE, status=Status.FINALIZING)
    assert novita.batch(finalizing)["status"] == "in_progress"


def test_causes_are_a_list_object_with_the_codes_of_infernode() -> None:
    cause = Finding(code=Code.MODEL_MISMATCH, message="Another.", line=3, param="body.model")
    failed = msgspec.structs.replace(FRESH, status=Status.FAILED, errors=(cause,))
    assert novita.batch(failed)["errors"]["data"][0]["code"] == "model_mismatch"


def test_the_list_of_files_is_novitas_with_what_a_pager_needs() -> None:
    assert novita.files(Page((INPUT,), more=True)) == {
        "code": "200",
        "message": "success",
        "object": "list",
        "data": [novita.file(INPUT)],
        "first_id": "file_d2cor0es1cas73c0cjd0",
        "last_id": "file_d2cor0es1cas73c0cjd0",
        "has_more": True,
    }


def test_the_list_of_batches_has_blanks_when_empty() -> None:
    empty = {"object": "list", "data": [], "first_id": "", "last_id": "", "has_more": False}
    assert novita.batches(Page((), more=False)) == empty


def test_a_model_shows_its_price_in_ten_thousandths_and_whether_it_takes_batches() -> None:
    price = Price(input=390_000, output=1_200_000)
    model = Model(name="m", servers=(), price=price, endpoints=frozenset({"/v1/completions"}))
    spelled = novita.model(model)
    assert (spelled["input_token_price_per_m"], spelled["output_token_price_per_m"]) == (3900, 12000)
    assert spelled["endpoints"] == ["completions", "batch-api"]
    assert novita.model(msgspec.structs.replace(model, batch_slots=0))["endpoints"] == ["completions"]


def test_inputs_live_fifteen_days_and_two_endpoints_may_be_batched() -> None:
    assert novita.rules.input_lifetime_s == 15 * 86400
    assert novita.rules.endpoints == {"/v1/chat/completions", "/v1/completions"}
    assert novita.rules.deduplicate is False
