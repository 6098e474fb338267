"""What a bucket does beyond the behaviour of every store."""

import asyncio
import hashlib
import json
import os
import re
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from bench.process import free_port
from hornada.blobs import open_blobs
from hornada.blobs.protocol import Blobs
from hornada.blobs.s3 import RANGE
from hornada.blobs.upload import PART
from hornada.core.errors import Broken, Unavailable
from tests.object_store import BUCKET, ObjectStore

LARGE = os.urandom(1 << 20) * 17 + b"tail"  # several parts, the last one short


@pytest.fixture
def place(object_store: ObjectStore) -> str:
    return object_store.url()


@pytest.fixture
def bucket(place: str) -> Blobs:
    return open_blobs(place)


def unfinished(store: ObjectStore) -> list[str]:
    """Uploads in parts that the server keeps and nobody has ended."""
    request = Request(f"{store.filer}/buckets/{BUCKET}/.uploads/?pretty=n", headers={"Accept": "application/json"})
    try:
        with urlopen(request, timeout=5) as answer:
            return [entry["FullPath"] for entry in json.load(answer)["Entries"] or []]
    except HTTPError as error:
        with error:
            assert error.code == 404
        return []


async def test_a_large_blob_goes_up_in_parts_and_comes_down_in_pieces(bucket: Blobs) -> None:
    writer = await bucket.writer("input/a")
    for at in range(0, len(LARGE), 300_000):
        await writer.write(LARGE[at : at + 300_000])
    assert writer.sha256 == hashlib.sha256(LARGE).hexdigest()
    await writer.commit()
    pieces = [piece async for piece in bucket.stream("input/a", 1, len(LARGE) - 2)]
    assert b"".join(pieces) == LARGE[1:-1]
    assert max(map(len, pieces)) <= 256 * 1024 < RANGE


async def test_a_large_blob_that_is_aborted_leaves_no_parts(bucket: Blobs, object_store: ObjectStore) -> None:
    writer = await bucket.writer("input/a")
    await writer.write(LARGE)
    await writer.write(LARGE)
    while not unfinished(object_store):
        await asyncio.sleep(0.01)
    await writer.abort()
    await writer.abort()
    assert unfinished(object_store) == []
    with pytest.raises(Unavailable, match="the blob was ended"):
        await writer.write(b"x")


async def test_a_commit_that_was_cancelled_can_be_aborted_without_trace(bucket: Blobs) -> None:
    for size in (1, 3 * PART):
        writer = await bucket.writer("input/a")
        await writer.write(b"x" * size)
        committing = asyncio.create_task(writer.commit())
        await asyncio.sleep(0)
        committing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await committing
        await writer.abort()
        with pytest.raises(Broken):
            await bucket.read("input/a", 0, 1)


async def test_no_two_processes_make_the_same_key(place: str) -> None:
    one, other = open_blobs(place), open_blobs(place)
    placed = [await blobs.append("b", [b"x"]) for blobs in (one, other, one)]
    assert len({each.object for each in placed}) == 3
    assert all(each.object.startswith("seg/b/") for each in placed)


async def test_a_prefix_holds_its_own_keys_only(bucket: Blobs, object_store: ObjectStore) -> None:
    await bucket.append("b", [b"x"])
    other = open_blobs(object_store.url())
    assert [key async for key, _ in other.keys()] == []  # noqa: SIM118 - no dictionary


async def test_no_blob_is_a_local_file(bucket: Blobs) -> None:
    assert bucket.path("input/a") is None


async def test_a_store_that_answers_is_found_to(bucket: Blobs) -> None:
    await bucket.probe()


async def test_a_store_that_does_not_listen_is_unavailable_and_says_so(object_store: ObjectStore) -> None:
    away = open_blobs(f"s3://{BUCKET}?endpoint=http://127.0.0.1:{free_port()}")
    with pytest.raises(Unavailable, match=r"cannot store seg/b/.*: the object store: .*error sending request"):
        await away.append("b", [b"x"])
    writer = await away.writer("input/a")
    with pytest.raises(Unavailable):
        await asyncio.gather(writer.write(LARGE))
        await writer.commit()
    with pytest.raises(Unavailable):
        await writer.abort()


@pytest.mark.parametrize("act", ["read", "store", "probe", "list"])
async def test_a_bucket_that_is_not_there_is_unavailable_not_broken(object_store: ObjectStore, act: str) -> None:
    wrong = open_blobs(object_store.url().replace(BUCKET, "another-bucket", 1))
    with pytest.raises(Unavailable, match="the object store answered NoSuchBucket"):
        await _do(wrong, act)


@pytest.mark.parametrize("act", ["read", "store", "probe", "list"])
async def test_a_key_that_is_refused_is_named_by_its_code(
    place: str, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(Unavailable, match="the object store answered SignatureDoesNotMatch"):
        await _do(open_blobs(place), act)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://", "expected s3://BUCKET/PREFIX"),
        ("s3:///prefix", "expected s3://BUCKET/PREFIX"),
        ("s3://key:secret@bucket", "credentials are taken from the environment"),
        ("s3://bucket?secret=x", "takes endpoint and region, not secret"),
    ],
)
def test_an_address_that_says_something_else_is_an_error(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        open_blobs(url)


async def _do(blobs: Blobs, act: str) -> None:
    if act == "read":
        await blobs.read("input/a", 0, 1)
    elif act == "store":
        await blobs.append("b", [b"x"])
    elif act == "probe":
        await blobs.probe()
    else:
        assert [key async for key, _ in blobs.keys()] == []  # noqa: SIM118 - no dictionary
