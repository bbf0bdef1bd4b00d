"""The example of an import: refused lines are named, and a longer file goes on."""

from pathlib import Path

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.examples.import_people import main


async def test_a_csv_file_is_imported_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "people.csv"
    source.write_text("uid,name,role\nann,Ann,\nbob,Bob,nobody\n", encoding="utf-8")
    async with Emulator(users=0, messages=0, groups=0) as emulator, AsyncSession(emulator.app) as session:
        monkeypatch.setenv("CHATREST_APP_ID", emulator.app.app_id)
        monkeypatch.setenv("CHATREST_API_KEY", emulator.app.api_key)
        monkeypatch.setenv("CHATREST_BASE_URL", emulator.base_url)
        assert await main(str(source)) == 1
        refused = "people.ndjson:2 (bob): ERR_ROLE_NOT_FOUND: The role nobody does not exist.\n"
        assert capsys.readouterr().out == refused
        with source.open("a", encoding="utf-8") as file:
            file.write("cat,Cat,\n")
        assert await main(str(source)) == 1
        assert sorted([each.uid async for each in session.users.list()]) == ["ann", "cat"]
