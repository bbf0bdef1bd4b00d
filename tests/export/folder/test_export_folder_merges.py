"""Merging: small files of daily runs become large ones, and the export stays complete at every step."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chatrest import AsyncSession, AuthenticationError, ChatRestError
from chatrest.emulator import Emulator, Status
from chatrest.export import Plan, export, read_raw, verify
from chatrest.export.folder import export_folder as folder_module
from tests.exported_files import files, ids


def data_files(folder: Path) -> list[str]:
    return [name for name in files(folder) if name.startswith("messages/")]


async def test_small_files_are_merged_and_the_export_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        for _ in range(3):
            emulator.store.add_message("user-001", "user-002", "another day")
            await export(session, tmp_path, Plan(format="parquet", partition="none"))
        assert len(data_files(tmp_path)) == 3
        monkeypatch.setattr(folder_module, "MANY_SMALL_FILES", 2)
        await export(session, tmp_path)
        assert len(data_files(tmp_path)) == 1
        result = verify(tmp_path)
        assert (result.ok, result.messages) == (True, 43)
        emulator.store.add_message("user-001", "user-002", "and another")
        report = await export(session, tmp_path)
        assert (report.complete, report.written) == (True, 1)
        assert verify(tmp_path).ok
    assert ids(tmp_path) == list(range(1, 45))


async def test_a_run_with_a_refused_key_leaves_the_sources_of_the_messages_readable(tmp_path: Path) -> None:
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        await export(session, tmp_path, Plan(format="ndjson", partition="month"))
        before = list(read_raw(tmp_path, source="user user-001"))
        emulator.weather.add(Status(401))
        with pytest.raises(AuthenticationError):
            await export(session, tmp_path)
    assert before
    assert list(read_raw(tmp_path, source="user user-001")) == before


async def test_a_journal_that_a_stopped_run_has_changed_is_not_read_for_sources(tmp_path: Path) -> None:
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        await export(session, tmp_path, Plan(format="ndjson", partition="month"))
        emulator.weather.add(Status(401))
        with pytest.raises(AuthenticationError):  # the journal has a generation that the manifest has not
            await export(session, tmp_path)
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as database, database:
        database.execute("DELETE FROM blocks")
    with pytest.raises(ChatRestError, match="says which source wrote"):
        read_raw(tmp_path, source="user user-001")
    assert len(list(read_raw(tmp_path))) == 40
