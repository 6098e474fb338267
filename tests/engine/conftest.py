"""A model server and an engine that uses it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hornada.blobs import open_blobs
from hornada.blobs.protocol import Blobs
from hornada.store.database import Database
from tests.conftest import Hands
from tests.engine.house import House, folder, opened, people
from tests.engine.model_server import ModelServer, listening
from tests.engine.postoffice import Post
from tests.engine.receiver import a_postman, receiving


@pytest.fixture
async def url(server: ModelServer) -> AsyncIterator[str]:
    async with listening(server) as url:
        yield url


@pytest.fixture
async def server() -> ModelServer:
    return ModelServer()


@pytest.fixture
def shape(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Blobs:
    """The bytes of both whole shapes: a folder beside SQLite, a bucket beside PostgreSQL."""
    if database_url.startswith("sqlite:"):
        return folder(tmp_path)
    return open_blobs(request.getfixturevalue("object_store").url())


@pytest.fixture
async def house(db: Database, shape: Blobs, clock: Hands, url: str) -> AsyncIterator[House]:
    """Four slots for lines of the model ``m``."""
    await people(db, clock)
    async with opened(db, shape, clock, url) as house:
        yield house


@pytest.fixture
async def post(house: House) -> AsyncIterator[Post]:
    async with receiving() as receiver, a_postman() as postman:
        yield Post(house, receiver, postman)
