"""Uploads in parts, on a clock that is set by hand."""

import hashlib

import pytest
from msgspec.structs import replace

from hornada.core.account import Principal
from hornada.core.errors import Code, Refusal
from hornada.core.file import File
from hornada.core.upload import Upload, UploadStatus
from hornada.engine.uploads import KEPT_S, LIFETIME_S, PART_BYTES, Uploads
from tests.conftest import Hands
from tests.engine.house import ANA, INFERNODE, OPENAI, House, caller
from tests.engine.test_eraser import Erasing

DATA = b'{"custom_id": "a", "body": {"model": "m"}}\n' * 3
BEN = caller("ben")
STRANGER = caller("eve", org="other")


@pytest.fixture
def uploads(house: House, clock: Hands) -> Uploads:
    return Uploads(house.db, house.blobs, clock, house.files)


async def begun(uploads: Uploads, size: int = len(DATA), principal: Principal = ANA) -> Upload:
    return await uploads.create(principal, size=size, name="in.jsonl", purpose="batch", lifetime_s=None)


async def added(uploads: Uploads, upload: Upload, data: bytes, principal: Principal = ANA) -> str:
    draft = await uploads.begin(principal, "upload_" + upload.id)
    await draft.write(data)
    return (await uploads.add(draft, principal)).id


async def done(
    uploads: Uploads, upload: Upload, *parts: str, md5: str | None = None, retry: bool = False, house: str = "openai"
) -> tuple[Upload, File | None, bool]:
    rules = OPENAI if house == "openai" else INFERNODE
    return await uploads.complete(ANA, rules, upload.id, part_ids=parts, md5=md5, retry=retry, idempotency_key=None)


async def refused(call: object) -> tuple[Code, str | None]:
    with pytest.raises(Refusal) as caught:
        await call  # type: ignore[misc]
    return caught.value.code, caught.value.param


async def kept(house: House) -> list[str]:
    return sorted([key async for key, _ in house.blobs.keys()])  # noqa: SIM118 - no dictionary


async def test_parts_that_came_in_any_order_are_joined_as_they_are_named(house: House, uploads: Uploads) -> None:
    upload = await begun(uploads)
    last, first = await added(uploads, upload, DATA[40:]), await added(uploads, upload, DATA[:40])
    digest = hashlib.md5(DATA, usedforsecurity=False).hexdigest()
    ended, file, earlier = await done(uploads, upload, "part_" + first, last, md5=digest)
    assert file is not None
    assert (ended.status, ended.file, earlier) == (UploadStatus.COMPLETED, file.id, False)
    assert (file.bytes, file.requests, file.sha256) == (len(DATA), 3, hashlib.sha256(DATA).hexdigest())
    assert await house.blobs.read(file.object, 0, file.bytes) == DATA
    await uploads.tidy()
    assert await kept(house) == [file.object]


async def test_a_part_that_is_not_named_is_left_out_and_goes(house: House, uploads: Uploads) -> None:
    upload = await begun(uploads)
    await added(uploads, upload, DATA)
    file = (await done(uploads, upload, await added(uploads, upload, DATA)))[1]
    await uploads.tidy()
    assert file is not None
    assert await kept(house) == [file.object]


async def test_what_does_not_fit_makes_no_file_and_the_upload_goes_on(house: House, uploads: Uploads) -> None:
    upload, other = await begun(uploads), await begun(uploads)
    part, foreign = await added(uploads, upload, DATA), await added(uploads, other, DATA)
    for wrong in ((), (part, part), (foreign,), ("part_none",)):
        assert await refused(done(uploads, upload, *wrong)) == (Code.INVALID_VALUE, "part_ids")
    short = await added(uploads, upload, DATA[1:])
    assert await refused(done(uploads, upload, short)) == (Code.INVALID_VALUE, "part_ids")
    assert await refused(done(uploads, upload, part, md5="0" * 32)) == (Code.INVALID_VALUE, "md5")
    assert all(key.startswith("part/") for key in await kept(house))
    assert (await done(uploads, upload, part))[1] is not None


async def test_after_an_hour_it_is_over_and_its_parts_go(house: House, uploads: Uploads, clock: Hands) -> None:
    upload = await begun(uploads)
    assert upload.expires_at - upload.created_at == LIFETIME_S * 1_000_000
    part = await added(uploads, upload, DATA)
    clock.advance(LIFETIME_S - 1)
    await uploads.tidy()
    late = await added(uploads, upload, DATA)
    clock.advance(1)
    for call in (done(uploads, upload, part), uploads.begin(ANA, upload.id), uploads.cancel(ANA, upload.id)):
        assert await refused(call) == (Code.UPLOAD_NOT_PENDING, "upload_id")
    assert late
    await uploads.tidy()
    assert await kept(house) == []
    assert [row["status"] for row in await house.rows("SELECT status FROM upload")] == ["expired"]
    clock.advance(KEPT_S + 1)
    await uploads.tidy()
    assert await house.rows("SELECT id FROM upload") == []


async def test_a_cancelled_one_takes_no_more_parts(house: House, uploads: Uploads) -> None:
    upload = await begun(uploads)
    part = await added(uploads, upload, DATA)
    under_way = await uploads.begin(ANA, upload.id)
    await under_way.write(DATA)
    assert (await uploads.cancel(ANA, upload.id)).status is UploadStatus.CANCELLED
    assert (await uploads.cancel(ANA, upload.id)).status is UploadStatus.CANCELLED
    assert await refused(uploads.add(under_way, ANA)) == (Code.UPLOAD_NOT_PENDING, "upload_id")
    assert await refused(done(uploads, upload, part)) == (Code.UPLOAD_NOT_PENDING, "upload_id")
    await uploads.tidy()
    assert await kept(house) == []


async def test_completing_again_is_refused_unless_an_sdk_sends_it_again(uploads: Uploads) -> None:
    upload = await begun(uploads)
    part = await added(uploads, upload, DATA)
    first = await done(uploads, upload, part)
    assert await refused(done(uploads, upload, part)) == (Code.UPLOAD_NOT_PENDING, "upload_id")
    assert await done(uploads, upload, part, retry=True) == first
    assert await refused(uploads.cancel(ANA, upload.id)) == (Code.UPLOAD_NOT_PENDING, "upload_id")


async def test_the_key_that_completed_it_answers_it_again(uploads: Uploads) -> None:
    upload, other = await begun(uploads), await begun(uploads)
    part = await added(uploads, upload, DATA)

    async def call(which: Upload, key: str) -> tuple[Upload, File | None, bool]:
        return await uploads.complete(
            ANA, OPENAI, which.id, part_ids=[part], md5=None, retry=False, idempotency_key=key
        )

    first = await call(upload, "once")
    assert await call(upload, "once") == first
    assert await refused(call(upload, "another")) == (Code.UPLOAD_NOT_PENDING, "upload_id")
    assert await refused(call(other, "once")) == (Code.INVALID_VALUE, "part_ids")


async def test_the_same_bytes_are_the_earlier_file_where_the_dialect_says_so(house: House, uploads: Uploads) -> None:
    plain = await house.upload(DATA)
    upload = await begun(uploads)
    ended, file, earlier = await done(uploads, upload, await added(uploads, upload, DATA), house="infernode")
    assert file is not None
    assert (ended.file, file.id, earlier) == (plain.id, plain.id, True)
    await uploads.tidy()
    assert await kept(house) == [plain.object]


async def test_parts_count_as_stored_and_the_file_that_they_become_counts_once(uploads: Uploads) -> None:
    tight = replace(ANA, plan=replace(ANA.plan, storage_bytes=len(DATA) + 10))
    upload = await begun(uploads, principal=tight)
    part = await added(uploads, upload, DATA, tight)
    assert await refused(added(uploads, upload, DATA, tight)) == (Code.STORAGE_QUOTA_EXCEEDED, "data")
    _, file, _ = await uploads.complete(
        tight, OPENAI, upload.id, part_ids=[part], md5=None, retry=False, idempotency_key=None
    )
    assert file is not None
    await uploads.tidy()
    again = await begun(uploads, principal=tight)
    assert await refused(added(uploads, again, DATA, tight)) == (Code.STORAGE_QUOTA_EXCEEDED, "data")


async def test_a_part_has_a_largest_size_and_is_not_empty(house: House, uploads: Uploads) -> None:
    upload = await begun(uploads)
    draft = await uploads.begin(ANA, upload.id)
    block = bytes(PART_BYTES // 4)
    for _ in range(4):
        await draft.write(block)
    assert await refused(draft.write(b"x")) == (Code.FILE_TOO_LARGE, "data")
    await draft.abort()
    assert await refused(uploads.add(await uploads.begin(ANA, upload.id), ANA)) == (Code.EMPTY_FILE, "data")
    assert await kept(house) == []


async def test_what_a_file_may_not_be_is_refused_when_it_begins(house: House, uploads: Uploads) -> None:
    most = house.limits.file_bytes
    assert (await begun(uploads, most)).bytes == most
    assert await refused(begun(uploads, most + 1)) == (Code.FILE_TOO_LARGE, "bytes")
    call = uploads.create(ANA, size=1, name="a", purpose="vision", lifetime_s=None)
    assert await refused(call) == (Code.INVALID_PURPOSE, "purpose")


async def test_only_who_began_it_goes_on_with_it_and_strangers_do_not_see_it(uploads: Uploads) -> None:
    upload = await begun(uploads)
    assert await refused(uploads.begin(BEN, upload.id)) == (Code.PERMISSION_DENIED, "id")
    for call in (uploads.begin(STRANGER, upload.id), uploads.cancel(STRANGER, upload.id), uploads.begin(ANA, "none")):
        assert await refused(call) == (Code.UPLOAD_NOT_FOUND, "upload_id")


async def test_bytes_of_a_part_without_a_row_are_garbage_after_a_day(
    house: House, uploads: Uploads, clock: Hands
) -> None:
    upload = await begun(uploads)
    lost = await uploads.begin(ANA, upload.id)
    await lost.write(DATA)
    await lost.commit()
    await added(uploads, upload, DATA)
    assert len(await kept(house)) == 2
    clock.set(2_000_000_000_000_000)  # the folder's own times are today's
    await house.files.collect()
    assert lost.object not in await kept(house)
    assert len(await kept(house)) == 1


async def test_erasing_an_organization_takes_its_uploads_along(house: House, uploads: Uploads) -> None:
    erasing = Erasing(house)
    await added(uploads, await begun(uploads), DATA)
    await erasing.ask()
    for _ in range(4):
        await erasing.eraser.once()
        await uploads.tidy()
        await house.reaper.tidy()
    assert await erasing.erased()
    assert await kept(house) == []
    assert await house.rows("SELECT id FROM upload WHERE org = 'org'") == []
