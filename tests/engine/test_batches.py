"""What can be done to batches."""

import asyncio

import pytest

from hornada.core.account import Principal, Role
from hornada.core.batch import Batch, Status, StopReason
from hornada.core.errors import Code, Refusal
from hornada.core.ids import new_id
from tests.conftest import Hands
from tests.engine.house import ANA, INFERNODE, OPENAI, House, caller, line

BOB = caller("bob")
CID = caller("cid", role=Role.ADMIN)
EVE = caller("eve", org="foreign")
LINE = line("a")


async def refused(house: House, code: Code, who: Principal, batch: Batch | str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await house.batches.cancel(who, batch if isinstance(batch, str) else batch.id)
    assert caught.value.code is code
    return caught.value


async def cannot_create(house: House, code: Code, file: str, who: Principal = ANA) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await house.create(file, who)
    assert caught.value.code is code
    return caught.value


async def test_a_batch_begins_with_its_file_to_be_checked(house: House, clock: Hands) -> None:
    file = await house.upload(LINE)
    batch, repeats = await house.create(file, metadata={"k": "v"}, output_lifetime_s=3600)
    assert not repeats
    assert (batch.status, batch.input_file, batch.metadata) == (Status.VALIDATING, file.id, {"k": "v"})
    assert (batch.org, batch.member, batch.key, batch.dialect) == ("org", "ana", "key-ana", "infernode")
    assert batch.expires_at - batch.created_at == 86_400_000_000
    assert batch.created_at == clock.now()
    assert await house.see(batch) == batch


@pytest.mark.parametrize("spelled", ["{}", "batch_{}", "batch-{}"])
async def test_an_id_is_known_in_any_spelling(house: House, spelled: str) -> None:
    batch = await house.fresh("a")
    assert await house.batches.get(ANA, spelled.format(batch.id)) == batch


async def test_what_belongs_to_another_organization_is_not_there(house: House) -> None:
    batch = await house.fresh("a")
    for attempt in (house.batches.get(EVE, batch.id), house.batches.page(EVE, after=batch.id)):
        with pytest.raises(Refusal) as caught:
            await attempt
        assert caught.value.code is Code.BATCH_NOT_FOUND
    await refused(house, Code.BATCH_NOT_FOUND, EVE, batch)
    refusal = await cannot_create(house, Code.FILE_NOT_FOUND, batch.input_file, EVE)
    assert refusal.param == "input_file_id"
    assert (await house.batches.page(EVE)).items == ()
    assert (await house.see(batch)).status is Status.VALIDATING


async def test_an_unknown_batch_is_refused_as_a_foreign_one_is(house: House) -> None:
    for unknown in (new_id(), "nonsense!", ""):
        await refused(house, Code.BATCH_NOT_FOUND, ANA, unknown)


async def test_only_an_uploaded_file_can_be_the_input(house: House) -> None:
    batch = await house.finish(await house.accepted("a"))
    assert batch.output_file is not None
    await cannot_create(house, Code.INVALID_PURPOSE, batch.output_file)
    await cannot_create(house, Code.FILE_NOT_FOUND, "file-nothere")


async def test_the_same_create_answers_the_batch_that_lives(house: House) -> None:
    file = await house.upload(LINE)
    first, _ = await house.create(file)
    assert await house.create(file) == (first, True)
    await house.check()
    assert (await house.create(file))[0].id == first.id


async def test_content_is_what_tells_inputs_apart(house: House) -> None:
    first, _ = await house.create(await house.upload(LINE))
    again, repeats = await house.create(await house.upload(LINE))
    assert (again.id, repeats) == (first.id, True)


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "/v1/completions"},
        {"metadata": {"k": "v"}},
        {"output_lifetime_s": 3600},
        {"completion_window": "48h"},
        {"rules": OPENAI},
        {"who": BOB},
    ],
)
async def test_another_create_is_another_batch(house: House, change: dict[str, object]) -> None:
    file = await house.upload(LINE)
    first, _ = await house.create(file)
    second, repeats = await house.create(file, **change)  # type: ignore[arg-type]
    assert second.id != first.id
    assert not repeats


async def test_empty_metadata_is_none(house: House) -> None:
    file = await house.upload(LINE)
    first, _ = await house.create(file)
    assert (await house.create(file, metadata={}))[0].id == first.id


async def test_a_batch_that_is_cancelled_or_has_ended_is_not_repeated(house: House) -> None:
    file = await house.upload(LINE)
    cancelled, _ = await house.create(file)
    await house.batches.cancel(ANA, cancelled.id)
    second, repeats = await house.create(file)
    assert (second.id != cancelled.id, repeats) == (True, False)
    await house.check()
    assert (await house.finish(second)).status is Status.COMPLETED
    third, repeats = await house.create(file)
    assert (third.id != second.id, repeats) == (True, False)


async def test_without_deduplication_only_a_retry_of_an_sdk_is_repeated(house: House, clock: Hands) -> None:
    file = await house.upload(LINE)
    first, _ = await house.create(file, rules=OPENAI)
    second, _ = await house.create(file, rules=OPENAI)
    assert second.id != first.id
    assert await house.create(file, rules=OPENAI, retry=True) == (second, True)
    clock.advance(600)
    assert (await house.create(file, rules=OPENAI, retry=True))[1]
    clock.advance(0.001)
    assert not (await house.create(file, rules=OPENAI, retry=True))[1]


async def test_a_retry_with_another_key_repeats_nothing(house: House) -> None:
    file = await house.upload(LINE)
    await house.create(file, rules=OPENAI)
    other = Principal(org="org", member="ana", key="key-2", role=Role.MEMBER, plan=ANA.plan)
    assert not (await house.create(file, other, OPENAI, retry=True))[1]


async def test_an_idempotency_key_answers_the_same_batch_for_a_day_whatever_became_of_it(
    house: House, clock: Hands
) -> None:
    file = await house.upload(LINE)
    first, _ = await house.create(file, rules=OPENAI, idempotency_key="k")
    await house.batches.cancel(ANA, first.id)
    again, repeats = await house.create(file, rules=OPENAI, idempotency_key="k")
    assert (again.id, repeats, again.status) == (first.id, True, Status.CANCELLING)
    clock.advance(86_400)
    assert not (await house.create(file, rules=OPENAI, idempotency_key="k"))[1]


async def test_an_idempotency_key_is_for_one_request(house: House) -> None:
    file = await house.upload(LINE)
    await house.create(file, idempotency_key="k")
    with pytest.raises(Refusal) as caught:
        await house.create(file, metadata={"other": "body"}, idempotency_key="k")
    assert caught.value.code is Code.IDEMPOTENCY_KEY_REUSED


async def test_the_limit_of_active_batches_is_exact_under_concurrent_creates(house: House) -> None:
    who = caller(active_batches=3)
    file = await house.upload(LINE)

    async def create(at: int) -> Batch | None:
        try:
            batch, _ = await house.create(file, who, metadata={"at": str(at)})
        except Refusal as refusal:
            assert refusal.code is Code.TOO_MANY_ACTIVE_BATCHES
            assert (refusal.retry_after, refusal.should_retry) == (60, False)
            return None
        return batch

    made = [batch for batch in await asyncio.gather(*(create(at) for at in range(8))) if batch]
    assert len(made) == 3
    await house.batches.cancel(who, made[0].id)
    assert await create(9) is None, "one that is cancelling is still active"
    await house.change("UPDATE batch SET status = 'cancelled' WHERE id = :id", id=made[0].id)
    assert await create(10)


async def test_concurrent_equal_creates_make_one_batch(house: House) -> None:
    file = await house.upload(LINE)
    made = await asyncio.gather(*(house.create(file) for _ in range(6)))
    assert len({batch.id for batch, _ in made}) == 1
    assert sorted(repeats for _, repeats in made) == [False] + [True] * 5


async def test_a_twin_is_answered_before_the_limit_is_looked_at(house: House) -> None:
    who = caller(active_batches=1)
    file = await house.upload(LINE)
    first, _ = await house.create(file, who)
    assert await house.create(file, who) == (first, True)


async def test_a_list_is_newest_first_and_goes_on_behind_the_last_seen(house: House, clock: Hands) -> None:
    file = await house.upload(LINE)
    made = []
    for at in range(5):
        made.append((await house.create(file, metadata={"at": str(at)}))[0])
        clock.advance(at % 2)
    first = await house.batches.page(ANA, limit=3)
    rest = await house.batches.page(ANA, after=f"batch_{first.items[-1].id}", limit=3)
    newest_first = sorted(made, key=lambda batch: (batch.created_at, batch.id), reverse=True)
    assert list(first.items + rest.items) == newest_first
    assert (first.more, rest.more) == (True, False)


@pytest.mark.parametrize("status", Status)
async def test_a_batch_is_cancelled_only_before_it_is_finalized(house: House, status: Status) -> None:
    batch = await house.fresh("a")
    await house.change("UPDATE batch SET status = :to", to=status)
    if status in {Status.VALIDATING, Status.IN_PROGRESS, Status.CANCELLING}:
        cancelled = await house.batches.cancel(ANA, batch.id)
        assert cancelled.status is Status.CANCELLING
        assert cancelled.errors == ()
        assert house.stopped == [(batch.id, StopReason.CANCELLED)]
        return
    refusal = await refused(house, Code.BATCH_NOT_CANCELLABLE, ANA, batch)
    assert f"'{status}'" in refusal.message
    assert refusal.should_retry is False
    assert (await house.see(batch)).status is status


async def test_cancelling_again_changes_nothing(house: House, clock: Hands) -> None:
    batch = await house.fresh("a")
    first = await house.batches.cancel(ANA, batch.id)
    assert (first.stop, first.cancelling_at) == (StopReason.CANCELLED, clock.now())
    clock.advance(5)
    assert await house.batches.cancel(CID, batch.id) == first


async def test_another_member_may_not_cancel(house: House) -> None:
    batch = await house.fresh("a")
    await refused(house, Code.PERMISSION_DENIED, BOB, batch)
    assert (await house.see(batch)).status is Status.VALIDATING


async def test_an_administrator_who_cancels_for_another_is_named(house: House) -> None:
    batch = await house.fresh("a")
    cancelled = await house.batches.cancel(CID, batch.id)
    (entry,) = cancelled.errors
    assert (entry.code, entry.line, entry.param) == (Code.CANCELLED_BY_ORG_ADMIN, None, None)
    assert "Cid" in entry.message
    await house.check()
    ended = await house.finish(batch)
    assert (ended.status, ended.errors) == (Status.CANCELLED, (entry,))


async def test_an_administrator_who_cancels_an_own_batch_is_not(house: House) -> None:
    batch, _ = await house.create(await house.upload(LINE, CID), CID, INFERNODE)
    assert (await house.batches.cancel(CID, batch.id)).errors == ()


async def test_a_cancel_and_the_end_of_the_last_line_do_not_cross(house: House) -> None:
    for at in range(5):
        batch = await house.accepted(f"a{at}")
        await house.dispatcher.once()
        done = asyncio.ensure_future(house.work())
        try:
            cancelled = await house.batches.cancel(ANA, batch.id)
        except Refusal as refusal:
            assert refusal.code is Code.BATCH_NOT_CANCELLABLE
            cancelled = None
        await done
        status = (await house.finish(batch)).status
        assert status is (Status.CANCELLED if cancelled else Status.COMPLETED)
