"""Checkups take turns: no organization's files keep those of another from being looked at."""

import asyncio
from typing import Any, cast

from hornada.blobs.protocol import Blobs
from hornada.core.account import Principal
from hornada.engine.checkup import Checkup, Checkups
from tests.engine.house import ANA, CHAT, OPENAI, House, caller, line

EVE = caller("eve", org="foreign")


class Held:
    """A blob store that gives nothing out before ``go``; ``reading`` are the keys that somebody waits for."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self.reading: list[str] = []
        self.go = asyncio.Event()

    async def read(self, key: str, offset: int, length: int) -> bytes:
        self.reading.append(key)
        await self.go.wait()
        return await self._blobs.read(key, offset, length)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blobs, name)


async def test_one_organization_does_not_take_every_turn(house: House) -> None:
    held, turns = Held(house.blobs), {"catalog": lambda: house.catalog, "models_known": lambda: True, "at_once": 2}
    checkups = Checkups(house.db, cast("Blobs", held), house.files, house.limits, **turns)
    of: dict[str, str] = {}

    async def begun(who: Principal) -> asyncio.Task[Checkup]:
        draft = await checkups.begin()
        await draft.write(line("a"))
        of[draft.object] = who.org
        return asyncio.create_task(checkups.draft(who, OPENAI, draft, CHAT))

    tasks = [await begun(who) for who in (ANA, ANA, ANA, EVE)]
    async with asyncio.timeout(60):
        while EVE.org not in {of[key] for key in held.reading}:
            await asyncio.sleep(0.001)
    assert sorted(of[key] for key in held.reading) == [EVE.org, ANA.org]
    held.go.set()
    assert [(await task).total for task in tasks] == [1, 1, 1, 1]
