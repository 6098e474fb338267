"""Whatever is killed whenever: every line once, nothing lost, nothing run again that was committed."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hornada.core.batch import TERMINAL, Batch, Status
from hornada.core.errors import Refusal
from hornada.core.segment import unpack
from hornada.store import connect
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.house import ANA, House, folder, opened, people, texts
from tests.engine.model_server import ModelServer, Say, listening
from tests.engine.test_leases import Member

WORK = ["check", "tick", "pause", "assemble", "reap"]
steps = st.lists(
    st.tuples(st.sampled_from([*WORK, "tick", "pause", "cancel", "kill", "kill"]), st.integers(0, 400)), max_size=40
)


class Witness:
    """Looks at the ledger after every step and remembers what must not change."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self._done: dict[str, int] = {}
        self._epochs: dict[Any, int] = {}
        self._ended: dict[str, Batch] = {}
        self.committed: dict[str, int] = {}
        """Calls of a line up to the moment when it was first seen to be committed."""

    async def look(self, house: House) -> None:
        await self._look_at_batches(house)
        async with house.db.read() as tx:
            chunks = await tx.rows("SELECT * FROM chunk")
            segments = await tx.rows("SELECT * FROM segment")
        for chunk in chunks:
            key = (chunk["batch"], chunk["idx"])
            assert chunk["epoch"] >= self._epochs.get(key, 0)
            self._epochs[key] = chunk["epoch"]
            done = {at for at in range(chunk["n"]) if chunk["done"][at // 8] >> at % 8 & 1}
            mine = [segment for segment in segments if (segment["batch"], segment["idx"]) == key]
            found = [entry.line for segment in mine for entry in unpack(bytes(segment["lines"]))]
            assert sorted(found) == sorted(done)
            assert chunk["n_ok"] + chunk["n_failed"] == len(done)
            for at in done:
                text = f"t{chunk['first_line'] + at:04}"
                self.committed.setdefault(text, self._server.calls[text])

    async def _look_at_batches(self, house: House) -> None:
        for batch in (await house.batches.page(ANA)).items:
            counted = batch.counts.completed + batch.counts.failed
            assert counted >= self._done.get(batch.id, 0)
            assert counted <= batch.counts.total
            self._done[batch.id] = counted
            if batch.status in TERMINAL:
                assert self._ended.setdefault(batch.id, batch) == batch


@settings(deadline=None, max_examples=40)
@given(steps, st.integers(1, 230), st.booleans())
def test_whatever_is_killed_whenever_each_line_has_one_result(
    story: list[tuple[str, int]], lines: int, shared: bool
) -> None:
    with TemporaryDirectory() as place:
        asyncio.run(_tell(Path(place), story, lines, _joined if shared else _alone))


async def _tell(place: Path, story: list[tuple[str, int]], lines: int, settle: Callable[[House], Any]) -> None:
    clock, server = Hands(), ModelServer()
    server.script = _answer
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(listening(server))
        db = await connect(f"sqlite:///{place}/ledger.db", clock)
        stack.push_async_callback(db.close)
        await db.migrate()
        await people(db, clock)
        witness = Witness(server)
        house = await _born(stack, db, place, clock, url, 0, settle)
        batch = await house.fresh(*texts(lines))
        for at, (what, chance) in enumerate(story):
            if what == "kill":
                await _interrupt(house, WORK[chance % len(WORK)], chance // len(WORK))
                await house.leave()
                house = await _born(stack, db, place, clock, url, at + 1, settle)
            else:
                await _do(house, what, batch)
            await witness.look(house)
        clock.advance(60)
        await _do(house, "reap", batch)
        await house.check()
        ended = await house.finish(batch)
        await witness.look(house)
        await _judge(house, ended, lines)
    for text, calls in witness.committed.items():
        assert server.calls[text] == calls, f"{text} was sent again"


def _answer(text: str, nth: int) -> Say:
    if text.endswith("7"):
        return Say(400)
    return Say(500) if text.endswith("5") and nth == 1 else Say()


async def _born(
    stack: AsyncExitStack,
    db: Database,
    place: Path,
    clock: Hands,
    url: str,
    number: int,
    settle: Callable[[House], Any],
) -> House:
    """The next process."""
    house = await stack.enter_async_context(opened(db, folder(place), clock, url, owner=f"process{number}"))
    await settle(house)
    return house


async def _alone(house: House) -> None:
    """What the process before held is void."""
    await house.reaper.void(house.owner)


async def _joined(house: House) -> None:
    """What the process before held is its own until its lease is over; this one keeps its own alive."""
    member = Member(house)
    house.beat = member.once
    await member.once()


async def _do(house: House, what: str, batch: Batch) -> None:
    match what:
        case "check":
            await house.validator.once()
        case "tick":
            await house.dispatcher.once()
        case "pause":
            await house.pause()
        case "assemble":
            await house.finalizer.once()
        case "reap":
            if house.beat is not None:
                await house.beat()
                await house.reaper.end_lost()
            await house.reaper.once()
            await house.reaper.tidy()
        case "cancel":
            try:
                await house.batches.cancel(ANA, batch.id)
            except Refusal:
                assert (await house.see(batch)).status not in {Status.VALIDATING, Status.IN_PROGRESS}


async def _interrupt(house: House, what: str, turns: int) -> None:
    """Begins a piece of work and ends it wherever it is after so many turns of the loop."""
    task = asyncio.ensure_future(_do(house, what, await house.see((await house.batches.page(ANA)).items[0])))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _judge(house: House, ended: Batch, lines: int) -> None:
    output, errors = await house.results(ended)
    answered, failed = [each["custom_id"] for each in output], [each["custom_id"] for each in errors]
    assert sorted(answered + failed) == texts(lines)
    assert (answered, failed) == (sorted(answered), sorted(failed)), "not in input order"
    assert (ended.counts.total, ended.counts.completed, ended.counts.failed) == (lines, len(output), len(errors))
    entries = await house.rows("SELECT lines, source FROM ledger_entry")
    assert sum(entry["lines"] for entry in entries) == len(output)
    if ended.status is Status.COMPLETED:
        assert failed == [text for text in texts(lines) if text.endswith("7")]
    else:
        assert ended.status is Status.CANCELLED
