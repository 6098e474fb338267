"""A model server and an engine that uses it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.house import House, folder, opened, people
from tests.engine.model_server import ModelServer, listening


@pytest.fixture
async def url(server: ModelServer) -> AsyncIterator[str]:
    async with listening(server) as url:
        yield url


@pytest.fixture
async def server() -> ModelServer:
    return ModelServer()


@pytest.fixture
async def house(db: Database, tmp_path: Path, clock: Hands, url: str) -> AsyncIterator[House]:
    """Four slots for lines of the model ``m``."""
    await people(db, clock)
    async with opened(db, folder(tmp_path), clock, url) as house:
        yield house
