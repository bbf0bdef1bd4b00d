"""The stages of the demo."""

import json
from pathlib import Path

import pytest

from chatrest import AsyncSession
from chatrest.cli import demo_stages as stages
from chatrest.emulator import Emulator


async def test_a_conversation_is_read_completely() -> None:
    async with Emulator(users=2, messages=300, groups=0) as emulator, AsyncSession(emulator.app) as session:
        stats = await stages.read_conversation(session)
    assert stats.users == ("user-01", "user-02")
    assert sum(stats.kinds.values()) == 300
    assert {"message", "call"} <= set(stats.kinds)


def ids(out: Path) -> list[int]:
    lines = [line for path in out.rglob("*.ndjson") for line in path.read_bytes().splitlines()]
    return sorted(int(json.loads(line)["id"]) for line in lines)


@pytest.mark.parametrize("half", [1, 10**9])
async def test_the_export_is_complete_with_and_without_an_interruption(tmp_path: Path, half: int) -> None:
    ticks: list[int] = []
    async with Emulator(users=6, messages=400) as emulator, AsyncSession(emulator.app) as session:
        stats = await stages.export_everything(session, tmp_path, half, ticks.append)
        stored = emulator.store.ids()
    assert ids(tmp_path) == stored
    assert stats.report.complete
    assert stats.interrupted is None or 0 < stats.interrupted <= 400
    assert sum(ticks) <= 400
    assert stats.requests > 0
    assert stats.received > 0
