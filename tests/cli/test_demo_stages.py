"""The stages of the demo, and its folder: files of an earlier demo are replaced, all others stay."""

from pathlib import Path

import pytest

from chatrest import AsyncSession, RequestInvalidError
from chatrest.cli import demo_stages
from chatrest.emulator import Emulator
from chatrest.export import Plan, export
from tests.commands import ids_of


async def test_a_conversation_is_read_completely() -> None:
    async with Emulator(users=2, messages=300, groups=0) as emulator, AsyncSession(emulator.app) as session:
        stats = await demo_stages.read_conversation(session)
    assert stats.users == ("user-01", "user-02")
    assert sum(stats.kinds.values()) == 300
    assert {"message", "call"} <= set(stats.kinds)


@pytest.mark.parametrize("half", [1, 10**9])
async def test_the_export_is_complete_with_and_without_an_interruption(tmp_path: Path, half: int) -> None:
    ticks: list[int] = []
    async with Emulator(users=6, messages=400) as emulator, AsyncSession(emulator.app) as session:
        stats = await demo_stages.export_everything(session, tmp_path, half, ticks.append)
        stored = emulator.store.ids()
    assert ids_of(tmp_path) == stored
    assert stats.report.complete
    assert stats.interrupted is None or 0 < stats.interrupted <= 400
    assert sum(ticks) <= 400
    assert stats.requests > 0
    assert stats.received > 0


async def test_a_demo_replaces_only_the_files_of_the_earlier_demo(tmp_path: Path) -> None:
    out = tmp_path / "out"
    demo_stages.clear(out)
    async with Emulator(users=3, messages=50) as emulator, AsyncSession(emulator.app) as session:
        await export(session, out, Plan())
    (out / "notes.ndjson").write_text("mine")
    demo_stages.clear(out)
    assert sorted(path.name for path in out.iterdir()) == [demo_stages.MARK, "notes.ndjson"]


def test_a_folder_with_other_files_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "precious.ndjson").write_text("{}")
    for function in (demo_stages.claim, demo_stages.clear):
        with pytest.raises(RequestInvalidError, match="not changed"):
            function(tmp_path)
        with pytest.raises(RequestInvalidError, match="not a folder"):
            function(tmp_path / "precious.ndjson")
    assert [path.name for path in tmp_path.iterdir()] == ["precious.ndjson"]


async def test_an_export_without_the_marker_file_is_not_changed(tmp_path: Path) -> None:
    async with Emulator(users=3, messages=50) as emulator, AsyncSession(emulator.app) as session:
        await export(session, tmp_path, Plan(everything=True))
    with pytest.raises(RequestInvalidError, match="not changed"):
        demo_stages.clear(tmp_path)
    assert (tmp_path / "messages/source=everything/messages.ndjson").exists()


def test_an_empty_folder_is_used_and_a_missing_one_is_created(tmp_path: Path) -> None:
    demo_stages.clear(tmp_path)
    demo_stages.clear(tmp_path / "below" / "it")
    assert [path.name for path in (tmp_path / "below" / "it").iterdir()] == [demo_stages.MARK]
