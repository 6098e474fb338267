"""How an organization is erased, step by step."""

from typing import Any

import pytest

from hornada.core.batch import Batch, Status
from hornada.core.errors import Code, Refusal
from hornada.engine.administration import Administration
from hornada.engine.admission import OPERATOR
from hornada.engine.eraser import Eraser
from tests.engine.house import ANA, OPENAI, House, caller, line

EVE = caller("eve", org="foreign")


class Erasing:
    """A house with its operator."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.changed: list[None] = []
        self.eraser = Eraser(house.db, house.clock, house.batches, OPERATOR, on_hidden=lambda: None)
        self.administration = Administration(
            house.db, house.clock, {}, on_changed=lambda: self.changed.append(None), on_erasing=lambda: None
        )

    async def ask(self) -> str | None:
        """Asks for the erasure of ``org``, again or for the first time; its name while it has one of its own."""
        return (await self.administration.erase_organization(OPERATOR, "org")).name

    async def erased(self) -> bool:
        """Whether it is done."""
        (row,) = await self.house.rows("SELECT erased_at FROM organization WHERE id = 'org'")
        return row["erased_at"] is not None

    async def left(self) -> dict[str, int]:
        """How many rows of the organization there are, and how many blobs in all."""
        counts = {}
        for table in ("file", "chunk", "batch", "idempotency", "ledger_entry"):
            (row,) = await self.house.rows(f"SELECT count(*) AS n FROM {table} WHERE org = 'org'")  # noqa: S608
            counts[table] = row["n"]
        counts["blob"] = len([key async for key in self.house.blobs.keys()])  # noqa: SIM118
        return counts

    async def to_the_end(self) -> None:
        """All loops that take part, as often as they need."""
        for _ in range(5):
            await self.eraser.once()
            await settled(self.house)
            await self.house.reaper.tidy()


@pytest.fixture
async def erasing(house: House) -> Erasing:
    return Erasing(house)


async def settled(house: House) -> None:
    """Every batch is checked, run and assembled."""
    await house.check()
    await house.work()
    while await house.finalizer.once():
        pass


async def completed(house: House) -> Batch:
    batch = await house.fresh("a", "b")
    await settled(house)
    found = await house.see(batch)
    assert found.status is Status.COMPLETED
    return found


async def test_files_results_and_names_go_and_the_ledger_stays(erasing: Erasing) -> None:
    house = erasing.house
    batch = await completed(house)
    before = await erasing.left()
    assert (before["file"], before["ledger_entry"] > 0) == (2, True)
    await erasing.ask()
    await erasing.to_the_end()
    assert await erasing.erased()
    after = await erasing.left()
    assert after == {
        "file": 0,
        "chunk": 0,
        "batch": before["batch"],
        "idempotency": 0,
        "ledger_entry": before["ledger_entry"],
        "blob": 0,
    }
    (organization,) = await house.rows("SELECT * FROM organization WHERE id = 'org'")
    assert organization["name"] == "erased org"
    for table in ("member", "api_key"):
        rows = await house.rows(f"SELECT name FROM {table} WHERE org = 'org'")  # noqa: S608
        assert {row["name"] for row in rows} == {"erased"}
    (row,) = await house.rows("SELECT * FROM batch WHERE id = :id", id=batch.id)
    assert (row["metadata"], row["errors"], row["n_ok"]) == (None, None, 2)


async def test_nothing_of_another_organization_goes(erasing: Erasing) -> None:
    house = erasing.house
    theirs = await house.upload(line("theirs"), EVE)
    await completed(house)
    await erasing.ask()
    await erasing.to_the_end()
    assert await erasing.erased()
    assert await house.files.get(EVE, theirs.id) == theirs
    assert await house.blobs.read(theirs.object, 0, theirs.bytes) == line("theirs")
    (organization,) = await house.rows("SELECT * FROM organization WHERE id = 'foreign'")
    assert (organization["name"], organization["suspended_at"]) == ("foreign", None)
    assert {row["name"] for row in await house.rows("SELECT name FROM member WHERE org = 'foreign'")} == {"Eve"}


async def test_live_batches_are_cancelled_first(erasing: Erasing) -> None:
    house = erasing.house
    batch = await house.fresh("a", "b")
    await erasing.ask()
    await erasing.eraser.once()
    found = await house.see(batch)
    assert found.status is Status.CANCELLING
    assert [finding.code for finding in found.errors] == [Code.CANCELLED_BY_PLATFORM_ADMIN]
    await erasing.eraser.once()
    assert (await erasing.left())["file"] == 1, "the input stays while the batch needs it"
    assert not await erasing.erased()
    await erasing.to_the_end()
    assert await erasing.erased()
    assert (await erasing.left())["blob"] == 0


async def test_it_is_not_done_while_bytes_are_left(erasing: Erasing) -> None:
    await completed(erasing.house)
    await erasing.ask()
    for _ in range(3):
        await erasing.eraser.once()
    assert not await erasing.erased()
    assert (await erasing.left())["blob"] > 0
    await erasing.house.reaper.tidy()
    await erasing.eraser.once()
    assert await erasing.erased()


async def test_asking_again_answers_how_far_it_is_and_writes_it_down_once(erasing: Erasing) -> None:
    assert await erasing.ask() == "org"
    assert await erasing.ask() == "org"
    await erasing.to_the_end()
    assert await erasing.ask() == "erased org"
    rows = await erasing.house.rows("SELECT action FROM audit WHERE org = 'org' ORDER BY at, action")
    assert [row["action"] for row in rows] == ["organization.erase", "organization.erased"]
    assert len(erasing.changed) == 3


async def test_an_upload_that_was_under_way_finds_the_organization_gone(erasing: Erasing) -> None:
    house = erasing.house
    draft = await house.files.begin()
    await draft.write(line("late"))
    await erasing.ask()
    with pytest.raises(Refusal) as caught:
        await house.files.finish(draft, ANA, OPENAI, purpose="batch", name="late.jsonl")
    assert caught.value.code is Code.INVALID_API_KEY
    await erasing.to_the_end()
    assert (await erasing.left())["blob"] == 0


async def test_a_create_that_was_under_way_finds_the_organization_gone(erasing: Erasing) -> None:
    file = await erasing.house.upload(line("a"))
    await erasing.ask()
    with pytest.raises(Refusal) as caught:
        await erasing.house.create(file)
    assert caught.value.code is Code.INVALID_API_KEY


async def test_an_erased_organization_takes_no_change(erasing: Erasing) -> None:
    await erasing.ask()
    changes: list[Any] = [
        erasing.administration.change_organization(OPERATOR, "org", suspended=False),
        erasing.administration.add_member(OPERATOR, "org", "Eva", ANA.role),
        erasing.administration.create_key(OPERATOR, "org", member="ana", name="k"),
    ]
    for change in changes:
        with pytest.raises(Refusal) as caught:
            await change
        assert caught.value.code is Code.ORGANIZATION_ERASED
