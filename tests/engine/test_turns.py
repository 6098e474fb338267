"""Where many organizations wait, a process looks at so many at a time, and at all of them in the end."""

from msgspec.structs import replace

from hornada.core.batch import Event, after
from hornada.core.chunk import ChunkState
from hornada.engine.turns import ORGANIZATIONS, Turns
from hornada.store import batch as batches
from hornada.store import chunk as chunks
from hornada.store import file as files
from hornada.store import stage as stages
from hornada.store.database import Database
from tests.store.ledgers import spans
from tests.store.nouns import NOW, a_batch, a_file


async def waiting(db: Database, orgs: int, each: int = 1) -> None:
    """So many organizations with so many running batches each, of one chunk."""
    for at in range(orgs * each):
        file = replace(a_file(), org=f"o{at % orgs:03}")
        async with db.write() as tx:
            await files.insert(tx, file)
            await batches.insert(tx, replace(a_batch(file), org=file.org), None)
            stage = await stages.take_unchecked(tx, "validator")
            assert stage is not None
            to = after(stage.batch.status, Event.ACCEPT)
            assert to is not None
            await stages.accept(tx, stage, to, model="m", names=("m",), total=5, now=NOW)
            await chunks.plan(tx, stage.batch, "m", spans(5), ChunkState.READY)


async def look(turns: Turns, *, enough: bool = False) -> list[str]:
    return [source.org for source in await turns.sources("m", enough=enough)]


async def test_few_organizations_are_all_seen_each_time(db: Database) -> None:
    await waiting(db, 3, each=2)
    turns = Turns(db, lambda: "o001")
    every = sorted(["o000", "o001", "o002"] * 2)
    assert sorted(await look(turns)) == sorted(await look(turns, enough=True)) == every


async def test_many_have_their_turn_one_after_another_from_a_place_of_ones_own(db: Database) -> None:
    await waiting(db, 2 * ORGANIZATIONS)
    names = [f"o{at:03}" for at in range(2 * ORGANIZATIONS)]
    turns = Turns(db, lambda: "o009")
    assert sorted(await look(turns)) == names[10 : ORGANIZATIONS + 10]
    assert sorted(await look(turns)) == [*names[:10], *names[ORGANIZATIONS + 10 :]]
    assert sorted(await look(turns)) == names[10 : ORGANIZATIONS + 10]


async def test_whose_turn_comes_waits_while_lines_are_in_hand(db: Database) -> None:
    await waiting(db, ORGANIZATIONS + 1)
    turns = Turns(db, lambda: "")
    assert await look(turns, enough=True) == []
    assert len(await look(turns)) == ORGANIZATIONS


async def test_turns_that_others_have_taken_are_passed_over(db: Database) -> None:
    await waiting(db, 2 * ORGANIZATIONS)
    async with db.write() as tx:
        for source in await chunks.sources(tx, "m", [f"o{at:03}" for at in range(ORGANIZATIONS)], 1):
            assert await chunks.claim(tx, source, "m", "another", 100)
    turns = Turns(db, lambda: "")
    assert min(await look(turns)) == f"o{ORGANIZATIONS:03}"
