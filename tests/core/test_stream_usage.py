"""Asking for a stream's usage: one change, every other byte as it was."""

import json

import pytest

from hornada.core.stream_usage import with_stream_usage

HEAD = b'{ "model": "m",  "stream":true, "x": 1e2'


def options(body: bytes | None) -> object:
    assert body is not None
    return json.loads(body)["stream_options"]


def test_the_option_is_added_at_the_end() -> None:
    assert with_stream_usage(HEAD + b"}\n") == HEAD + b',"stream_options":{"include_usage":true}}\n'


def test_a_brace_in_a_text_or_behind_is_not_taken_for_the_end() -> None:
    body = HEAD + b', "s": "}"} '
    assert with_stream_usage(body) == HEAD + b', "s": "}","stream_options":{"include_usage":true}} '


def test_other_options_stay_as_they_are() -> None:
    body = HEAD + b', "stream_options" : {  "continuous": 1.0 } }'
    assert with_stream_usage(body) == HEAD + b', "stream_options" : {"include_usage":true,  "continuous": 1.0 } }'


@pytest.mark.parametrize("given", [b"null", b"{}", b"{ }", b'{"include_usage":false}', b'{"include_usage": null}'])
def test_what_says_no_becomes_a_yes(given: bytes) -> None:
    changed = with_stream_usage(HEAD + b',"stream_options":' + given + b"}")
    assert options(changed) == {"include_usage": True}
    assert changed is not None
    assert changed.startswith(HEAD)


@pytest.mark.parametrize("given", [b'{"include_usage":true}', b'{"x":1,"include_usage":true}', b'"yes"', b"[1]", b"7"])
def test_what_asks_already_or_is_wrong_is_left_alone(given: bytes) -> None:
    assert with_stream_usage(HEAD + b',"stream_options":' + given + b"}") is None


def test_the_same_words_elsewhere_are_left_alone() -> None:
    inner = b',"metadata":{"stream_options":null},"say":"\\"stream_options\\":null"'
    changed = with_stream_usage(HEAD + inner + b',"stream_options":null}')
    assert changed == HEAD + inner + b',"stream_options":{"include_usage":true}}'


def test_an_escaped_key_is_found_too() -> None:
    changed = with_stream_usage(HEAD + b',"stream\\u005foptions":{"include_usage":false}}')
    assert options(changed) == {"include_usage": True}
    assert changed is not None
    assert changed.count(b"options") == 1
