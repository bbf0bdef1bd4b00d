"""The stages of the demo, and its folder: files of an earlier demo are replaced, all others stay."""

from pathlib import Path

import pytest

from chatrest import AsyncSession, RequestInvalidError
from chatrest.cli import demo_stages
from chatrest.emulator import Emulator
from chatrest.export import Plan, export


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


def test_an_empty_folder_is_used_and_a_missing_one_is_created(tmp_path: Path) -> None:
    demo_stages.clear(tmp_path)
    demo_stages.clear(tmp_path / "below" / "it")
    assert [path.name for path in (tmp_path / "below" / "it").iterdir()] == [demo_stages.MARK]
