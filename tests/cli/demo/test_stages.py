"""What a demo does with the service."""

import json
from pathlib import Path

import pytest

from chatrest import AsyncSession
from chatrest.cli.demo import stages
from chatrest.emulator import Emulator


async def test_a_conversation_is_read_whole() -> None:
    async with Emulator(users=2, messages=300, groups=0) as emulator, AsyncSession(emulator.app) as session:
        talk = await stages.conversation(session)
    assert talk.users == ("user-01", "user-02")
    assert sum(talk.kinds.values()) == 300
    assert {"message", "call"} <= set(talk.kinds)


def ids(out: Path) -> list[int]:
    lines = [line for path in out.glob("*.ndjson") for line in path.read_bytes().splitlines()]
    return sorted(int(json.loads(line)["id"]) for line in lines)


@pytest.mark.parametrize("half", [1, 10**9])
async def test_everything_is_there_interrupted_or_not(tmp_path: Path, half: int) -> None:
    ticks: list[int] = []
    async with Emulator(users=6, messages=400) as emulator, AsyncSession(emulator.app) as session:
        found = await stages.everything(session, tmp_path, half, ticks.append)
        stored = emulator.store.ids()
    assert ids(tmp_path) == stored
    assert found.report.complete
    assert found.interrupted is None or 0 < found.interrupted <= 400
    assert sum(ticks) <= 400
    assert found.requests > 0
    assert found.received > 0
