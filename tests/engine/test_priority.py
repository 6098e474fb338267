"""The priority with which lines are sent to servers that take one."""

import json
from pathlib import Path

import pytest

from hornada.core.catalog import Catalog
from hornada.engine.gateway import Gateway
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.house import ANA, CHAT, folder, line, opened, people
from tests.engine.model_server import ModelServer, Say


@pytest.fixture
async def seen(server: ModelServer) -> list[bytes]:
    """The bodies that the server got."""
    bodies: list[bytes] = []
    answer = server._answer

    async def remember(head: bytes, body: bytes, reader: object) -> Say | None:
        bodies.append(body)
        return await answer(head, body, reader)  # type: ignore[arg-type]

    server._answer = remember  # type: ignore[method-assign]
    return bodies


@pytest.mark.parametrize(("priority", "sent"), [(10, 10), (0, 0), (None, None)])
async def test_lines_carry_the_priority_of_their_model(
    db: Database, tmp_path: Path, clock: Hands, url: str, seen: list[bytes], priority: int | None, sent: int | None
) -> None:
    await people(db, clock)
    async with opened(db, folder(tmp_path), clock, url, batch_priority=priority) as house:
        await house.finish(await house.accepted("one", line("own", priority=3)))
    assert [json.loads(body).get("priority") for body in seen] == [sent, 3]


async def test_regular_calls_go_untouched(
    db: Database, tmp_path: Path, clock: Hands, url: str, seen: list[bytes]
) -> None:
    async with opened(db, folder(tmp_path), clock, url, batch_priority=10) as house:
        catalog = Catalog(models={"m": house.model}, aliases={})
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()

        async def admit(_: str) -> None:
            """Lets everybody in."""

        gateway = Gateway(
            lambda: catalog, house.servers, house.gates, limits=house.limits, record=lambda _: None, admit=admit
        )
        await gateway.call(ANA, CHAT, body)
    assert seen == [body]
