"""A form comes apart the same way wherever its bytes are cut."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornada.api.multipart import Form, boundary_of, display_name
from hornada.core.errors import Refusal
from tests.api.wire import form, part

LINE = b'{"custom_id": "a"}\n'
PIECES = [
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\n--",
    b"\r\n--b0undary",
    b"b0undary",
    b"--",
    b"{}",
    LINE,
    b"x" * 300,
]


def parsed(body: bytes, cuts: list[int]) -> tuple[bytes, Form]:
    whole, edges = Form(b"b0undary"), sorted({0, *(cut % len(body) for cut in cuts), len(body)})
    data = b""
    for start, end in pairwise(edges):
        whole.feed(body[start:end])
        data += whole.take()
    return data, whole


@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join).filter(lambda data: b"\r\n--b0undary" not in data),
    st.lists(st.integers(min_value=0, max_value=5000), max_size=40),
    st.booleans(),
)
def test_cuts_do_not_matter(content: bytes, cuts: list[int], file_first: bool) -> None:
    parts = [part("file", content, filename="a.jsonl"), part("purpose", b"batch")]
    data, whole = parsed(form(*(parts if file_first else parts[::-1])), cuts)
    assert data == content
    assert (whole.file_name, whole.fields, whole.whole) == ("a.jsonl", {"purpose": "batch"}, True)


@given(st.binary(max_size=200), st.lists(st.integers(min_value=0, max_value=200), max_size=5))
def test_a_body_that_is_no_form_is_refused_or_never_whole(body: bytes, cuts: list[int]) -> None:
    with suppress(Refusal):
        _, whole = parsed(b"--b0undary\r\n" + body, cuts)
        assert not whole.whole


@given(st.text(max_size=400))
def test_no_name_is_more_than_a_name(name: str) -> None:
    shown = display_name(name)
    assert 0 < len(shown) <= 255
    assert not set(shown) & set("/\\\r\n\x00")
    assert shown not in {".", ".."}


@pytest.mark.parametrize(
    "content_type",
    [
        b"multipart/form-data; boundary=b0undary",
        b'Multipart/Form-Data; charset=utf-8; boundary="b0undary"',
        b"multipart/form-data;boundary=b0undary",
    ],
)
def test_a_boundary_is_found_in_every_spelling(content_type: bytes) -> None:
    assert boundary_of(content_type) == b"b0undary"
