"""Counting the lines of a file that arrives in pieces."""

import gzip
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornada.core.errors import Code, Refusal
from hornada.engine.drafts import LineCount, check_format

BOM = b"\xef\xbb\xbf"


def counted(*blocks: bytes) -> int:
    lines = LineCount()
    for block in blocks:
        lines.feed(block)
    return lines.total


def plainly(data: bytes) -> int:
    return sum(bool(line.strip(b" \t\r")) for line in data.removeprefix(BOM).split(b"\n"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"a", 1),
        (b"a\n", 1),
        (b"a\nb", 2),
        (b"a\r\nb\r\n", 2),
        (b"\n\na\n\n\nb\n\n", 2),
        (b" \t\r\n \n", 0),
        (b"a\n \t \nb", 2),
        (b" a\n b\n", 2),
        (BOM, 0),
        (BOM + b"\n", 0),
        (BOM + b"a\n", 1),
        (BOM[:2], 1),
        (b"a\n" + BOM, 2),
        (b"\x0b\n\x0c\n\xc2\xa0\n\x00", 4),
    ],
)
def test_lines_with_more_than_blanks_count(data: bytes, expected: int) -> None:
    assert counted(data) == expected


@given(
    st.lists(st.sampled_from([b"\n", b"\n\n", b" ", b"\t", b"\r", b"\r\n", b"a", b"{}", BOM, BOM[:1], BOM[1:]])),
    st.lists(st.integers(min_value=0, max_value=60)),
)
def test_it_does_not_matter_where_the_blocks_are_cut(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    edges = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    blocks = [data[start:end] for start, end in pairwise(edges)]
    assert counted(*blocks) == plainly(data)


@pytest.mark.parametrize(
    ("pattern", "each"), [(b"\n", 0), (b" \n", 0), (b"\n\na\n", 1), (b" ", 0), (b"a\n", 1), (b"\r", 0), (b" a\n", 1)]
)
def test_a_hundred_mebibytes_of_hostile_content_are_counted(pattern: bytes, each: int) -> None:
    times = 2**20 // len(pattern)
    assert counted(*[pattern * times] * 100) == each * times * 100


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (gzip.compress(b"{}", mtime=0), "1f 8b, which is gzip data"),
        (b"PK\x03\x04" + b"\x14\x00", "50 4b 03 04, which is a ZIP archive"),
        (b"\x28\xb5\x2f\xfd\x24", "which is Zstandard data"),
        ("{}\n".encode("utf-16"), "which is UTF-16 text"),
        ("{}\n".encode("utf-16-le"), "7b 00, which is UTF-16 text"),
        ("{}\n".encode("utf-16-be"), "which is UTF-16 text"),
    ],
)
def test_a_file_that_cannot_be_jsonl_is_refused_with_what_it_is(start: bytes, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        check_format(start)
    assert (caught.value.code, caught.value.param) == (Code.INVALID_FILE_FORMAT, "file")
    assert words in caught.value.message


@pytest.mark.parametrize("start", [b"", b"{", b'{"custom_id"', BOM + b"{}", b"P", b"\n", b"[]", "é".encode("latin-1")])
def test_whatever_may_be_lines_is_let_in(start: bytes) -> None:
    check_format(start)
