"""File rows."""

import pytest

from hornada.core.batch import Finding
from hornada.core.errors import Code
from hornada.core.file import File, Purpose
from hornada.store import batch, file
from hornada.store import stage as stages
from hornada.store.database import Database
from tests.conftest import Hands
from tests.store.nouns import DAY, NOW, a_batch, a_file


async def insert(db: Database, *files: File) -> None:
    async with db.write() as tx:
        for each in files:
            await file.insert(tx, each)


async def get(db: Database, each: File) -> File | None:
    async with db.read() as tx:
        return await file.get(tx, each.org, each.id)


async def page(
    db: Database, after: File | None = None, *, order: file.Order = "desc", purpose: Purpose | None = None
) -> list[str]:
    async with db.read() as tx:
        position = await file.position(tx, "org", after.id) if after else None
        return [each.id for each in await file.page(tx, "org", position, 2, order=order, purpose=purpose)]


async def start_batch(db: Database, each: File) -> str:
    live = a_batch(each)
    async with db.write() as tx:
        await batch.insert(tx, live, None)
    return live.id


async def end_batch(db: Database) -> None:
    async with db.write() as tx:
        stage = await stages.take_unchecked(tx, "me")
        assert stage is not None
        assert await stages.reject(tx, stage, [Finding(code=Code.EMPTY_FILE, message="")], NOW)


async def test_a_file_comes_back_as_it_was_put_in(db: Database) -> None:
    kept, forever = a_file(), a_file(expires_at=None)
    await insert(db, kept, forever)
    assert await get(db, kept) == kept
    assert await get(db, forever) == forever


async def test_another_organization_does_not_see_it(db: Database) -> None:
    kept = a_file()
    await insert(db, kept)
    async with db.read() as tx:
        assert await file.get(tx, "other", kept.id) is None
        assert await file.twin(tx, "other", kept.sha256, kept.purpose) is None
        assert await file.position(tx, "other", kept.id) is None
        assert await file.stored_bytes(tx, "other") == 0


async def test_a_file_is_seen_until_it_runs_out(db: Database, clock: Hands) -> None:
    kept = a_file(expires_at=clock.now() + 1_000_000)
    await insert(db, kept)
    clock.advance(0.999999)
    assert await get(db, kept) == kept
    clock.advance(0.000001)
    assert await get(db, kept) is None
    assert await page(db) == []


async def test_the_input_of_a_live_batch_does_not_run_out(db: Database, clock: Hands) -> None:
    kept = a_file()
    await insert(db, kept)
    reader = await start_batch(db, kept)
    clock.advance(31 * 86_400)
    assert await get(db, kept) == kept
    assert await page(db) == [kept.id]
    async with db.write() as tx:
        assert await file.reader(tx, kept.id) == reader
        assert await file.expired(tx, clock.now(), 10) == []
        assert not await file.mark_deleted(tx, kept.id, clock.now())
    await end_batch(db)
    assert await get(db, kept) is None
    async with db.write() as tx:
        assert await file.reader(tx, kept.id) is None
        assert await file.expired(tx, clock.now(), 10) == [kept.id]
        assert await file.mark_deleted(tx, kept.id, clock.now())


async def test_a_twin_has_the_same_bytes_and_purpose(db: Database) -> None:
    kept = a_file(sha256="ab")
    await insert(db, kept, a_file(sha256="cd"), a_file(sha256="ab", purpose=Purpose.BATCH_OUTPUT))
    async with db.read() as tx:
        assert await file.twin(tx, "org", "ab", Purpose.BATCH) == kept
        assert await file.twin(tx, "org", "ef", Purpose.BATCH) is None


async def test_a_deleted_or_expired_file_is_nobodys_twin(db: Database, clock: Hands) -> None:
    deleted, expired = a_file(sha256="ab"), a_file(sha256="cd", expires_at=clock.now())
    await insert(db, deleted, expired)
    async with db.write() as tx:
        await file.mark_deleted(tx, deleted.id, clock.now())
        assert await file.twin(tx, "org", "ab", Purpose.BATCH) is None
        assert await file.twin(tx, "org", "cd", Purpose.BATCH) is None


@pytest.mark.parametrize(
    ("before", "renewed", "after"),
    [(NOW, NOW + 5, NOW + 5), (NOW + 5, NOW, NOW + 5), (NOW, None, None), (None, NOW, None)],
)
async def test_renewing_pushes_the_expiry_out_and_never_in(
    db: Database, clock: Hands, before: int | None, renewed: int | None, after: int | None
) -> None:
    kept = a_file(expires_at=before)
    await insert(db, kept)
    clock.set(NOW - 1)
    async with db.write() as tx:
        assert await file.renew(tx, kept.id, renewed)
    found = await get(db, kept)
    assert found is not None
    assert found.expires_at == after


async def test_a_deleted_file_cannot_be_renewed(db: Database) -> None:
    kept = a_file()
    await insert(db, kept)
    async with db.write() as tx:
        await file.mark_deleted(tx, kept.id, NOW)
        assert not await file.renew(tx, kept.id, NOW + DAY)


async def test_pages_go_through_every_file_once_also_those_of_one_moment(db: Database) -> None:
    files = [a_file(created_at=NOW + i // 3) for i in range(5)]
    await insert(db, *files)
    ordered = sorted(files, key=lambda each: (each.created_at, each.id))
    expected = [each.id for each in ordered]
    assert await page(db) + await page(db, ordered[3]) + await page(db, ordered[1]) == expected[::-1]
    up = await page(db, order="asc") + await page(db, ordered[1], order="asc") + await page(db, ordered[3], order="asc")
    assert up == expected


async def test_a_page_goes_on_behind_a_file_that_was_deleted_meanwhile(db: Database) -> None:
    files = [a_file(created_at=NOW + i) for i in range(3)]
    await insert(db, *files)
    async with db.write() as tx:
        await file.mark_deleted(tx, files[1].id, NOW)
    assert await page(db, files[1]) == [files[0].id]


async def test_a_page_can_hold_one_purpose_only(db: Database) -> None:
    result = a_file(purpose=Purpose.BATCH_OUTPUT)
    await insert(db, a_file(), result)
    assert await page(db, purpose=Purpose.BATCH_OUTPUT) == [result.id]


async def test_storage_is_the_bytes_that_are_not_deleted(db: Database) -> None:
    kept, deleted = a_file(size=7), a_file(size=100)
    await insert(db, kept, deleted, a_file(size=5, purpose=Purpose.BATCH_OUTPUT), a_file(org="other"))
    async with db.write() as tx:
        await file.mark_deleted(tx, deleted.id, NOW)
        assert await file.stored_bytes(tx, "org") == 12


async def test_a_file_is_deleted_once(db: Database) -> None:
    kept = a_file()
    await insert(db, kept)
    async with db.write() as tx:
        assert await file.mark_deleted(tx, kept.id, NOW)
        assert not await file.mark_deleted(tx, kept.id, NOW)
    assert await get(db, kept) is None


async def test_what_has_run_out_is_found_oldest_first(db: Database) -> None:
    files = [a_file(expires_at=NOW - i) for i in range(3)]
    await insert(db, *files, a_file(expires_at=NOW + 1), a_file(expires_at=None))
    async with db.write() as tx:
        assert await file.expired(tx, NOW, 2) == [files[2].id, files[1].id]


async def test_a_deleted_file_is_gone_until_it_is_forgotten(db: Database) -> None:
    kept, deleted = a_file(), a_file()
    await insert(db, kept, deleted)
    async with db.write() as tx:
        await file.mark_deleted(tx, deleted.id, NOW)
        assert await file.gone(tx, 10) == [(deleted.id, deleted.object)]
        await file.forget(tx, deleted.id)
        await file.forget(tx, kept.id)
        assert await file.gone(tx, 10) == []
    assert await get(db, kept) == kept


async def test_an_object_is_known_as_long_as_a_row_names_it(db: Database) -> None:
    kept = a_file()
    await insert(db, kept)
    async with db.read() as tx:
        assert await file.known(tx, [kept.object, "input/stray"]) == {kept.object}
        assert await file.known(tx, []) == set()


async def test_a_locked_file_is_read_as_it_is(db: Database) -> None:
    kept = a_file()
    await insert(db, kept)
    async with db.write() as tx:
        assert await file.get(tx, "org", kept.id, lock=True) == kept
