"""Leases of processes that share a ledger: who is silent loses what it held, and knows it before others do."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hornada.core.batch import RequestCounts, Status, StopReason
from hornada.core.errors import Unavailable
from hornada.engine.membership import Membership
from hornada.store.chunk import MOST_DEATHS
from hornada.store.database import Database, Tx
from tests.engine.failing import Flaky
from tests.engine.house import ANA, House, opened, texts
from tests.engine.model_server import ModelServer
from tests.engine.test_dispatcher import drained, in_flight, let_go, started, tick

TTL_S = 15.0


class Member(Membership):
    """Tells a house under which name it works, as the wiring does."""

    def __init__(self, house: House, db: Database | None = None, role: str = "worker") -> None:
        self.lost = 0
        self._house = house
        brake = house.dispatcher.brake
        super().__init__(
            db or house.db, house.clock, role=role, host="host", ttl_s=TTL_S, brake=brake, on_lost=self._forfeit
        )

    async def once(self) -> bool:
        try:
            return await super().once()
        finally:
            self._house.owner = self.owner

    def _forfeit(self) -> None:
        self.lost += 1
        self._house.dispatcher.forfeit()


@pytest.fixture
async def member(house: House) -> Member:
    """``house`` as one of several processes."""
    member = Member(house)
    await member.once()
    return member


@pytest.fixture
async def other(house: House, url: str) -> AsyncIterator[House]:
    """Another process on the same ledger, of which nothing is asked here but that it works."""
    async with opened(house.db, house.blobs, house.clock, url, owner="other") as other:
        yield other


async def epochs(house: House) -> set[int]:
    return {row["epoch"] for row in await house.rows("SELECT epoch FROM chunk")}


async def states(house: House) -> set[str]:
    return {row["state"] for row in await house.rows("SELECT state FROM chunk")}


async def test_a_dead_workers_chunks_run_elsewhere_when_its_time_is_over_and_not_before(
    house: House, member: Member, other: House, server: ModelServer
) -> None:
    batch = await started(house, server, *texts(6))
    await house.leave()
    server.holding = False
    house.clock.advance(TTL_S - 0.1)
    assert not await other.reaper.end_lost()
    assert not await other.dispatcher.once()
    house.clock.advance(0.1)
    assert await other.reaper.end_lost()
    assert (await epochs(house), await states(house)) == ({1}, {"ready"})
    assert await other.dispatcher.once()
    assert await epochs(house) == {2}
    assert (await other.finish(batch)).counts == RequestCounts(6, 6, 0)
    assert {server.calls[text] for text in texts(4)} == {2}


async def test_who_says_a_word_in_time_keeps_what_it_holds(
    house: House, member: Member, other: House, server: ModelServer
) -> None:
    batch = await started(house, server, *texts(6))
    for _ in range(10):
        house.clock.advance(TTL_S / 6)
        await member.once()
        await other.reaper.end_lost()
    await let_go(house, server)
    assert (await house.finish(batch)).counts == RequestCounts(6, 6, 0)
    assert server.total == 6


async def test_no_line_starts_once_the_lease_may_be_over_however_it_was_told(
    house: House, member: Member, server: ModelServer
) -> None:
    await started(house, server, *texts(20))
    house.clock.advance(0.9 * TTL_S)
    server.release("t0000")
    await in_flight(house, 3)
    await house.accepted("late")
    await tick(house, 0)
    assert (server.total, house.dispatcher.held) == (4, 1)
    assert not member.fresh
    await member.once()
    assert (server.total, member.fresh, member.lost) == (4, True, 0)
    await house.dispatcher.once()
    await server.arrived(5)
    assert not house.dispatcher.brake.on


async def test_who_was_away_asks_what_was_stopped_before_a_line_starts(
    house: House, member: Member, other: House, server: ModelServer
) -> None:
    batch = await started(house, server, *texts(20))
    house.clock.advance(2 * TTL_S)
    await other.batches.cancel(ANA, batch.id)
    await member.once()
    await let_go(house, server)
    await drained(house)
    assert member.lost == 0
    assert server.total == 4
    assert (await house.finish(batch)).status is Status.CANCELLED


async def test_the_lease_counts_from_when_it_was_asked_for(house: House) -> None:
    class Slow:
        @asynccontextmanager
        async def write(self, *, durable: bool = True) -> AsyncIterator[Tx]:
            assert not durable
            async with house.db.write() as tx:
                house.clock.advance(10)
                yield tx

    slow: Any = Slow()
    member = Member(house, slow)
    await member.once()
    house.clock.advance(3.4)
    assert member.fresh
    house.clock.advance(0.2)
    assert not member.fresh


async def test_who_was_late_and_found_so_by_nobody_goes_on_with_what_it_holds(
    house: House, member: Member, server: ModelServer
) -> None:
    batch = await started(house, server, *texts(6))
    name = member.owner
    house.clock.advance(10 * TTL_S)
    await member.once()
    assert (member.owner, member.lost) == (name, 0)
    await let_go(house, server)
    assert (await house.finish(batch)).counts == RequestCounts(6, 6, 0)
    assert server.total == 6


async def test_who_was_ended_by_others_drops_what_it_held_and_goes_on_under_another_name(
    house: House, member: Member, other: House, server: ModelServer
) -> None:
    batch = await started(house, server, *texts(6))
    server.release("t0000")
    await server.arrived(5)
    name = member.owner
    house.clock.advance(TTL_S)
    await other.reaper.end_lost()
    assert house.dispatcher.brake.on
    await member.once()
    assert (member.owner == name, member.lost, house.dispatcher.held) == (False, 1, 0)
    assert await drained(house)
    assert house.dispatcher.unsaved_bytes == 0
    server.holding = False
    assert (await house.finish(batch)).counts == RequestCounts(6, 6, 0)
    assert {row["owner"] for row in await house.rows("SELECT owner FROM chunk")} <= {None}
    assert await epochs(house) <= {2}


async def test_the_commit_of_a_zombie_changes_nothing(
    house: House, member: Member, other: House, server: ModelServer
) -> None:
    batch = await started(house, server, *texts(6))
    house.clock.advance(TTL_S)
    await other.reaper.end_lost()
    await let_go(house, server)
    await other.dispatcher.once()
    await tick(house)
    assert (house.dispatcher.held, house.dispatcher.unsaved_bytes) == (0, 0)
    assert {row["epoch"] for row in await house.rows("SELECT epoch FROM segment")} <= {2}
    ended = await other.finish(batch)
    assert ended.counts == RequestCounts(6, 6, 0)
    rows = await house.rows("SELECT CAST(SUM(lines) AS BIGINT) AS n FROM ledger_entry")
    assert rows[0]["n"] == 6


async def test_the_chunks_of_a_dead_worker_are_done_when_their_batch_was_cancelled_meanwhile(
    house: House, member: Member, other: House, server: ModelServer
) -> None:
    batch = await started(house, server, *texts(6))
    await house.leave()
    await other.batches.cancel(ANA, batch.id)
    assert not await other.finalizer.once()
    house.clock.advance(TTL_S)
    await other.reaper.end_lost()
    assert await states(house) == {"done"}
    assert await other.finalizer.once()
    ended = await other.see(batch)
    assert (ended.status, ended.counts) == (Status.CANCELLED, RequestCounts(6, 0, 6))


async def test_a_batch_without_rights_ends_though_whoever_ran_it_is_dead(
    house: House, member: Member, other: House, server: ModelServer
) -> None:
    batch = await started(house, server, *texts(6))
    await house.leave()
    from hornada.store import batch as batches

    async with house.db.write() as tx:
        assert await batches.halt(tx, batch.id, StopReason.REVOKED, house.clock.now())
    house.clock.advance(TTL_S)
    await other.reaper.end_lost()
    assert await other.finalizer.once()
    assert (await other.see(batch)).counts == RequestCounts(6, 0, 6)


@pytest.mark.parametrize("stage", ["check", "assembly"])
async def test_the_stage_of_a_dead_worker_is_gone_through_by_another(
    house: House, member: Member, other: House, stage: str
) -> None:
    from hornada.store import stage as stages

    batch = await house.fresh("a") if stage == "check" else await house.accepted("a")
    if stage == "assembly":
        await house.work()
        await member.once()
    async with house.db.write() as tx:
        take = stages.take_unchecked if stage == "check" else stages.take_drained
        assert await take(tx, house.owner)
    loop = other.validator if stage == "check" else other.finalizer
    house.clock.advance(TTL_S - 1)
    await other.reaper.end_lost()
    assert not await loop.once()
    house.clock.advance(1)
    await other.reaper.end_lost()
    assert await loop.once()
    assert (await other.see(batch)).status is (Status.IN_PROGRESS if stage == "check" else Status.COMPLETED)


async def test_lines_that_worker_after_worker_dies_with_end_as_errors(
    house: House, other: House, server: ModelServer, url: str
) -> None:
    server.holding = True
    batch = await house.accepted(*texts(3))
    for at in range(MOST_DEATHS):
        async with opened(house.db, house.blobs, house.clock, url) as victim:
            await Member(victim).once()
            await victim.dispatcher.once()
            await server.arrived(3 * (at + 1))
        house.clock.advance(TTL_S)
        await other.reaper.end_lost()
    assert await other.finalizer.once()
    ended = await other.see(batch)
    assert (ended.status, ended.counts) == (Status.COMPLETED, RequestCounts(3, 0, 3))
    _, errors = await other.results(ended)
    assert [error["error"]["code"] for error in errors] == ["internal_error"] * 3


async def test_a_worker_that_is_not_sure_of_itself_ends_nobody(house: House, member: Member, other: House) -> None:
    other.steady = False
    house.clock.advance(2 * TTL_S)
    assert not await other.reaper.end_lost()
    assert await house.rows("SELECT id FROM worker WHERE ended_at IS NOT NULL") == []
    other.steady = True
    await other.reaper.end_lost()
    assert len(await house.rows("SELECT id FROM worker WHERE ended_at IS NOT NULL")) == 1


async def test_a_worker_is_sure_of_itself_after_a_while_without_a_gap(house: House, member: Member) -> None:
    assert not member.steady
    for _ in range(3):
        house.clock.advance(2.5)
        await member.once()
    assert member.steady
    house.clock.advance(TTL_S)
    assert not member.steady
    await member.once()
    assert not member.steady


async def test_who_leaves_is_waited_for_by_nobody(
    house: House, member: Member, other: House, server: ModelServer
) -> None:
    batch = await started(house, server, *texts(6))
    await house.leave()
    await member.leave()
    assert not member.fresh
    server.holding = False
    assert await other.reaper.end_lost()
    assert (await other.finish(batch)).counts == RequestCounts(6, 6, 0)


async def test_what_somebody_holds_whom_nobody_knows_is_freed_in_the_end(
    house: House, member: Member, other: House, server: ModelServer
) -> None:
    from hornada.store import stage as stages

    batch, held = await started(house, server, *texts(6)), await house.fresh("a")
    async with house.db.write() as tx:
        assert await stages.take_unchecked(tx, "stranger")
    await house.change("UPDATE chunk SET owner = 'stranger'")
    await house.leave()
    server.holding = False
    await other.reaper.end_lost()
    assert not await other.dispatcher.once()
    house.clock.advance(60)
    await member.once()
    assert await other.reaper.end_lost()
    assert (await other.finish(batch)).counts == RequestCounts(6, 6, 0)
    await other.check()
    assert (await other.finish(held)).status is Status.COMPLETED


async def test_a_join_whose_answer_was_lost_is_no_second_process(house: House) -> None:
    flaky = Flaky(house.db)
    member = Member(house, flaky)  # type: ignore[arg-type]
    flaky.after = 1
    with pytest.raises(Unavailable):
        await member.once()
    await member.once()
    assert [row["id"] for row in await house.rows("SELECT id FROM worker")] == [member.owner]


async def test_a_database_that_is_away_too_long_stops_lines_and_is_said(house: House, server: ModelServer) -> None:
    flaky = Flaky(house.db)
    member = Member(house, flaky)  # type: ignore[arg-type]
    await member.once()
    flaky.before = math.inf  # type: ignore[assignment]
    house.clock.advance(0.9 * TTL_S)
    with pytest.raises(Unavailable):
        await member.once()
    assert house.dispatcher.brake.reasons == ["no line is started: this process could not renew its lease in time"]
    flaky.before = 0
    await member.once()
    assert house.dispatcher.brake.reasons == []


async def test_one_of_the_workers_is_the_first_and_another_when_it_is_gone(
    house: House, member: Member, other: House
) -> None:
    house.clock.advance(1)
    second, api = Member(other), Member(house, role="api")
    for each in (second, api, member):
        await each.once()
    assert (member.first, second.first, api.first) == (True, False, False)
    assert (api.workers, api.crew.roles) == (2, {"worker": 2, "api": 1})
    await member.leave()
    await second.once()
    assert second.first
    await asyncio.sleep(0)


async def test_one_slow_renewal_is_no_trouble_while_the_lease_holds(house: House) -> None:
    brake = house.dispatcher.brake
    member = Membership(house.db, house.clock, role="worker", host="host", ttl_s=1.5, brake=brake, on_lost=lambda: None)
    await member.once()
    async with house.db.write() as tx:
        await tx.run("UPDATE worker SET host = 'elsewhere'")
        assert not await member.once()
        assert (member.fresh, brake.on) == (True, False)
        house.clock.advance(1.5)
        with pytest.raises(Unavailable):
            await member.once()
        assert (member.fresh, brake.on) == (False, True)
    await member.once()
    assert member.fresh
