"""What counts as strict JSON."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hornada.core import strict

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def reference_accepts(text: bytes) -> bool:
    """What the standard library says once its leniency is taken away."""

    def refuse(constant: str) -> float:
        raise ValueError(constant)

    try:
        value = json.loads(text.decode(), parse_constant=refuse, parse_float=lambda _: math.pi, parse_int=len)
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        return False
    return True


@given(JSON, st.booleans(), st.data())
def test_it_agrees_with_a_strict_reading_of_the_standard_library(
    value: object,
    ascii_only: bool,
    data: st.DataObject,
) -> None:
    text = bytearray(json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass"))
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(text)))
        text[at:at] = data.draw(st.sampled_from([b'"', b"\\", b"\\u", b"\\ud83d", b"\xff", b",", b"0", b"\n", b"\x01"]))
    assert (strict.fault(bytes(text)) is None) == reference_accepts(bytes(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'"\xe9"', "byte 0xe9 at position 1 is not UTF-8"),
        (b'"\xed\xa0\x80"', "byte 0xed at position 1 is not UTF-8"),
        (b'{"a":', "it ends too early"),
        (b"[NaN]", "invalid character (byte 1)"),
        (b'["a\tb"]', "invalid character (byte 3)"),
        (b"[1,]", "trailing comma in array (byte 3)"),
        (b'"half \\ud83d emoji"', strict.LONE_SURROGATE),
        (b'"\\udc00\\ud83d"', strict.LONE_SURROGATE),
        (b"[" * 129 + b"]" * 129, "it is nested more than 128 levels deep"),
        (b"[" * 1_000_000, "it is nested more than 128 levels deep"),
    ],
)
def test_a_fault_is_named(text: bytes, reason: str) -> None:
    assert strict.fault(text) == reason


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 128 + b"]" * 128,
        b'"' + b"[" * 500 + b'"',
        b'["\\"' + b"{" * 500 + b'\\\\", "[\\\\\\""]',
        b'"\\ud83d\\ude00"',
        b'"\\\\ud83d"',
        b"1" * 5000,
        b"1e400",
        b'"\\u0000"',
    ],
)
def test_these_are_strict_json(text: bytes) -> None:
    assert strict.fault(text) is None


@given(st.lists(st.sampled_from([b'"', b"\\", b"[", b"]", b"{", b"}", b"a"]), max_size=400))
def test_depth_is_looked_at_without_a_crash_even_where_the_text_is_broken(pieces: list[bytes]) -> None:
    strict.too_deep(b"[" * 129 + b"".join(pieces))


def test_depth_is_the_deepest_point_and_not_the_number_of_brackets() -> None:
    assert not strict.too_deep(b"[" + b",".join([b'{"a":[]}'] * 20_000) + b"]")
    assert strict.too_deep(b"[" + b",".join([b'{"a":[]}'] * 20_000 + [b"[" * 128 + b"]" * 128]) + b"]")


def test_members_keeps_repeated_keys_and_the_spelling_of_numbers() -> None:
    value = strict.members(b'{"a":1.50,"a":[10000000000000000000000,true,null,"x",{}]}')
    assert value == (("a", b"1.50"), ("a", [b"10000000000000000000000", True, None, "x", ()]))
    assert strict.repeated(value) == "a"


@given(st.lists(st.sampled_from([r"\ud83d", r"\uDE00", r"\\", r"\n", "ud83d", "x", "é", r"\ud83d\ude00"])))
@example([r"\\", r"\ud83d"])
@example([r"\ud83d", r"\ud83d\ude00"])
def test_lone_surrogates_are_mended_and_pairs_are_not(pieces: list[str]) -> None:
    text = ('"' + "".join(pieces) + '"').encode()
    meant = json.loads(text)
    mended = json.loads(strict.without_lone_surrogates(text))
    assert mended == "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in meant)
    assert strict.lone_surrogates(text, 10**6) == mended.count("\ufffd")


def test_a_long_value_is_shown_cut() -> None:
    assert strict.shown("a" * 80) == "'" + "a" * 80 + "'"
    assert strict.shown("a" * 81) == "'" + "a" * 79 + "…'"
