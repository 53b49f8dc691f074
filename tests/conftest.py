"""Fixtures every test may use."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """noeta runs on asyncio, so its tests do."""
    return "asyncio"
