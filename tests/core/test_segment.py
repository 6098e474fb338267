"""The index of a segment."""

from hypothesis import given
from hypothesis import strategies as st

from hornada.core.segment import Entry, pack, unpack

entries = st.lists(
    st.builds(Entry, st.integers(0, 65_535), st.booleans(), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
)


@given(entries)
def test_an_index_is_read_as_it_was_written(found: list[Entry]) -> None:
    assert unpack(pack(found)) == found


@given(entries)
def test_an_entry_takes_eleven_bytes(found: list[Entry]) -> None:
    assert len(pack(found)) == 11 * len(found)
