"""The mock model server, as the tests of the platform have it."""

from tests.platform.conftest import backend

__all__ = ["backend"]
