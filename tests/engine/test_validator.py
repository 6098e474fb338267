"""How fresh batches are checked."""

import logging
from pathlib import Path

import pytest
from msgspec.structs import replace

from hornada.core.account import Plan
from hornada.core.batch import RequestCounts, Status, StopReason
from hornada.core.catalog import Catalog
from hornada.core.errors import Code
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.failing import Flaky, FullDisk
from tests.engine.house import ANA, CHAT, House, folder, line, opened, people, texts

HALF_AN_HOUR = 1800


async def test_a_good_file_is_accepted_and_planned_in_chunks_of_a_hundred(house: House, clock: Hands) -> None:
    batch = await house.fresh(*texts(250))
    assert await house.validator.once()
    assert not await house.validator.once()
    found = await house.see(batch)
    assert (found.status, found.model, found.counts) == (Status.IN_PROGRESS, "m", RequestCounts(250, 0, 0))
    assert found.in_progress_at == clock.now()
    rows = await house.rows("SELECT first_line, n, state, model FROM chunk ORDER BY idx")
    assert [(row["first_line"], row["n"]) for row in rows] == [(0, 100), (100, 100), (200, 50)]
    assert {(row["state"], row["model"]) for row in rows} == {("ready", "m")}


async def test_an_alias_stands_for_its_model(house: House) -> None:
    batch = await house.fresh(line("a", model="alias"), line("b"))
    await house.check()
    assert (await house.see(batch)).model == "m"


async def test_a_bad_file_fails_its_batch_with_every_cause(house: House, clock: Hands) -> None:
    batch = await house.fresh(b"{]\n", line("a"), line("a"), line("b", model="other"))
    await house.check()
    found = await house.see(batch)
    assert found.status is Status.FAILED
    assert [(finding.line, finding.code) for finding in found.errors] == [
        (1, Code.INVALID_JSON_LINE),
        (3, Code.DUPLICATE_CUSTOM_ID),
        (4, Code.MODEL_MISMATCH),
    ]
    assert (found.counts, found.failed_at) == (RequestCounts(), clock.now())
    assert await house.rows("SELECT 1 FROM chunk") == []
    assert not await house.finalizer.once()


@pytest.mark.parametrize(
    ("models", "code"),
    [(["m"], None), (["alias"], None), (["other"], Code.MODEL_NOT_FOUND), ([], Code.MODEL_NOT_FOUND)],
)
async def test_a_key_may_be_for_some_models_only(house: House, models: list[str], code: Code | None) -> None:
    import msgspec

    await house.change("UPDATE api_key SET models = :models", models=msgspec.json.encode(models).decode())
    batch = await house.fresh("a")
    await house.check()
    errors = (await house.see(batch)).errors
    assert [finding.code for finding in errors] == ([code] if code else [])


async def test_a_model_without_slots_for_lines_takes_no_batch(house: House) -> None:
    house.catalog = Catalog(models={"m": replace(house.model, batch_slots=0)}, aliases={})
    batch = await house.fresh("a")
    await house.check()
    assert [finding.code for finding in (await house.see(batch)).errors] == [Code.MODEL_NOT_BATCHABLE]


async def test_more_lines_than_the_plan_lets_an_organization_queue_fail_the_batch(house: House) -> None:
    house.plans["default"] = Plan(queued_lines=5)
    first = await house.accepted(*texts(3))
    second = await house.fresh(*texts(3, "u"))
    third = await house.fresh(*texts(2, "v"))
    await house.check()
    (finding,) = (await house.see(second)).errors
    assert (finding.code, finding.line) == (Code.ENQUEUED_REQUEST_LIMIT_EXCEEDED, None)
    assert (await house.see(second)).status is Status.FAILED
    assert (await house.see(third)).status is Status.IN_PROGRESS
    await house.finish(first)
    await house.accepted(*texts(3, "w"))


async def test_an_input_that_is_gone_fails_the_batch(house: House) -> None:
    batch = await house.fresh("a")
    await house.change("UPDATE file SET deleted_at = 1")
    await house.check()
    found = await house.see(batch)
    assert (found.status, [finding.param for finding in found.errors]) == (Status.FAILED, ["input_file_id"])
    assert batch.input_file in found.errors[0].message


async def test_an_unknown_model_waits_until_every_server_has_named_its_models(house: House, clock: Hands) -> None:
    known, house.catalog = house.catalog, Catalog(models={}, aliases={})
    house.models_known = False
    batch = await house.fresh("a")
    await house.check()
    assert (await house.see(batch)).status is Status.VALIDATING
    house.catalog, house.models_known = known, True
    clock.advance(60)
    await house.check()
    assert (await house.see(batch)).status is Status.IN_PROGRESS


async def test_a_known_model_waits_for_nobody(house: House) -> None:
    house.models_known = False
    await house.accepted("a")


async def test_a_model_that_no_server_names_fails_the_batch(house: House) -> None:
    batch = await house.fresh(line("a", model="nobody's"))
    await house.check()
    assert [finding.code for finding in (await house.see(batch)).errors] == [Code.MODEL_NOT_FOUND]


async def test_a_start_that_keeps_failing_is_tried_for_half_an_hour_and_then_fails(
    db: Database, tmp_path: Path, clock: Hands, url: str
) -> None:
    await people(db, clock)
    disk = FullDisk(folder(tmp_path))
    async with opened(db, disk, clock, url) as house:  # type: ignore[arg-type]
        batch = await house.fresh("a")
        disk.full = {"read"}
        started = clock.now()
        while (await house.see(batch)).status is Status.VALIDATING:
            await house.validator.once()
            clock.advance(1)
        failed = await house.see(batch)
    assert [finding.code for finding in failed.errors] == [Code.INTERNAL_ERROR]
    assert failed.status is Status.FAILED
    assert failed.failed_at is not None
    assert HALF_AN_HOUR <= (failed.failed_at - started) / 1e6 <= HALF_AN_HOUR + 90


async def test_a_batch_that_an_outage_made_old_is_given_its_tries_all_the_same(
    db: Database, tmp_path: Path, clock: Hands, url: str
) -> None:
    await people(db, clock)
    disk = FullDisk(folder(tmp_path))
    async with opened(db, disk, clock, url) as house:  # type: ignore[arg-type]
        batch = await house.fresh("a")
        clock.advance(2 * HALF_AN_HOUR)
        disk.full = {"read"}
        await house.check()
        assert (await house.see(batch)).status is Status.VALIDATING
        disk.full = set()
        clock.advance(60)
        await house.check()
        assert (await house.see(batch)).status is Status.IN_PROGRESS


async def test_a_batch_whose_check_breaks_is_put_off_and_holds_up_no_other(house: House, clock: Hands) -> None:
    broken = await house.fresh("a")
    clock.advance(1)
    other = await house.fresh("b")
    await house.change("UPDATE file SET object = '../outside' WHERE id = :id", id=broken.input_file)
    await house.check()
    assert (await house.see(broken)).status is Status.VALIDATING
    assert (await house.see(other)).status is Status.IN_PROGRESS


@pytest.mark.parametrize("lost", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_database_that_fails_in_the_middle_of_a_check_only_delays_it(
    db: Database, tmp_path: Path, clock: Hands, url: str, lost: str, nth: int
) -> None:
    await people(db, clock)
    flaky = Flaky(db)
    async with opened(flaky, folder(tmp_path), clock, url) as house:
        batch = await house.fresh("a")
        for _ in range(3):
            setattr(flaky, lost, nth)
            try:
                await house.check()
            except Exception as error:  # noqa: BLE001 - the loop waits and goes on
                assert "database" in str(error) or "lost" in str(error)
        flaky.before = flaky.after = 0
        clock.advance(60)
        await house.check()
        assert (await house.see(batch)).status is Status.IN_PROGRESS
        assert len(await house.rows("SELECT 1 FROM chunk")) == 1


async def test_a_file_cancelled_before_its_check_is_checked_and_ends_with_every_line_cancelled(house: House) -> None:
    batch = await house.fresh(*texts(120))
    await house.batches.cancel(ANA, batch.id)
    await house.check()
    ended = await house.finish(batch)
    assert (ended.status, ended.counts) == (Status.CANCELLED, RequestCounts(120, 0, 120))
    output, errors = await house.results(ended)
    assert output == []
    assert [each["custom_id"] for each in errors] == texts(120)
    assert {each["error"]["code"] for each in errors} == {Code.BATCH_CANCELLED}


async def test_a_bad_file_cancelled_before_its_check_fails_with_its_causes(house: House) -> None:
    batch = await house.fresh(b"{]\n")
    await house.batches.cancel(ANA, batch.id)
    await house.check()
    failed = await house.see(batch)
    assert (failed.status, [finding.code for finding in failed.errors]) == (Status.FAILED, [Code.INVALID_JSON_LINE])


async def test_a_cancelled_batch_is_not_held_against_the_queue(house: House) -> None:
    house.plans["default"] = Plan(queued_lines=1)
    batch = await house.fresh(*texts(3))
    await house.batches.cancel(ANA, batch.id)
    await house.check()
    assert (await house.finish(batch)).status is Status.CANCELLED


async def test_a_file_cancelled_in_the_middle_of_its_check_is_looked_at_again_at_once(
    db: Database, tmp_path: Path, clock: Hands, url: str, server: object
) -> None:
    await people(db, clock)
    disk = FullDisk(folder(tmp_path))
    async with opened(db, disk, clock, url) as house:  # type: ignore[arg-type]
        batch = await house.fresh("a")

        async def cancel() -> None:
            await house.batches.cancel(ANA, batch.id)

        disk.meanwhile = cancel
        await house.check()
        ended = await house.finish(batch)
    assert (ended.status, ended.counts) == (Status.CANCELLED, RequestCounts(1, 0, 1))


async def test_a_file_that_expired_before_its_check_is_checked_and_ends_expired(house: House, clock: Hands) -> None:
    batch = await house.fresh("a", "b")
    bad = await house.fresh(b"{]\n")
    clock.set(batch.expires_at)
    await house.reaper.once()
    assert (await house.see(batch)).status is Status.FINALIZING
    await house.check()
    ended = await house.finish(batch)
    assert (ended.status, ended.counts, ended.stop) == (Status.EXPIRED, RequestCounts(2, 0, 2), StopReason.EXPIRED)
    _, errors = await house.results(ended)
    assert {each["error"]["code"] for each in errors} == {Code.BATCH_EXPIRED}
    assert (await house.see(bad)).status is Status.FAILED


async def test_a_large_file_is_checked_apart(house: House) -> None:
    batch = await house.accepted(*(line(text, note="x" * 2000) for text in texts(60)))
    assert batch.counts.total == 60
    assert batch.endpoint == CHAT


async def test_the_log_names_a_rejected_batch_as_clients_do_with_its_first_cause(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="hornada")
    batch = await house.fresh(line("a", model="none"), line("b", model="none"))
    await house.check()
    assert caplog.messages == [f"batch_{batch.id}: rejected: model_not_found, 2 findings in all"]
