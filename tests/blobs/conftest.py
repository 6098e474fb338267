"""The stores that the behaviour suite runs over; another one joins by another branch of ``blobs``."""

from pathlib import Path

import pytest

from hornada.blobs import open_blobs
from hornada.blobs.protocol import Blobs
from tests.object_store import ObjectStore


@pytest.fixture(params=["local", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    """An empty blob store."""
    if request.param == "local":
        return open_blobs(f"file://{tmp_path}/blobs")
    store: ObjectStore = request.getfixturevalue("object_store")
    return open_blobs(store.url())
