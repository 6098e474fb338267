"""A check that counts every finding and estimates what the good lines would use."""

import msgspec
import pytest

from hornada.core.checkup import ThoroughChecker, checker
from hornada.core.jsonl import Checker, CheckRules, Named
from hornada.core.limits import Limits

CHAT, EMBED = "/v1/chat/completions", "/v1/embeddings"


def rules(endpoint: str = CHAT, *, thorough: bool = True, **limits: int) -> CheckRules:
    names = {"m": Named(resolved="m", allowed=True, offers=True, batchable=True)}
    return CheckRules(endpoint=endpoint, limits=Limits(**limits), names=names, thorough=thorough)


def line(at: int, **body: object) -> bytes:
    asked = {"model": "m", "messages": [{"role": "user", "content": "x" * 40}], **body}
    return msgspec.json.encode({"custom_id": str(at), "body": asked}) + b"\n"


def test_the_rules_say_which_checker() -> None:
    assert type(checker(rules())) is ThoroughChecker
    assert type(checker(rules(thorough=False))) is Checker


def test_every_finding_is_counted_and_the_first_hundred_are_kept() -> None:
    checkup = ThoroughChecker(rules())
    checkup.feed(b"{\n" * 250 + line(1) + b"{\n")
    found = checkup.finish()
    assert (found.found, len(found.findings), found.total) == (251, 100, 252)
    assert [each.line for each in found.findings] == list(range(1, 101))


def test_only_good_lines_are_estimated_however_the_file_is_cut() -> None:
    data = (
        b"\xef\xbb\xbf"
        + line(1, max_tokens=5)
        + b"\n"
        + line(1)
        + line(2, max_tokens=5, stream=True)
        + line(3, n=2, max_tokens=7)
    )
    for step in (1, 7, 4096):
        checkup = ThoroughChecker(rules())
        for at in range(0, len(data), step):
            checkup.feed(data[at : at + step])
        found = checkup.finish()
        assert found.estimate is not None
        assert (found.estimate.input, found.estimate.output, found.estimate.unlimited) == (20, 5 + 14, 0)
        assert found.found == 2


@pytest.mark.parametrize("body", [{}, {"max_tokens": None}, {"max_tokens": True}, {"max_tokens": "7"}])
def test_a_line_without_a_limit_is_counted_as_such(body: dict[str, object]) -> None:
    checkup = ThoroughChecker(rules())
    checkup.feed(line(1, **body) + line(2, max_completion_tokens=3, max_tokens=9))
    estimate = checkup.finish().estimate
    assert estimate is not None
    assert (estimate.output, estimate.unlimited) == (3, 1)


def test_embeddings_write_nothing() -> None:
    checkup = ThoroughChecker(rules(EMBED))
    checkup.feed(msgspec.json.encode({"custom_id": "a", "body": {"model": "m", "input": ["abcd", "efgh"]}}))
    found = checkup.finish()
    assert found.estimate is not None
    assert (found.inputs, found.estimate.input, found.estimate.output, found.estimate.unlimited) == (2, 2, 0, 0)


def test_what_lies_behind_the_last_line_allowed_is_not_estimated() -> None:
    checkup = ThoroughChecker(rules(lines=2))
    checkup.feed(b"".join(line(at, max_tokens=1) for at in range(5)))
    found = checkup.finish()
    assert found.estimate is not None
    assert (found.estimate.output, found.total, found.found) == (2, 3, 1)


def test_absurd_limits_are_not_believed() -> None:
    checkup = ThoroughChecker(rules())
    checkup.feed(line(1, max_tokens=10**30, n=10**30) + line(2, max_tokens=-5, n=-5))
    estimate = checkup.finish().estimate
    assert estimate is not None
    assert estimate.output == 10**12


@pytest.mark.parametrize("name", ["max_tokens", "n"])
def test_a_limit_of_thousands_of_digits_is_not_believed_either(name: str) -> None:
    checkup = ThoroughChecker(rules())
    checkup.feed(line(1, **{"max_tokens": 5, name: 10}).replace(b"10", b"9" * 5000))
    found = checkup.finish()
    assert found.estimate is not None
    assert (found.found, found.estimate.output) == (0, 10**9)
