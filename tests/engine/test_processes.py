"""Rules hold whichever process is asked: two processes on one PostgreSQL, many calls at the same time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest

from hornada.core.account import Plan, Principal
from hornada.core.batch import StopReason
from hornada.core.chunk import CHUNK_LINES
from hornada.core.errors import Code, Refusal
from hornada.core.file import File
from hornada.core.limits import DialectRules
from hornada.core.upload import Part
from hornada.engine.admission import Admission, digest
from hornada.engine.uploads import Uploads
from hornada.store import account, connect, plan
from hornada.store import file as files
from hornada.store import upload as parts
from tests.conftest import Hands, _empty
from tests.engine.house import ANA, INFERNODE, OPENAI, House, caller, folder, line, opened, people, texts
from tests.engine.model_server import ModelServer
from tests.engine.test_budget import COST, SLOTS, Desk, credit, left
from tests.engine.test_dispatcher import let_go, started

T = TypeVar("T")
Pair = tuple[House, House]
AT_ONCE = 20


@pytest.fixture
async def pair(
    shared_postgres: str, tmp_path: Path, clock: Hands, server: ModelServer, url: str
) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        databases = [await connect(shared_postgres, clock) for _ in range(2)]
        for db in databases:
            stack.push_async_callback(db.close)
        await databases[0].migrate()
        await _empty(shared_postgres)
        await people(databases[0], clock)
        first, second = [
            await stack.enter_async_context(opened(db, folder(tmp_path), clock, url, owner=name))
            for db, name in zip(databases, ("first", "second"), strict=True)
        ]
        yield first, second


async def at_once(pair: Pair, call: Callable[[House, int], Coroutine[Any, Any, T]]) -> tuple[list[T], Counter[Code]]:
    """What the calls answer that both processes get at the same time, and what the others are refused with."""

    async def tried(house: House, n: int) -> T | Code:
        try:
            return await call(house, n)
        except Refusal as refusal:
            return refusal.code

    outcomes = await asyncio.gather(*(tried(pair[n % 2], n) for n in range(AT_ONCE)))
    codes = Counter(outcome for outcome in outcomes if isinstance(outcome, Code))
    return [outcome for outcome in outcomes if not isinstance(outcome, Code)], codes


async def uploaded(house: House, data: bytes, rules: DialectRules, who: Principal = ANA, **change: Any) -> File:
    draft = await house.files.begin()
    await draft.write(data)
    file, _ = await house.files.finish(draft, who, rules, purpose="batch", name="in.jsonl", **change)
    return file


async def number(house: House, table: str) -> int:
    return len(await house.rows(f"SELECT id FROM {table}"))  # noqa: S608


async def test_a_limit_of_active_batches_is_exact(pair: Pair) -> None:
    who = caller(active_batches=3)
    sources = [await pair[0].upload(line(f"t{n}")) for n in range(AT_ONCE)]
    made, refused = await at_once(pair, lambda house, n: house.create(sources[n], who))
    assert len(made) == await number(pair[0], "batch") == 3
    assert refused == {Code.TOO_MANY_ACTIVE_BATCHES: AT_ONCE - 3}


async def test_the_same_create_makes_one_batch(pair: Pair) -> None:
    source = await pair[0].upload(line("t"))
    made, refused = await at_once(pair, lambda house, _: house.create(source, caller(active_batches=1)))
    assert len({batch.id for batch, _ in made}) == await number(pair[0], "batch") == 1
    assert [earlier for _, earlier in made].count(False) == 1
    assert not refused


@pytest.mark.parametrize("how", [{"idempotency_key": "k"}, {"retry": True}], ids=["key", "retry"])
async def test_a_repeated_create_makes_one_batch_where_others_would_be_two(pair: Pair, how: dict[str, Any]) -> None:
    source = await pair[0].upload(line("t"))
    made, _ = await at_once(pair, lambda house, _: house.create(source, rules=OPENAI, **how))
    assert len({batch.id for batch, _ in made}) == await number(pair[0], "batch") == 1
    await at_once(pair, lambda house, _: house.create(source, rules=OPENAI))
    assert await number(pair[0], "batch") == 1 + AT_ONCE


async def test_one_idempotency_key_is_of_one_create(pair: Pair) -> None:
    sources = [await pair[0].upload(line(f"t{n}")) for n in range(AT_ONCE)]
    made, refused = await at_once(pair, lambda house, n: house.create(sources[n], idempotency_key="k"))
    assert len(made) == 1
    assert refused == {Code.IDEMPOTENCY_KEY_REUSED: AT_ONCE - 1}


@pytest.mark.parametrize(
    ("rules", "how"),
    [(INFERNODE, {}), (OPENAI, {"idempotency_key": "k"}), (OPENAI, {"retry": True})],
    ids=["always", "key", "retry"],
)
async def test_the_same_upload_makes_one_file(pair: Pair, rules: DialectRules, how: dict[str, Any]) -> None:
    data = line("t")
    made, _ = await at_once(pair, lambda house, _: uploaded(house, data, rules, caller(storage_bytes=len(data)), **how))
    assert len({file.id for file in made}) == await number(pair[0], "file") == 1
    assert await pair[0].keys() == [made[0].object]


async def test_storage_is_exact(pair: Pair) -> None:
    who = caller(storage_bytes=95)
    made, refused = await at_once(pair, lambda house, n: uploaded(house, b"%010d" % n, OPENAI, who))
    assert len(made) == 9
    assert refused == {Code.STORAGE_QUOTA_EXCEEDED: AT_ONCE - 9}
    async with pair[0].db.read() as tx:
        assert await files.stored_bytes(tx, "org") == 90


async def test_parts_of_uploads_take_no_more_storage_than_there_is(pair: Pair) -> None:
    who = caller(storage_bytes=95)
    uploads = {house: Uploads(house.db, house.blobs, house.clock, house.files) for house in pair}
    begun = await uploads[pair[0]].create(who, size=200, name="in.jsonl", purpose="batch", lifetime_s=None)

    async def add(house: House, n: int) -> Part:
        draft = await uploads[house].begin(who, begun.id)
        await draft.write(b"%010d" % n)
        return await uploads[house].add(draft, who)

    made, refused = await at_once(pair, add)
    assert len(made) == 9
    assert refused == {Code.STORAGE_QUOTA_EXCEEDED: AT_ONCE - 9}
    async with pair[0].db.read() as tx:
        assert await parts.stored_bytes(tx, "org") == 90


async def test_queued_lines_are_exact(pair: Pair) -> None:
    for house in pair:
        house.plans["default"] = Plan(queued_lines=7)
    for n in range(AT_ONCE):
        await pair[n % 2].fresh(*texts(3, f"u{n}"))
    await asyncio.gather(*(house.check() for house in pair))
    statuses = Counter(row["status"] for row in await pair[0].rows("SELECT status FROM batch"))
    assert statuses == {"in_progress": 2, "failed": AT_ONCE - 2}


async def test_a_key_that_one_process_has_just_seen_is_refused_by_it_a_second_after_it_was_revoked(
    pair: Pair, clock: Hands
) -> None:
    first, second = (Admission(house.db, clock, {"default": Plan()}) for house in pair)
    async with pair[0].db.write() as tx:
        await account.insert_key(
            tx, id="key", org="org", member="ana", name="k", digest=digest("sk-1"), now=clock.now()
        )
    await asyncio.gather(first.principal("sk-1"), second.principal("sk-1"))
    await pair[0].change("UPDATE api_key SET revoked_at = 1 WHERE id = 'key'")
    first.forget()
    clock.advance(1)
    for admission in (first, second):
        with pytest.raises(Refusal):
            await admission.principal("sk-1")


# --- money -----


async def test_what_another_process_spends_is_known_within_a_second(pair: Pair, clock: Hands) -> None:
    """Half a second until it is in the ledger, half a second until it is read."""
    first, second = Desk(pair[0]), Desk(pair[1])
    await credit(pair[0], 3 * COST)
    await first.call()
    await second.call()
    await second.call()
    await first.call()  # it knows of two calls of its own and of nothing else
    await asyncio.gather(first.log.once(), second.log.once())
    clock.advance(0.5)
    await asyncio.gather(*(house.budget.once() for house in pair))
    for desk in (first, second):
        with pytest.raises(Refusal) as refused:
            await desk.call()
        assert refused.value.code is Code.INSUFFICIENT_CREDITS
    assert await left(pair[0]) == -COST


async def test_lines_of_all_workers_end_when_the_balance_is_used_up(
    pair: Pair, server: ModelServer, clock: Hands
) -> None:
    """Overspent by what is in flight in all of them, and by what they have not told each other yet."""
    paid = 100
    await credit(pair[0], paid * COST)
    made = [await house.accepted(*texts(150, name)) for house, name in zip(pair, "ab", strict=True)]
    await asyncio.gather(*(_work(house) for house in pair))
    for house in pair:
        while await house.finalizer.once():
            pass
    ended = [await pair[0].see(batch) for batch in made]
    done = sum(batch.counts.completed for batch in ended)
    assert {batch.stop for batch in ended} == {StopReason.NO_CREDIT}
    assert paid <= done <= paid + _UNKNOWN + 2 * SLOTS
    assert await left(pair[0]) == (paid - done) * COST
    assert server.total == done


_UNKNOWN = 100
"""Lines that a worker here can run between two looks of the others: a tick comes after each chunk."""


async def _work(house: House) -> None:
    while True:
        more = await house.dispatcher.once()
        await house.budget.once()
        if not more and not house.dispatcher.held:
            return
        await house.pause()


async def test_a_batch_that_one_process_cancels_is_stopped_by_the_other(pair: Pair, server: ModelServer) -> None:
    batch = await started(pair[0], server, *texts(50))
    await pair[1].batches.cancel(ANA, batch.id)
    await pair[0].dispatcher.once()
    await let_go(pair[0], server)
    await pair[0].work()
    assert server.total == SLOTS


# --- fair shares -----


@pytest.mark.parametrize("weight", [1, 3])
async def test_organizations_share_a_model_by_weight_over_all_workers(
    pair: Pair, server: ModelServer, weight: int
) -> None:
    """Each worker keeps its own account of what organizations had; that is enough for less than a chunk each."""
    gold = Plan(name="gold", weight=weight)
    async with pair[0].db.write() as tx:
        await plan.put(tx, gold, pair[0].clock.now())
    await pair[0].change("UPDATE organization SET plan = 'gold' WHERE id = 'foreign'")
    eve, lines = caller("eve", org="foreign"), 1_000
    for name, who in (("a", ANA), ("b", ANA), ("e", eve), ("f", eve)):
        await pair[0].accepted(*texts(lines // 2, name), who=who)
    pace = asyncio.create_task(_answering(server))
    await asyncio.gather(*(_work(house) for house in pair))
    pace.cancel()
    ahead, most, least = 0.0, 0.0, 0.0
    for text in list(server.calls)[: round(lines * 0.8)]:  # both have lines to be had for as long
        ahead += 1 if text[0] in "ab" else -1 / weight
        most, least = max(most, ahead), min(least, ahead)
    assert most - least < CHUNK_LINES


async def _answering(server: ModelServer) -> None:
    """Has each line take a moment, so that a claim takes no longer than a few of them."""
    server.holding = True
    while True:
        await asyncio.sleep(0.005)
        server.release()
