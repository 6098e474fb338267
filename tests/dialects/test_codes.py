"""Every code has a status and a word in every dialect."""

import pytest

from hornada.core.errors import Code, Refusal
from hornada.dialects import DIALECTS, Dialect

KEYS = {"message", "type", "param", "code", "request_id"}


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_every_code_has_a_status_a_word_and_a_type(dialect: Dialect) -> None:
    for code in Code:
        refused = dialect.error(Refusal(code, "Why.", "field"), "req_1")
        assert 400 <= refused.status <= 599, code
        error = refused.body["error"]
        assert set(error) == KEYS
        assert all(isinstance(error[key], str) and error[key] for key in KEYS), code


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_no_two_codes_share_a_word(dialect: Dialect) -> None:
    words = [dialect.code(code) for code in Code]
    assert len(set(words)) == len(words)
