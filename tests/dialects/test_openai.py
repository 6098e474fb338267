"""OpenAI's own spelling where it differs from InferNode's."""

import msgspec

from hornada.core.batch import Finding, Status
from hornada.core.errors import Code, Refusal
from hornada.dialects import DIALECTS
from tests.dialects.nouns import DONE, FRESH, INPUT

openai = DIALECTS["openai"]


def test_a_file_has_no_key_that_openai_does_not_know() -> None:
    assert "metadata" not in openai.file(INPUT)


def test_causes_carry_openais_codes() -> None:
    causes = tuple(
        Finding(code=code, message="") for code in (Code.URL_MISMATCH, Code.MODEL_MISMATCH, Code.STREAM_NOT_SUPPORTED)
    )
    failed = msgspec.structs.replace(DONE, status=Status.FAILED, errors=causes)
    codes = [cause["code"] for cause in openai.batch(failed)["errors"]["data"]]
    assert codes == ["invalid_url", "mismatched_model", "streaming_unsupported"]


def test_cancelling_a_finished_batch_is_a_409_that_no_sdk_sends_again() -> None:
    refused = openai.error(Refusal(Code.BATCH_NOT_CANCELLABLE, "Too late."), "req_1")
    assert (refused.status, dict(refused.headers)) == (409, {"x-should-retry": "false"})


def test_a_wrong_key_is_an_invalid_request() -> None:
    refused = openai.error(Refusal(Code.INVALID_API_KEY, "Unknown key."), "req_1")
    assert (refused.status, refused.body["error"]["type"]) == (401, "invalid_request_error")


def test_a_batch_is_spelled_like_infernodes() -> None:
    assert openai.batch(FRESH) == DIALECTS["infernode"].batch(FRESH)


def test_a_batch_says_that_it_is_paused_only_while_it_is() -> None:
    paused = msgspec.structs.replace(FRESH, paused=True)
    ended = msgspec.structs.replace(paused, status=Status.EXPIRED)
    for name in ("openai", "infernode"):
        spelled = DIALECTS[name].batch
        assert spelled(paused) == spelled(FRESH) | {"paused": True}
        assert "paused" not in spelled(ended)
    assert "paused" not in DIALECTS["novita"].batch(paused)
