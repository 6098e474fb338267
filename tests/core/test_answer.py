"""Telling answers from what is none, reading what they used, and making their bytes fit for a result line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornada.core import strict
from hornada.core.answer import Answered, envelope, error_body, read_answer
from hornada.core.batch import Usage
from hornada.core.errors import Code


def read(body: bytes) -> Answered:
    answered = read_answer(body)
    assert answered is not None
    return answered


def usage(**fields: object) -> tuple[Usage | None, bool]:
    answered = read(json.dumps({"usage": fields}).encode())
    return answered.usage, answered.odd


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html></html>",
        b'{"id":',
        b'data: {"id":1}\n\n',
        b"[]",
        b'"x"',
        b"null",
        b'{"a":NaN}',
        b'{"a":"\xff"}',
        b'{"a":"\x01"}',
        b'{"a":1}{"a":1}',
        b'{"error":{"message":"no"}}',
        b'{"choices":[],"error":"no"}',
        b'{"error":{},"error":null}',
        b'{"error":{"message":"\\ud83d"}}',
        b"[" * 1_000_000,
        b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_these_are_no_answers(body: bytes) -> None:
    assert read_answer(body) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"choices":[],"error":null}', b'{"choices":[],"error":null}'),
        (b'{\r\n  "a": "x\\ny" ,\n\t"b": 1E2\n}\n', b'{    "a": "x\\ny" , \t"b": 1E2 } '),
        ('{"a":"ñ\u2028\u2029\u0085🙂"}'.encode(), '{"a":"ñ\\u2028\\u2029\\u0085🙂"}'.encode()),
        (b'{"a":"\\ud83d","b":"\\ud83d\\ude00\\\\ud83d"}', b'{"a":"\\ufffd","b":"\\ud83d\\ude00\\\\ud83d"}'),
        (b'{"a":1,"a":1e400,"b":' + b"9" * 5000 + b"}", None),
        (b'{"a":"\\u0000\x7f"}', None),
    ],
)
def test_an_answer_keeps_its_bytes_but_for_what_weak_readers_cut_at(body: bytes, expected: bytes | None) -> None:
    assert read(body).body == (body if expected is None else expected)


def test_usage_is_read_in_both_spellings() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2}}
    assert usage(prompt_tokens=5, completion_tokens=7, total_tokens=12, **details) == (Usage(5, 3, 7, 2), False)
    details = {"input_tokens_details": {"cached_tokens": 3}, "output_tokens_details": {"reasoning_tokens": 2}}
    assert usage(input_tokens=5, output_tokens=7, **details) == (Usage(5, 3, 7, 2), False)


def test_usage_may_be_absent_or_partial() -> None:
    assert (read(b"{}").usage, read(b"{}").odd) == (None, False)
    assert (read(b'{"usage":null}').usage, read(b'{"usage":null}').odd) == (None, False)
    assert usage() == (None, False)
    assert usage(prompt_tokens=5) == (Usage(5, 0, 0, 0), False)
    assert usage(prompt_tokens=5, completion_tokens=None, prompt_tokens_details=None) == (Usage(5, 0, 0, 0), False)
    assert usage(total_tokens=9) == (Usage(9, 0, 0, 0), False)
    assert usage(prompt_tokens=5, cost="unknown", other={"a": [1]}) == (Usage(5, 0, 0, 0), False)


@pytest.mark.parametrize(
    ("fields", "clamped"),
    [
        ({"prompt_tokens": -1, "completion_tokens": 2}, Usage(0, 0, 2, 0)),
        ({"prompt_tokens": 1.5, "completion_tokens": 2}, Usage(0, 0, 2, 0)),
        ({"prompt_tokens": "1", "completion_tokens": True}, Usage(0, 0, 0, 0)),
        ({"prompt_tokens": 10**8 + 1, "completion_tokens": 2}, Usage(10**8, 0, 2, 0)),
        ({"prompt_tokens": 10**400, "completion_tokens": -(10**400)}, Usage(10**8, 0, 0, 0)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 6}}, Usage(5, 5, 0, 0)),
        ({"completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 6}}, Usage(0, 0, 5, 5)),
        ({"prompt_tokens": 5, "prompt_tokens_details": "many"}, Usage(5, 0, 0, 0)),
    ],
)
def test_absurd_usage_is_clamped_and_marked(fields: dict[str, object], clamped: Usage) -> None:
    assert usage(**fields) == (clamped, True)


def test_usage_of_the_wrong_kind_is_odd_and_no_reason_to_lose_the_answer() -> None:
    for body in (b'{"usage":7}', b'{"usage":[]}', b'{"usage":"x"}'):
        assert (read(body).usage, read(body).odd) == (None, True)
    assert read(b'{"usage":{"prompt_tokens":1e400}}').usage == Usage(10**8, 0, 0, 0)
    assert read(b'{"a":"\\ud83d","usage":{"prompt_tokens":4}}') == Answered(
        b'{"a":"\\ufffd","usage":{"prompt_tokens":4}}', Usage(4, 0, 0, 0), odd=False
    )


PIECES = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        "\\ud83d",
        "\\ude00",
        "\\n",
        "\n",
        "\r",
        "\u2028",
        "\x85",
        "é",
        ",",
        ":",
        "1",
        '"a":"b"',
    ]
)


@given(st.lists(PIECES).map("".join), st.booleans())
def test_what_is_written_is_strict_json_on_one_line(text: str, as_value: bool) -> None:
    body = (f'{{"a":"{text}"}}' if as_value else text).encode()
    answered = read_answer(body)
    for written in [answered.body] if answered else [], [error_body(500, body)]:
        for line in written:
            assert strict.fault(line) is None
            assert len(line.decode().splitlines()) == 1
            assert isinstance(json.loads(line), dict)


def test_the_body_of_an_error_is_kept_if_it_is_an_object() -> None:
    assert error_body(400, b'{"detail":\n[1E2]}') == b'{"detail": [1E2]}'
    assert error_body(400, b'{"error":{"message":"\\ud83d"}}') == b'{"error":{"message":"\\ufffd"}}'


@pytest.mark.parametrize(
    ("status", "body", "kind", "code", "said"),
    [
        (502, b"<html>\n<h1>Bad\xff</h1>", "server_error", "upstream_error", "<html> <h1>Bad\ufffd</h1>"),
        (503, b"busy", "server_error", "model_overloaded", "busy"),
        (504, b"", "server_error", "upstream_timeout", "no body"),
        (400, b"[1]", "invalid_request_error", "upstream_error", "[1]"),
        (500, b"x" * 10_000, "server_error", "upstream_error", "xxx"),
        (500, "ñ".encode() * 10_000, "server_error", "upstream_error", "ñññ"),
        (500, b"[" * 1_000_000, "server_error", "upstream_error", "[[["),
    ],
)
def test_any_other_error_is_wrapped(status: int, body: bytes, kind: str, code: str, said: str) -> None:
    error = json.loads(error_body(status, body))["error"]
    assert (error["type"], error["param"], error["code"]) == (kind, None, code)
    assert str(status) in error["message"]
    assert said in error["message"]
    assert len(error["message"]) <= 500


def test_an_envelope_is_openais_error_on_one_line() -> None:
    written = envelope(Code.MODEL_NOT_FOUND, "a\u2028b\n\ud83d", kind="invalid_request_error", param="model")
    assert written.decode().splitlines() == [written.decode()]
    assert json.loads(written) == {
        "error": {
            "message": "a\u2028b\n?",
            "type": "invalid_request_error",
            "param": "model",
            "code": "model_not_found",
        }
    }
