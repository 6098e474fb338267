"""What a result line says, whoever wrote it."""

import json
from typing import Any

import pytest

from hornada.core.result import Result, read_result, text_of


def read(response: Any = None, error: Any = None, custom_id: str = "a") -> Result:
    return read_result(json.dumps({"custom_id": custom_id, "response": response, "error": error}).encode() + b"\n")


def answered(body: Any) -> Result:
    return read({"status_code": 200, "request_id": "r", "body": body})


def chat(message: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"message": message}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}


def test_an_answer_has_its_text_and_its_tokens() -> None:
    found = answered(chat({"content": "hi"}))
    assert (found.ok, found.kind, found.text, found.input_tokens, found.output_tokens) == (True, "", "hi", 3, 4)
    assert found.line.endswith(b"}")


def test_an_answer_that_reached_its_limit_of_tokens_is_told() -> None:
    half = {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}
    assert answered(half).cut_off
    assert answered(
        {"output": [], "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    ).cut_off
    for whole in ({"choices": [{"finish_reason": "stop"}]}, {"choices": None}, {"incomplete_details": None}, []):
        assert not answered(whole).cut_off
    assert not read({"status_code": 500, "body": half}).cut_off


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (chat({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}), "ab"),
        (chat({"content": None, "refusal": "no"}), "no"),
        (chat({"content": None, "tool_calls": [{"id": "t"}]}), '[{"id":"t"}]'),
        (chat({"content": ""}), ""),
        ({"choices": [{"text": "one"}, {"text": "two"}]}, '["one","two"]'),
        ({"choices": []}, None),
        ({"output": [{"type": "reasoning"}, {"type": "message", "content": [{"text": "x"}, {"text": "y"}]}]}, "xy"),
        ({"output": [{"type": "function_call", "name": "f"}]}, '[{"type":"function_call","name":"f"}]'),
        ({"data": [{"embedding": [0.5, 1]}]}, "[0.5,1]"),
        ({"data": [{"embedding": [1]}, {"embedding": [2]}]}, "[[1],[2]]"),
        ({"data": [{"embedding": "AAAA"}]}, '"AAAA"'),
        ({"results": [{"index": 0}]}, '[{"index":0}]'),
        ("plain", "plain"),
        ({}, None),
    ],
)
def test_the_text_of_every_kind_of_answer_is_found(body: Any, text: str | None) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    ("response", "error", "kind", "message"),
    [
        (
            {"status_code": 400, "body": {"error": {"message": "too long", "code": "context_length_exceeded"}}},
            None,
            "context_length_exceeded",
            "too long",
        ),
        ({"status_code": 400, "body": {"error": {"message": "no", "code": 400}}}, None, "http_400", "no"),
        ({"status_code": 429, "body": {"error": "slow down"}}, None, "http_429", "slow down"),
        ({"status_code": 500, "body": "boom"}, None, "http_500", "boom"),
        ({"status_code": 422, "body": {"detail": "bad", "type": "validation"}}, None, "http_422", "bad"),
        ({"status_code": 500, "body": None}, None, "http_500", "The server gave no reason."),
        ({"status_code": 200, "body": {"error": {"message": "hidden"}}}, None, "http_200", "hidden"),
        (None, {"code": "batch_expired", "message": "late"}, "batch_expired", "late"),
        (None, None, "error", "The server gave no reason."),
    ],
)
def test_a_failure_has_its_kind_and_its_message(response: Any, error: Any, kind: str, message: str) -> None:
    found = read(response, error)
    assert (found.ok, found.kind, found.error) == (False, kind, message)


@pytest.mark.parametrize("line", [b"{}", b"[]", b"{", b'{"custom_id": 1}', b"\xff", b'"' * 3])
def test_what_is_no_result_line_is_told(line: bytes) -> None:
    with pytest.raises(ValueError, match="This is no result line"):
        read_result(line)


def test_a_lone_surrogate_does_not_lose_the_line() -> None:
    found = read_result(b'{"custom_id":"a","response":{"status_code":200,"body":{"choices":[{"text":"\\ud83d"}]}}}')
    assert found.text == "\ufffd"
