"""What a model server says of a call that it refused is told, whatever numbers it holds."""

import json

import pytest

from hornada.engine.declined import declined, declined_line

LONG = "9" * 5000


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ('{"detail":[{"input":1e999}]}', '[{"input":"1e999"}]', None),
        ('{"detail":[{"input":10000000000000000000000000}]}', '[{"input":"10000000000000000000000000"}]', None),
        (f'{{"detail":"too large","input":{LONG}}}', "too large", None),
        ('{"error":{"message":"no","code":-1e400}}', "no", "-1e400"),
        (f'{{"error":{{"message":"no","code":{LONG}}}}}', "no", LONG),
        ('{"error":{"message":"no","code":400}}', "no", "400"),
        ('{"error":{"message":[1,0.5]}}', "[1,0.5]", None),
    ],
)
def test_a_number_that_is_too_large_stays_as_its_digits(body: str, message: str, code: str | None) -> None:
    found = declined(422, body.encode())
    assert (found.status, found.message, found.code) == (422, message, code)
    error = json.loads(declined_line(422, body.encode()))["error"]
    assert (error["message"], error["code"]) == (message, code)
