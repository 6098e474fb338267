"""What becomes of running batches when rights end, models are retired and aliases move."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hornada.core.batch import Batch, Status, StopReason
from hornada.core.catalog import Server
from hornada.core.errors import Code
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.house import caller, line
from tests.engine.model_server import Say
from tests.engine.town import NEW, NEW_COST, OLD_COST, OPERATOR, SLOTS, Town, town_at

BOB = caller("bob")
LINES = 10
LEFT = LINES - SLOTS


@pytest.fixture
async def town(db: Database, tmp_path: Path, clock: Hands) -> AsyncIterator[Town]:
    async with town_at(db, tmp_path, clock) as town:
        yield town


async def gone(town: Town, batch: Batch) -> list[str]:
    """The lines in the error file, each of which says what a regular call would have been told."""
    _, errors = await town.results(batch)
    for each in errors:
        assert each["error"] is None
        assert each["response"]["status_code"] == 404
        assert each["response"]["body"]["error"]["code"] == "model_not_found"
    return [each["custom_id"] for each in errors]


async def answered(town: Town, batch: Batch) -> list[str]:
    output, _ = await town.results(batch)
    return [each["custom_id"] for each in output]


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("seen", [True, False], ids=["seen by the warden", "not seen yet"])
async def test_lines_behind_a_move_of_their_alias_go_to_its_new_model(town: Town, seen: bool) -> None:
    batch = await town.started(*["alias"] * LINES)
    await town.curator.put_alias(OPERATOR, "alias", "n")
    if seen:
        await town.warden.once()
        await town.dispatcher.once()
    ended = await town.finish(batch)
    assert (ended.status, ended.counts.completed, ended.counts.failed) == (Status.COMPLETED, LINES, 0)
    assert (town.old.names, town.new.names) == ({"m": SLOTS}, {"n-9": LEFT})
    assert await town.segments() == {"m": (SLOTS, 0), "n": (LEFT, 0)}
    assert await town.charged() == {"m": (SLOTS, SLOTS * OLD_COST), "n": (LEFT, LEFT * NEW_COST)}


async def test_chunks_that_wait_move_with_the_alias_of_their_lines(town: Town) -> None:
    batch = await town.started(*["alias"] * 250)
    await town.curator.put_alias(OPERATOR, "alias", "n")
    await town.warden.once()
    assert {row["model"] for row in await town.rows("SELECT model FROM chunk WHERE state = 'ready'")} == {"n"}
    ended = await town.finish(batch)
    assert (ended.status, ended.counts.completed) == (Status.COMPLETED, 250)
    assert town.old.total + town.new.total == 250
    assert town.old.total == SLOTS


async def test_lines_that_wait_for_a_model_that_is_away_follow_their_alias(town: Town) -> None:
    batch = await town.accepted(*(line(f"{at:03}", model="alias") for at in range(LINES)))
    town.old.script = lambda text, nth: Say(503)
    await town.dispatcher.once()
    await town.old.arrived(SLOTS)
    await town.curator.put_alias(OPERATOR, "alias", "n")
    await town.warden.once()
    ended = await town.finish(batch)
    assert (ended.counts.completed, town.new.total) == (LINES, LINES)
    assert await town.segments() == {"n": (LINES, 0)}


async def test_where_alias_and_exact_name_come_apart_each_line_goes_to_its_own_model(town: Town) -> None:
    batch = await town.started(*["alias", "m"] * 60)
    await town.curator.put_alias(OPERATOR, "alias", "n")
    await town.warden.once()
    ended = await town.finish(batch)
    assert (ended.status, ended.counts.completed, ended.counts.failed) == (Status.COMPLETED, 120, 0)
    moved = 60 - SLOTS // 2
    assert (town.old.names, town.new.names) == ({"m": 120 - moved}, {"n-9": moved})
    assert await town.segments() == {"m": (120 - moved, 0), "n": (moved, 0)}
    assert await town.charged() == {"m": (120 - moved, (120 - moved) * OLD_COST), "n": (moved, moved * NEW_COST)}
    assert await answered(town, ended) == [f"{at:03}" for at in range(120)]


async def test_an_alias_that_moves_there_and_back_loses_nothing(town: Town) -> None:
    batch = await town.started(*["alias", "m"] * 60)
    for model in ("n", "m", "n", "m"):
        await town.curator.put_alias(OPERATOR, "alias", model)
        await town.warden.once()
        await town.dispatcher.once()
    ended = await town.finish(batch)
    assert (ended.counts.completed, town.old.total + town.new.total) == (120, 120)


@pytest.mark.parametrize("seen", [True, False], ids=["seen by the warden", "not seen yet"])
async def test_lines_whose_exact_name_is_retired_end_as_a_regular_call_would(town: Town, seen: bool) -> None:
    batch = await town.started(*["m"] * LINES)
    await town.curator.retire(OPERATOR, "m")
    if seen:
        await town.warden.once()
    ended = await town.finish(batch)
    assert (ended.status, ended.counts.completed, ended.counts.failed) == (Status.COMPLETED, SLOTS, LEFT)
    assert len(await answered(town, ended)) == SLOTS
    assert await gone(town, ended) == [f"{at:03}" for at in range(SLOTS, LINES)]
    assert await town.charged() == {"m": (SLOTS, SLOTS * OLD_COST)}
    assert town.old.total == SLOTS


async def test_an_alias_of_a_retired_model_stands_for_nothing(town: Town) -> None:
    batch = await town.started(*["alias", "m"] * 5)
    await town.curator.retire(OPERATOR, "m")
    await town.warden.once()
    ended = await town.finish(batch)
    assert (ended.status, ended.counts.completed, ended.counts.failed) == (Status.COMPLETED, SLOTS, LEFT)
    assert len(await gone(town, ended)) == LEFT


async def test_of_a_batch_that_mixes_names_only_lines_of_the_retired_one_end(town: Town) -> None:
    batch = await town.started(*["alias", "m"] * 5)
    await town.curator.put_alias(OPERATOR, "alias", "n")
    await town.curator.retire(OPERATOR, "m")
    await town.warden.once()
    ended = await town.finish(batch)
    assert (ended.status, ended.counts.completed, ended.counts.failed) == (Status.COMPLETED, 7, 3)
    assert await gone(town, ended) == ["005", "007", "009"]
    assert (town.old.total, town.new.total) == (SLOTS, 3)
    assert await town.charged() == {"m": (SLOTS, SLOTS * OLD_COST), "n": (3, 3 * NEW_COST)}


async def test_a_model_that_is_retired_before_the_check_fails_the_batch(town: Town) -> None:
    batch = await town.fresh(line("a"))
    await town.curator.retire(OPERATOR, "m")
    await town.check()
    ended = await town.see(batch)
    assert ended.status is Status.FAILED
    assert [finding.code for finding in ended.errors] == [Code.MODEL_NOT_FOUND]


async def test_a_model_that_is_retired_before_the_first_line_ends_every_line(town: Town) -> None:
    batch = await town.accepted(*(line(f"{at}") for at in range(3)))
    await town.curator.retire(OPERATOR, "m")
    await town.warden.once()
    ended = await town.finish(batch)
    assert (ended.status, ended.output_file, ended.counts.failed) == (Status.COMPLETED, None, 3)
    assert await gone(town, ended) == ["0", "1", "2"]


async def test_lines_wait_for_servers_to_say_what_they_run_but_not_for_a_retired_model(town: Town) -> None:
    batch = await town.started(*["m"] * LINES)
    behind_alias = await town.accepted(line("x", model="alias"))
    await town.curator.put_alias(OPERATOR, "alias", "n")
    town.restart([], {}, (Server(url="http://127.0.0.1:9/v1"),))
    await town.warden.once()
    assert (await town.see(batch)).stop is None
    assert (await town.see(behind_alias)).stop is None
    await town.change("INSERT INTO model (name, spec, created_at, retired_at) VALUES ('m', '', 1, 1)")
    await town.warden.once()
    assert (await town.see(batch)).stop is StopReason.MODEL_GONE
    assert (await town.see(behind_alias)).stop is None
    assert (await town.finish(batch)).counts.failed == LEFT


async def test_a_model_that_is_back_before_anybody_noticed_was_never_gone(town: Town) -> None:
    batch = await town.started(*["m"] * LINES)
    await town.curator.retire(OPERATOR, "m")
    await town.curator.put_model(OPERATOR, town.m)
    ended = await town.finish(batch)
    assert (ended.status, ended.counts.completed) == (Status.COMPLETED, LINES)


async def test_a_model_that_is_back_later_runs_new_batches(town: Town) -> None:
    batch = await town.started(*["m"] * LINES)
    await town.curator.retire(OPERATOR, "m")
    await town.warden.once()
    await town.curator.put_model(OPERATOR, town.m)
    assert (await town.finish(batch)).counts.failed == LEFT
    again = await town.accepted(line("again"))
    assert (await town.finish(again)).counts.completed == 1


async def test_lines_that_start_behind_a_change_of_price_cost_the_new_one(town: Town) -> None:
    batch = await town.started(*["m"] * LINES)
    await town.curator.put_price(OPERATOR, "m", NEW)
    ended = await town.finish(batch)
    assert ended.counts.completed == LINES
    assert await town.charged() == {"m": (LINES, SLOTS * OLD_COST + LEFT * NEW_COST)}


# ---------------------------------------------------------------- rights


def lose(what: str) -> str:
    """SQL that takes a right away."""
    return {
        "key": "UPDATE api_key SET revoked_at = :now WHERE id = 'key-ana'",
        "expiry": "UPDATE api_key SET expires_at = :now WHERE id = 'key-ana'",
        "member": "UPDATE member SET removed_at = :now WHERE id = 'ana'",
        "organization": "UPDATE organization SET suspended_at = :now WHERE id = 'org'",
    }[what]


@pytest.mark.parametrize("what", ["key", "expiry", "member", "organization"])
async def test_lines_of_a_batch_that_lost_its_rights_are_not_started(town: Town, what: str) -> None:
    batch = await town.started(*["m"] * LINES)
    await town.change(lose(what), now=town.clock.now())
    await town.warden.once()
    ended = await town.finish(batch)
    assert (ended.status, ended.counts.completed, ended.counts.failed) == (Status.COMPLETED, SLOTS, LEFT)
    assert town.old.total == SLOTS
    _, errors = await town.results(await town.batches.get(BOB, batch.id))
    assert [(each["custom_id"], each["response"], each["error"]["code"]) for each in errors] == [
        (f"{at:03}", None, "authorization_revoked") for at in range(SLOTS, LINES)
    ]
    assert await town.charged() == {"m": (SLOTS, SLOTS * OLD_COST)}


async def test_rights_of_others_end_nothing(town: Town) -> None:
    batch = await town.started(*["m"] * LINES)
    await town.change("UPDATE api_key SET revoked_at = 1 WHERE id <> 'key-ana'")
    await town.change("UPDATE api_key SET expires_at = :later WHERE id = 'key-ana'", later=town.clock.now() + 10**9)
    await town.change("UPDATE organization SET suspended_at = 1 WHERE id = 'foreign'")
    await town.warden.once()
    assert (await town.finish(batch)).counts.completed == LINES


@pytest.mark.parametrize(("listed", "status"), [('["n"]', "failed"), ('["alias"]', "in_progress"), ("[]", "failed")])
async def test_a_keys_list_says_which_models_its_files_may_name(town: Town, listed: str, status: str) -> None:
    await town.change("UPDATE api_key SET models = :listed WHERE id = 'key-ana'", listed=listed)
    batch = await town.fresh(line("a"))
    await town.check()
    found = await town.see(batch)
    assert found.status == status
    assert [finding.code for finding in found.errors] == ([Code.MODEL_NOT_FOUND] if status == "failed" else [])


async def test_an_alias_that_moves_to_a_model_outside_of_the_keys_list_stands_for_nothing(town: Town) -> None:
    await town.change("UPDATE api_key SET models = :listed WHERE id = 'key-ana'", listed='["m"]')
    batch = await town.started(*["alias"] * LINES)
    await town.curator.put_alias(OPERATOR, "alias", "n")
    await town.warden.once()
    ended = await town.finish(batch)
    assert (ended.counts.completed, ended.counts.failed, town.new.total) == (SLOTS, LEFT, 0)
    assert len(await gone(town, ended)) == LEFT


# ---------------------------------------------------------------- cost


async def test_a_look_at_everything_that_runs_is_one_transaction_that_reads(town: Town) -> None:
    for at in range(3):
        await town.accepted(line(f"{at}"))
    with town.counted.costs(reads=1, writes=0):
        assert not await town.warden.once()


async def test_every_batch_that_is_moved_or_stopped_costs_one_transaction_more(town: Town) -> None:
    for at in range(3):
        await town.accepted(line(f"{at}", model="alias"))
    await town.curator.put_alias(OPERATOR, "alias", "n")
    with town.counted.costs(reads=1, writes=3):
        await town.warden.once()
    with town.counted.costs(reads=1, writes=0):
        await town.warden.once()
    await town.change("UPDATE api_key SET revoked_at = 1")
    with town.counted.costs(reads=1, writes=3):
        await town.warden.once()
    with town.counted.costs(reads=1, writes=0):
        await town.warden.once()


async def test_a_change_that_another_process_made_is_taken_over(town: Town) -> None:
    await town.change("INSERT INTO alias (name, model, moved_at) VALUES ('another', 'n', 1)")
    assert town.catalog.resolve("another") is None
    await town.warden.once()
    assert town.catalog.resolve("another") is town.catalog.models["n"]
