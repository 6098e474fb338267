"""What can be done to files, on both databases and a real folder."""

import asyncio
import errno
import hashlib
import os
from pathlib import Path

import pytest

from hornada.blobs import open_blobs
from hornada.blobs.protocol import Blobs
from hornada.core.account import Plan, Principal, Role
from hornada.core.batch import Batch, Event, Status, after
from hornada.core.clock import SECOND
from hornada.core.errors import Broken, Code, Refusal, Unavailable
from hornada.core.file import File, Purpose
from hornada.core.limits import DialectRules, Limits
from hornada.engine.files import Files
from hornada.store import account, batch, connect
from hornada.store import file as rows
from hornada.store import stage as stages
from hornada.store.database import Database
from tests.conftest import Hands

INFERNODE = DialectRules(name="infernode", deduplicate=True)
NOVITA = DialectRules(name="novita", deduplicate=False, input_lifetime_s=15 * 86_400)
MONTH = 30 * 86_400 * SECOND
LINE = b'{"custom_id": "a"}\n'


def caller(
    org: str = "org", member: str = "ana", key: str = "key1", role: Role = Role.MEMBER, **plan: int
) -> Principal:
    return Principal(org=org, member=member, key=key, role=role, plan=Plan(**plan))


ANA = caller()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return open_blobs(f"file://{tmp_path}/blobs")


@pytest.fixture
async def files(db: Database, blobs: Blobs, clock: Hands) -> Files:
    async with db.write() as tx:
        await account.insert_organization(tx, id="org", name="org", plan="default", now=clock.now())
    return Files(db, blobs, clock, Limits(file_bytes=1000))


async def upload(
    files: Files,
    data: bytes = LINE,
    who: Principal = ANA,
    rules: DialectRules = INFERNODE,
    *,
    purpose: str = "batch",
    name: str = "in.jsonl",
    lifetime_s: int | None = None,
    retry: bool = False,
    idempotency_key: str | None = None,
) -> tuple[File, bool]:
    draft = await files.begin()
    await draft.write(data)
    return await files.finish(
        draft,
        who,
        rules,
        purpose=purpose,
        name=name,
        lifetime_s=lifetime_s,
        retry=retry,
        idempotency_key=idempotency_key,
    )


async def kept(blobs: Blobs) -> set[str]:
    return {key async for key, _ in blobs.keys()}  # noqa: SIM118 - no dictionary


async def begin_batch(db: Database, file: File, clock: Hands) -> Batch:
    made = Batch(
        id="batch1",
        org=file.org,
        member=file.member,
        key=file.key,
        dialect="infernode",
        endpoint="/v1/chat/completions",
        completion_window="24h",
        model=None,
        input_file=file.id,
        status=Status.VALIDATING,
        stop=None,
        checked=False,
        created_at=clock.now(),
        expires_at=clock.now() + 86_400 * SECOND,
        updated_at=clock.now(),
    )
    async with db.write() as tx:
        await batch.insert(tx, made, None)
    return made


async def end_batch(db: Database, running: Batch, clock: Hands) -> None:
    to = after(Status.VALIDATING, Event.REJECT)
    assert to is Status.FAILED
    async with db.write() as tx:
        stage = await stages.take_unchecked(tx, "me")
        assert stage is not None
        assert await stages.reject(tx, stage, (), clock.now())


def refused(code: Code, param: str | None = "file") -> "pytest.RaisesExc[Refusal]":
    return pytest.RaisesExc(Refusal, check=lambda refusal: (refusal.code, refusal.param) == (code, param))


async def test_an_uploaded_file_is_what_was_sent(files: Files, clock: Hands) -> None:
    file, earlier = await upload(files, LINE * 3 + b"\n", name="año.jsonl")
    assert not earlier
    assert (file.org, file.member, file.key) == ("org", "ana", "key1")
    assert (file.name, file.bytes, file.requests, file.purpose) == ("año.jsonl", 58, 3, Purpose.BATCH)
    assert file.sha256 == hashlib.sha256(LINE * 3 + b"\n").hexdigest()
    assert (file.created_at, file.expires_at) == (clock.now(), clock.now() + MONTH)
    assert await files.get(ANA, f"file-{file.id}") == file
    assert b"".join([piece async for piece in files.stream(file, 0, file.bytes)]) == LINE * 3 + b"\n"
    assert b"".join([piece async for piece in files.stream(file, 2, 9)]) == b"custom_id"


async def test_a_lifetime_is_the_callers_or_the_dialects_or_the_installations(files: Files, clock: Hands) -> None:
    asked, _ = await upload(files, b"1", NOVITA and ANA, NOVITA, lifetime_s=3600)
    assert asked.expires_at == clock.now() + 3600 * SECOND
    dialect, _ = await upload(files, b"2", ANA, NOVITA)
    assert dialect.expires_at == clock.now() + 15 * 86_400 * SECOND


async def test_a_file_of_exactly_the_limit_is_taken(files: Files) -> None:
    file, _ = await upload(files, b"x" * 1000)
    assert file.bytes == 1000


async def test_a_byte_over_the_limit_is_refused_as_it_arrives(files: Files, blobs: Blobs) -> None:
    draft = await files.begin()
    await draft.write(b"x" * 1000)
    with refused(Code.FILE_TOO_LARGE) as error:
        await draft.write(b"x")
    assert "more than 1,000 bytes" in error.value.message
    await draft.abort()
    assert await kept(blobs) == set()


async def test_an_empty_file_is_refused(files: Files, blobs: Blobs) -> None:
    with refused(Code.EMPTY_FILE):
        await upload(files, b"")
    assert await kept(blobs) == set()


async def test_a_file_of_blank_lines_is_taken_and_has_no_requests(files: Files) -> None:
    file, _ = await upload(files, b"\n \n\n")
    assert (file.bytes, file.requests) == (4, 0)


@pytest.mark.parametrize("purpose", ["", "Batch", "assistants", "batch_output"])
async def test_another_purpose_is_refused(files: Files, blobs: Blobs, purpose: str) -> None:
    with refused(Code.INVALID_PURPOSE, "purpose"):
        await upload(files, purpose=purpose)
    assert await kept(blobs) == set()


async def test_the_same_bytes_again_answer_the_earlier_file(files: Files, blobs: Blobs, clock: Hands) -> None:
    first, _ = await upload(files)
    clock.advance(86_400)
    again, earlier = await upload(files, name="other.jsonl", who=caller(member="bob", key="key2"))
    assert earlier
    assert (again.id, again.name, again.created_at) == (first.id, first.name, first.created_at)
    assert again.expires_at == clock.now() + MONTH
    assert await files.get(ANA, first.id) == again
    assert await kept(blobs) == {first.object}


async def test_a_repeated_upload_never_shortens_a_life(files: Files) -> None:
    first, _ = await upload(files)
    again, earlier = await upload(files, lifetime_s=3600)
    assert earlier
    assert again.expires_at == first.expires_at


async def test_another_organization_gets_a_file_of_its_own(files: Files) -> None:
    first, _ = await upload(files)
    second, earlier = await upload(files, who=caller(org="other"))
    assert not earlier
    assert second.id != first.id


async def test_a_deleted_or_expired_file_is_not_repeated(files: Files, clock: Hands) -> None:
    first, _ = await upload(files, lifetime_s=3600)
    clock.advance(3600)
    second, earlier = await upload(files)
    assert (earlier, second.id != first.id) == (False, True)
    await files.delete(ANA, second.id)
    third, earlier = await upload(files)
    assert (earlier, third.id != second.id) == (False, True)


async def test_without_deduplication_the_same_bytes_are_another_file(files: Files, blobs: Blobs) -> None:
    ids = {(await upload(files, rules=NOVITA))[0].id for _ in range(2)}
    assert len(ids) == 2
    assert await kept(blobs) == {f"input/{file_id}" for file_id in ids}


async def test_an_sdks_retry_answers_what_the_first_attempt_made(files: Files, clock: Hands) -> None:
    first, _ = await upload(files, rules=NOVITA)
    clock.advance(599)
    again, earlier = await upload(files, rules=NOVITA, retry=True)
    assert (earlier, again.id) == (True, first.id)
    clock.advance(2)
    late, earlier = await upload(files, rules=NOVITA, retry=True)
    assert (earlier, late.id != first.id) == (False, True)


async def test_a_retry_with_another_key_is_another_upload(files: Files) -> None:
    await upload(files, rules=NOVITA)
    _, earlier = await upload(files, rules=NOVITA, retry=True, who=caller(key="key2"))
    assert not earlier


async def test_an_idempotency_key_answers_the_first_file_for_a_day(files: Files, clock: Hands) -> None:
    first, _ = await upload(files, rules=NOVITA, idempotency_key="k")
    clock.advance(86_399)
    again, earlier = await upload(files, rules=NOVITA, idempotency_key="k")
    assert (earlier, again.id) == (True, first.id)
    clock.advance(1)
    later, earlier = await upload(files, rules=NOVITA, idempotency_key="k")
    assert (earlier, later.id != first.id) == (False, True)


async def test_an_idempotency_key_with_other_bytes_is_refused(files: Files, blobs: Blobs) -> None:
    first, _ = await upload(files, idempotency_key="k")
    with refused(Code.IDEMPOTENCY_KEY_REUSED, "Idempotency-Key"):
        await upload(files, b"other", idempotency_key="k")
    assert await kept(blobs) == {first.object}
    _, earlier = await upload(files, b"other", who=caller(org="other"), idempotency_key="k")
    assert not earlier


async def test_an_idempotency_key_whose_file_was_deleted_makes_another(files: Files) -> None:
    first, _ = await upload(files, idempotency_key="k")
    await files.delete(ANA, first.id)
    second, earlier = await upload(files, idempotency_key="k")
    assert (earlier, second.id != first.id) == (False, True)


async def test_a_full_storage_is_refused_until_space_is_freed(files: Files, blobs: Blobs) -> None:
    small = caller(storage_bytes=100)
    first, _ = await upload(files, b"a" * 60, small)
    with refused(Code.STORAGE_QUOTA_EXCEEDED) as error:
        await upload(files, b"b" * 41, small)
    assert "60 bytes are stored and this file has 41 bytes, the limit is 100 bytes" in error.value.message
    assert await kept(blobs) == {first.object}
    again, earlier = await upload(files, b"a" * 60, small)
    assert (earlier, again.id) == (True, first.id)
    await upload(files, b"b" * 40, small)
    await files.delete(ANA, first.id)
    await upload(files, b"c" * 60, small)


async def test_the_quota_holds_for_uploads_at_the_same_time(files: Files, blobs: Blobs) -> None:
    small = caller(storage_bytes=100)
    outcomes = await asyncio.gather(
        *(upload(files, b"%d" % number * 30, small) for number in range(1, 9)), return_exceptions=True
    )
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
    assert {refusal.code for refusal in refusals} == {Code.STORAGE_QUOTA_EXCEEDED}
    assert len(refusals) == 5
    assert len(await kept(blobs)) == 3


async def test_the_same_upload_many_times_at_once_makes_one_file(files: Files, blobs: Blobs) -> None:
    outcomes = await asyncio.gather(*(upload(files) for _ in range(8)))
    assert len({file.id for file, _ in outcomes}) == 1
    assert [earlier for _, earlier in outcomes].count(False) == 1
    assert len(await kept(blobs)) == 1


async def test_foreign_unknown_and_expired_files_all_look_alike(files: Files, clock: Hands) -> None:
    file, _ = await upload(files, lifetime_s=3600)
    with refused(Code.FILE_NOT_FOUND, "id"):
        await files.get(caller(org="other"), file.id)
    with refused(Code.FILE_NOT_FOUND, "id"):
        await files.delete(caller(org="other", role=Role.ADMIN), file.id)
    for unknown in ("file-nothing", "", "file-'; --", "../../etc"):
        with refused(Code.FILE_NOT_FOUND, "id"):
            await files.get(ANA, unknown)
    clock.advance(3600)
    with refused(Code.FILE_NOT_FOUND, "id"):
        await files.get(ANA, file.id)
    with refused(Code.FILE_NOT_FOUND, "id"):
        await files.delete(ANA, file.id)


async def test_every_spelling_of_an_id_finds_the_file(files: Files) -> None:
    file, _ = await upload(files)
    assert [await files.get(ANA, prefix + file.id) for prefix in ("", "file-", "file_")] == [file] * 3


async def test_who_neither_made_a_file_nor_administers_may_read_but_not_delete_it(files: Files) -> None:
    file, _ = await upload(files)
    bob = caller(member="bob")
    assert await files.get(bob, file.id) == file
    with refused(Code.PERMISSION_DENIED, "id"):
        await files.delete(bob, file.id)
    assert await files.delete(caller(member="eva", role=Role.ADMIN), file.id) == file
    with refused(Code.FILE_NOT_FOUND, "id"):
        await files.get(ANA, file.id)


async def test_the_input_of_a_live_batch_stays(files: Files, db: Database, blobs: Blobs, clock: Hands) -> None:
    file, _ = await upload(files, lifetime_s=3600)
    running = await begin_batch(db, file, clock)
    with refused(Code.FILE_IN_USE, "id"):
        await files.delete(ANA, file.id)
    clock.advance(7200)
    assert await files.sweep() == 0
    assert await files.get(ANA, file.id) == file
    await end_batch(db, running, clock)
    assert await files.sweep() == 1
    assert await files.collect() == 1
    assert await kept(blobs) == set()


async def test_pages_come_in_a_total_order(files: Files, clock: Hands) -> None:
    made = []
    for number in range(7):
        made.append((await upload(files, b"%d" % number))[0].id)
        clock.advance(number % 2)
    newest = [*(await files.page(ANA)).items]
    assert {file.id for file in newest} == set(made)
    assert newest == sorted(newest, key=lambda file: (file.created_at, file.id), reverse=True)
    walked, last, more = [], None, True
    while more:
        page = await files.page(ANA, after=last, limit=3, order="asc")
        walked += page.items
        last, more = f"file-{walked[-1].id}", page.more
    assert walked == newest[::-1]
    assert (await files.page(ANA, purpose=Purpose.BATCH_OUTPUT)).items == ()
    assert (await files.page(caller(org="other"))).items == ()


async def test_a_page_behind_an_unknown_or_foreign_file_is_refused(files: Files) -> None:
    file, _ = await upload(files)
    for who, behind in ((ANA, "file-nothing"), (ANA, "?"), (caller(org="other"), file.id)):
        with refused(Code.FILE_NOT_FOUND, "after"):
            await files.page(who, after=behind)


async def test_a_page_goes_on_behind_a_file_deleted_meanwhile(files: Files, clock: Hands) -> None:
    first, _ = await upload(files, b"1")
    clock.advance(1)
    second, _ = await upload(files, b"2")
    await files.delete(ANA, second.id)
    assert (await files.page(ANA, after=second.id)).items == (first,)


async def test_expired_files_go_step_by_step_and_their_bytes_after_them(
    files: Files, blobs: Blobs, db: Database, clock: Hands
) -> None:
    gone = [(await upload(files, b"%d" % number, lifetime_s=3600))[0] for number in range(5)]
    stays, _ = await upload(files, b"stays")
    clock.advance(3601)
    assert [await files.sweep(2) for _ in range(4)] == [2, 2, 1, 0]
    assert [await files.collect(2) for _ in range(4)] == [2, 2, 1, 0]
    assert await kept(blobs) == {stays.object}
    async with db.read() as tx:
        assert await rows.known(tx, [file.object for file in gone]) == set()
    with pytest.raises(Broken):
        await blobs.read(gone[0].object, 0, 1)


async def test_bytes_that_no_row_mentions_go_after_a_day(
    files: Files, blobs: Blobs, db: Database, clock: Hands, tmp_path: Path
) -> None:
    file, _ = await upload(files)
    await begin_batch(db, file, clock)
    live = (await blobs.append("batch1", [b"x"])).object
    for key in ("input/orphan", "out/batch1/1/output"):
        writer = await blobs.writer(key)
        await writer.commit()
    dead = (await blobs.append("batch2", [b"x"])).object
    for path in (tmp_path / "blobs").rglob("*"):
        os.utime(path, (0, clock.now() // SECOND))
    clock.advance(86_400)
    assert await files.collect() == 0
    clock.advance(1)
    assert await files.collect() == 3
    assert await kept(blobs) == {file.object, live}
    assert dead not in await kept(blobs)


async def test_collecting_walks_on_where_the_last_step_stopped(files: Files, blobs: Blobs, clock: Hands) -> None:
    for number in range(5):
        writer = await blobs.writer(f"input/orphan{number}")
        await writer.commit()
    clock.set(4_000_000_000 * SECOND)
    assert [await files.collect(2) for _ in range(4)] == [2, 2, 1, 0]


async def test_a_full_disk_is_unavailable_and_leaves_nothing(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match="the disk is full"):
        await upload(files)
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []


async def test_a_write_that_failed_in_the_background_is_not_forgotten(
    db: Database, blobs: Blobs, clock: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    draft = await Files(db, blobs, clock, Limits()).begin()
    monkeypatch.setattr(os, "write", full)
    await draft.write(b"x" * 2**20)
    with pytest.raises(Unavailable, match="the disk is full"):
        await draft.write(b"x" * 2**20)
    await draft.abort()
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []


async def test_bytes_stay_when_it_is_unknown_whether_the_row_was_written(
    tmp_path: Path, blobs: Blobs, clock: Hands
) -> None:
    ledger = await connect(f"sqlite:///{tmp_path}/no-schema.db", clock)
    with pytest.raises(Exception, match="organization"):
        await upload(Files(ledger, blobs, clock, Limits()))
    await ledger.close()
    assert len(await kept(blobs)) == 1
