"""Result lines: four keys, one line, bytes as received."""

import json

import pytest

from hornada.core.batch import STOP_MESSAGES, StopReason
from hornada.core.errors import Code, Refusal
from hornada.core.line import Reply
from hornada.dialects import DIALECTS, Dialect

BODY = b'{"choices":[{"message":{"content":"\xc2\xbfQu\xc3\xa9?"}}],  "n":1e2, "seed":9007199254740993}'
BATCH = "d2cq73a68lu0"
every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)


def test_an_answered_line_is_the_one_of_the_guide() -> None:
    line = DIALECTS["infernode"].lines.reply(BATCH, 7, "doc-1", Reply(ok=True, status=200, body=BODY))
    assert line == (
        b'{"id":"batch_req_d2cq73a68lu000007","custom_id":"doc-1","response":{"status_code":200,'
        b'"request_id":"req_d2cq73a68lu000007","body":' + BODY + b'},"error":null}\n'
    )


def test_novitas_lines_have_task_ids_and_repeat_the_custom_id() -> None:
    line = DIALECTS["novita"].lines.reply(BATCH, 7, "request-2589", Reply(ok=True, status=200, body=b"{}"))
    assert json.loads(line) == {
        "id": "batch_req_task_d2cq73a68lu000007",
        "custom_id": "request-2589",
        "response": {"status_code": 200, "request_id": "request-2589", "body": {}},
        "error": None,
    }


@every_dialect
def test_a_refused_line_keeps_status_and_body(dialect: Dialect) -> None:
    body = b'{"error":{"message":"no","code":null}}'
    line = json.loads(dialect.lines.reply(BATCH, 0, "a", Reply(ok=False, status=422, body=body)))
    assert line["response"]["status_code"] == 422
    assert line["response"]["body"] == {"error": {"message": "no", "code": None}}
    assert line["error"] is None


@every_dialect
def test_a_custom_id_survives_every_reader(dialect: Dialect) -> None:
    custom_id = 'ñ"\\/\n\u2028\u2029\u0085\x7f\u65e5\U0001f600'
    line = dialect.lines.reply(BATCH, 50_000, custom_id, Reply(ok=True, status=200, body=b"{}"))
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line)["custom_id"] == custom_id


@every_dialect
@pytest.mark.parametrize("reason", sorted(set(StopReason) - {StopReason.MODEL_GONE}))
def test_a_stopped_line_has_no_response_and_says_why(dialect: Dialect, reason: StopReason) -> None:
    line = dialect.lines.stopped(BATCH, 3, "ñ\u2028", reason)
    assert line.endswith(b"}\n")
    assert len(line.decode().splitlines()) == 1
    spelled = json.loads(line)
    assert set(spelled) == {"id", "custom_id", "response", "error"}
    assert spelled["custom_id"] == "ñ\u2028"
    assert spelled["response"] is None
    assert spelled["error"] == {"code": reason.value, "message": STOP_MESSAGES[reason]}


@every_dialect
def test_a_line_whose_model_is_gone_looks_like_the_regular_call(dialect: Dialect) -> None:
    line = dialect.lines.stopped(BATCH, 3, "ñ\u2028", StopReason.MODEL_GONE)
    assert len(line.decode().splitlines()) == 1
    spelled = json.loads(line)
    assert spelled["error"] is None
    response = spelled["response"]
    assert response["status_code"] == 404
    message = response["body"]["error"]["message"]
    refusal = Refusal(Code.MODEL_NOT_FOUND, message, "model")
    assert response["body"] == dialect.error(refusal, response["request_id"]).body


@every_dialect
def test_a_line_has_the_same_id_whatever_becomes_of_it(dialect: Dialect) -> None:
    answered = json.loads(dialect.lines.reply(BATCH, 9, "a", Reply(ok=True, status=200, body=b"{}")))
    stopped = json.loads(dialect.lines.stopped(BATCH, 9, "a", StopReason.CANCELLED))
    other = json.loads(dialect.lines.stopped(BATCH, 10, "a", StopReason.CANCELLED))
    assert answered["id"] == stopped["id"] != other["id"]
