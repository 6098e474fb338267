"""InferNode's spelling, against its guide and OpenAI's objects."""

import msgspec

from hornada.core.batch import Finding, Status
from hornada.core.catalog import Model
from hornada.core.errors import Code, Refusal
from hornada.core.file import Purpose
from hornada.core.page import Page
from hornada.dialects import DIALECTS
from tests.dialects.nouns import DONE, FRESH, INPUT

infernode = DIALECTS["infernode"]


def test_an_uploaded_file_is_processed_at_once_and_says_when_it_expires_and_how_many_requests_it_holds() -> None:
    assert infernode.file(INPUT) == {
        "id": "file-d2cor0es1cas73c0cjd0",
        "object": "file",
        "bytes": 238,
        "created_at": 1754894162,
        "expires_at": 1757486162,
        "filename": "batch_input.jsonl",
        "purpose": "batch",
        "status": "processed",
        "metadata": {"total_requests": 2},
    }


def test_a_result_file_has_no_request_count() -> None:
    result = msgspec.structs.replace(INPUT, purpose=Purpose.BATCH_OUTPUT)
    assert infernode.file(result)["purpose"] == "batch_output"
    assert "metadata" not in infernode.file(result)


def test_a_new_batch_has_null_for_all_that_is_not_known_yet() -> None:
    assert infernode.batch(FRESH) == {
        "id": "batch_d2cq73a68lu0",
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "model": None,
        "errors": None,
        "input_file_id": "file-d2cor0es1cas73c0cjd0",
        "completion_window": "24h",
        "status": "validating",
        "output_file_id": None,
        "error_file_id": None,
        "created_at": 1754894162,
        "in_progress_at": None,
        "expires_at": 1754980562,
        "finalizing_at": None,
        "completed_at": None,
        "failed_at": None,
        "expired_at": None,
        "cancelling_at": None,
        "cancelled_at": None,
        "request_counts": {"total": 0, "completed": 0, "failed": 0},
        "usage": None,
        "metadata": None,
    }


def test_a_finished_batch_tells_files_stamps_counts_and_all_five_keys_of_usage() -> None:
    spelled = infernode.batch(DONE)
    assert spelled["output_file_id"] == "file-out1"
    assert spelled["error_file_id"] == "file-err1"
    assert (spelled["in_progress_at"], spelled["completed_at"]) == (1754894163, 1754894165)
    assert spelled["request_counts"] == {"total": 3, "completed": 2, "failed": 1}
    assert spelled["metadata"] == {"suite": "golden"}
    assert spelled["usage"] == {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 26,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 36,
    }


def test_a_failed_batch_lists_its_causes_and_counts_nothing() -> None:
    cause = Finding(code=Code.URL_MISMATCH, message="Wrong.", line=2, param="url")
    failed = msgspec.structs.replace(DONE, status=Status.FAILED, errors=(cause,))
    spelled = infernode.batch(failed)
    assert spelled["errors"] == {
        "object": "list",
        "data": [{"code": "url_mismatch", "line": 2, "message": "Wrong.", "param": "url"}],
    }
    assert spelled["request_counts"] == {"total": 0, "completed": 0, "failed": 0}


def test_a_page_names_its_first_and_last_id() -> None:
    page = infernode.batches(Page((DONE, FRESH), more=True))
    assert (page["object"], page["first_id"], page["last_id"], page["has_more"]) == (
        "list",
        "batch_d2cq73a68lu0",
        "batch_d2cq73a68lu0",
        True,
    )


def test_an_empty_page_says_so() -> None:
    empty = {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}
    assert infernode.files(Page((), more=False)) == empty


def test_a_deletion_answers_the_id() -> None:
    assert infernode.deleted(INPUT) == {"id": "file-d2cor0es1cas73c0cjd0", "object": "file", "deleted": True}


def test_a_model_has_what_the_sdk_requires() -> None:
    assert infernode.models([Model(name="m-chat", servers=(), created_at=5_000_000)]) == {
        "object": "list",
        "data": [{"id": "m-chat", "object": "model", "created": 5, "owned_by": "hornada"}],
    }


def test_an_alias_is_listed_with_the_catalog_name_it_stands_for() -> None:
    assert infernode.aliases({"Saptiva Turbo": "m-chat"}) == {
        "object": "list",
        "data": [
            {
                "id": "Saptiva Turbo",
                "object": "alias",
                "alias": "Saptiva Turbo",
                "name": "m-chat",
                "model": "m-chat",
            }
        ],
    }


def test_a_refusal_has_five_keys_and_its_retry_headers() -> None:
    refusal = Refusal(Code.TOO_MANY_ACTIVE_BATCHES, "Too many.", retry_after=30, should_retry=False)
    refused = infernode.error(refusal, "req_1")
    assert refused.status == 429
    assert refused.body == {
        "error": {
            "message": "Too many.",
            "type": "rate_limit_error",
            "param": None,
            "code": "too_many_active_batches",
            "request_id": "req_1",
        }
    }
    assert refused.headers == {"retry-after": "30", "x-should-retry": "false"}


def test_cancelling_a_finished_batch_is_400() -> None:
    assert infernode.status(Code.BATCH_NOT_CANCELLABLE) == 400


def test_its_headers_carry_the_platforms_name() -> None:
    assert infernode.sha_headers == ("X-Saptiva-Content-SHA256", "X-Content-SHA256")
    assert infernode.dedup_headers == ("X-Saptiva-Deduplicated-From", "X-Deduplicated-From")
