"""The stores that the behaviour suite runs over; another one joins by another branch of ``blobs``."""

from pathlib import Path

import pytest

from hornada.blobs import open_blobs
from hornada.blobs.protocol import Blobs


@pytest.fixture(params=["local"])
def blobs(tmp_path: Path) -> Blobs:
    """An empty blob store."""
    return open_blobs(f"file://{tmp_path}/blobs")
