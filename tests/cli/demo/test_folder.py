"""The demo's folder: its own files are replaced, and nobody else's touched."""

from pathlib import Path

import pytest

from chatrest import AsyncSession, RequestInvalidError
from chatrest.cli.demo import folder
from chatrest.emulator import Emulator
from chatrest.export import Plan, export


async def test_a_demo_replaces_what_the_one_before_exported_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "out"
    folder.clear(out)
    async with Emulator(users=3, messages=50) as emulator, AsyncSession(emulator.app) as session:
        await export(session, out, Plan())
    (out / "notes.ndjson").write_text("mine")
    folder.clear(out)
    assert sorted(path.name for path in out.iterdir()) == [folder.MARK, "notes.ndjson"]


def test_a_folder_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "precious.ndjson").write_text("{}")
    for touch in (folder.claim, folder.clear):
        with pytest.raises(RequestInvalidError, match="not touched"):
            touch(tmp_path)
        with pytest.raises(RequestInvalidError, match="no directory"):
            touch(tmp_path / "precious.ndjson")
    assert [path.name for path in tmp_path.iterdir()] == ["precious.ndjson"]


async def test_an_export_that_is_no_demos_is_not_touched(tmp_path: Path) -> None:
    async with Emulator(users=3, messages=50) as emulator, AsyncSession(emulator.app) as session:
        await export(session, tmp_path, Plan(everything=True))
    with pytest.raises(RequestInvalidError, match="not touched"):
        folder.clear(tmp_path)
    assert (tmp_path / "messages.ndjson").exists()


def test_an_empty_folder_is_taken_and_made_where_there_is_none(tmp_path: Path) -> None:
    folder.clear(tmp_path)
    folder.clear(tmp_path / "below" / "it")
    assert [path.name for path in (tmp_path / "below" / "it").iterdir()] == [folder.MARK]
