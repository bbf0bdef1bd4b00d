"""Shared by the tests of collections: a session with an emulator of five users."""

from collections.abc import AsyncIterator

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator

NOW = 2_000_000_000


@pytest.fixture
async def people() -> AsyncIterator[Emulator]:
    """An emulator with the users user-001 to user-005, in which every moment is `NOW`."""
    async with Emulator(users=5, messages=0, groups=0, clock=lambda: NOW) as emulator:
        yield emulator


@pytest.fixture
async def session(people: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(people.app) as session:
        yield session
