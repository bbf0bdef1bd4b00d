"""Shared by the tests of tables, attachments and copies: a small service, and a session that never waits."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from tests.support.scripted_server import no_wait


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=5, messages=40, groups=2, seed=3) as emulator:
        yield emulator


@pytest.fixture
async def session(emulator: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(emulator.app, sleep=no_wait, dice=lambda: 0.5) as session:
        yield session


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"
