"""What every blob store does, whatever keeps its bytes."""

import asyncio
import hashlib
from collections.abc import AsyncIterator

import pytest

from hornada.blobs.protocol import Blobs
from hornada.core.errors import Broken

BIG = bytes(range(256)) * 4 * 1024 * 3 + b"tail"  # 3 MiB and 4 bytes


async def put(blobs: Blobs, key: str, data: bytes) -> None:
    writer = await blobs.writer(key)
    await writer.write(data)
    await writer.commit()


async def collected(pieces: AsyncIterator[bytes]) -> list[bytes]:
    return [piece async for piece in pieces]


async def keys(blobs: Blobs) -> set[str]:
    return {key async for key, _ in blobs.keys()}  # noqa: SIM118 - no dictionary


async def test_a_committed_blob_reads_back_byte_for_byte(blobs: Blobs) -> None:
    await put(blobs, "input/a", BIG)
    assert await blobs.read("input/a", 0, len(BIG)) == BIG
    assert await blobs.size("input/a") == len(BIG)


@pytest.mark.parametrize("size", [1, 1000, 1024 * 1024 - 1, 1024 * 1024, 1024 * 1024 + 1])
async def test_pieces_of_any_size_add_up(blobs: Blobs, size: int) -> None:
    data = BIG if size > 1 else BIG[:5000]
    writer = await blobs.writer("input/a")
    for at in range(0, len(data), size):
        await writer.write(memoryview(data)[at : at + size])
        assert writer.size == min(at + size, len(data))
    assert writer.sha256 == hashlib.sha256(data).hexdigest()
    await writer.commit()
    assert await blobs.read("input/a", 0, len(data)) == data
    assert writer.sha256 == hashlib.sha256(data).hexdigest()


async def test_a_buffer_may_be_reused_as_soon_as_write_returns(blobs: Blobs) -> None:
    writer = await blobs.writer("input/a")
    buffer = bytearray(b"x" * 10)
    for byte in b"ab":
        buffer[:] = bytes([byte]) * 10
        await writer.write(buffer)
    await writer.commit()
    assert await blobs.read("input/a", 0, 20) == b"a" * 10 + b"b" * 10


async def test_a_blob_is_invisible_until_it_is_committed(blobs: Blobs) -> None:
    writer = await blobs.writer("input/a")
    await writer.write(BIG)
    assert await keys(blobs) == set()
    with pytest.raises(Broken):
        await blobs.read("input/a", 0, 1)
    await writer.commit()
    assert await keys(blobs) == {"input/a"}


async def test_an_aborted_blob_leaves_nothing(blobs: Blobs) -> None:
    writer = await blobs.writer("input/a")
    await writer.write(BIG)
    await writer.abort()
    await writer.abort()
    assert await keys(blobs) == set()


async def test_abort_after_commit_takes_nothing_back(blobs: Blobs) -> None:
    writer = await blobs.writer("input/a")
    await writer.write(b"kept")
    await writer.commit()
    await writer.abort()
    assert await blobs.read("input/a", 0, 4) == b"kept"


async def test_an_empty_blob_is_a_blob(blobs: Blobs) -> None:
    await put(blobs, "input/a", b"")
    assert await blobs.read("input/a", 0, 0) == b""
    assert await collected(blobs.stream("input/a", 0, 0)) == []


async def test_any_range_reads_exactly(blobs: Blobs) -> None:
    await put(blobs, "input/a", BIG)
    for offset, length in [(0, 1), (1, 1), (len(BIG) - 4, 4), (262_143, 2), (1_048_575, 1_048_578)]:
        assert await blobs.read("input/a", offset, length) == BIG[offset : offset + length]
        pieces = await collected(blobs.stream("input/a", offset, length))
        assert b"".join(pieces) == BIG[offset : offset + length]
        assert max(map(len, pieces)) <= 256 * 1024


async def test_a_read_beyond_the_end_is_broken_not_short(blobs: Blobs) -> None:
    await put(blobs, "input/a", b"12345")
    with pytest.raises(Broken, match="ends at byte 5, 1 bytes short"):
        await blobs.read("input/a", 0, 6)
    with pytest.raises(Broken):
        await collected(blobs.stream("input/a", 3, 3))


async def test_a_missing_blob_is_broken(blobs: Blobs) -> None:
    with pytest.raises(Broken, match="input/nothing is missing"):
        await blobs.read("input/nothing", 0, 1)
    with pytest.raises(Broken):
        await collected(blobs.stream("input/nothing", 0, 1))
    with pytest.raises(Broken):
        await blobs.read("seg/nothing/1", 0, 1)


async def test_a_stream_that_is_dropped_half_way_harms_nothing(blobs: Blobs) -> None:
    await put(blobs, "input/a", BIG)
    async for piece in blobs.stream("input/a", 0, len(BIG)):
        assert piece == BIG[: len(piece)]
        break
    assert await blobs.read("input/a", 0, 1) == BIG[:1]


async def test_appended_parts_lie_where_it_says(blobs: Blobs) -> None:
    expected: list[tuple[str, int, bytes]] = []
    for number in range(5):
        parts = [b"%d-%d" % (number, part) * part for part in range(4)]
        placed = await blobs.append("batch1", parts)
        expected += [(placed.object, offset, part) for offset, part in zip(placed.offsets, parts, strict=True)]
    for key, offset, part in expected:
        assert await blobs.read(key, offset, len(part)) == part


async def test_appends_at_the_same_time_do_not_mix(blobs: Blobs) -> None:
    async def append(number: int) -> None:
        part = b"%d" % (number % 10) * 1000
        placed = await blobs.append(f"batch{number % 3}", [part, part])
        for offset in placed.offsets:
            assert await blobs.read(placed.object, offset, len(part)) == part

    await asyncio.gather(*(append(number) for number in range(30)))


async def test_deleting_a_batch_takes_its_segments_and_no_others(blobs: Blobs) -> None:
    await blobs.append("one", [b"1"])
    other = await blobs.append("other", [b"2"])
    await blobs.delete_batch("one")
    await blobs.delete_batch("never-was")
    assert await keys(blobs) == {other.object}


async def test_a_batch_can_be_appended_to_after_its_segments_were_deleted(blobs: Blobs) -> None:
    await blobs.append("one", [b"before"])
    await blobs.delete_batch("one")
    placed = await blobs.append("one", [b"after"])
    assert await blobs.read(placed.object, placed.offsets[0], 5) == b"after"


async def test_a_deleted_blob_is_gone_and_deleting_it_again_is_no_error(blobs: Blobs) -> None:
    await put(blobs, "out/b/1/output", b"x")
    await put(blobs, "out/b/1/errors", b"y")
    await blobs.delete("out/b/1/output")
    await blobs.delete("out/b/1/output")
    assert await keys(blobs) == {"out/b/1/errors"}


async def test_keys_come_with_the_time_of_their_last_change(blobs: Blobs) -> None:
    await put(blobs, "input/a", b"x")
    placed = await blobs.append("b", [b"x"])
    found = {key: changed async for key, changed in blobs.keys()}  # noqa: SIM118 - no dictionary
    assert set(found) == {"input/a", placed.object}
    assert all(1_600_000_000_000_000 < changed < 10_000_000_000_000_000 for changed in found.values())


@pytest.mark.parametrize(
    "key", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/", "A", "a.b", ".tmp/x", "a\n", "ä"]
)
async def test_a_key_that_could_lead_outside_is_refused(blobs: Blobs, key: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        await blobs.writer(key)
    with pytest.raises(ValueError, match="not a key"):
        await blobs.read(key, 0, 1)
    with pytest.raises(ValueError, match="not a key"):
        await blobs.delete(key)
    with pytest.raises(ValueError, match="not a key"):
        await blobs.delete_batch(f"{key}/..")
    with pytest.raises(ValueError, match="not a key"):
        await blobs.append(f"{key}/..", [b"x"])
