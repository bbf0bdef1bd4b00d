"""`compact`: small files of daily runs become large ones, and the export stays whole at every step."""

import shutil
import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chatrest import AsyncSession, AuthenticationError, ChatRestError, RequestInvalidError
from chatrest.cli.root import root
from chatrest.emulator import Emulator
from chatrest.emulator.weather import Status
from chatrest.export import Plan, compact, export, read_raw, verify
from tests.dying import ProcessDeath
from tests.sinks import Failing, files, full, ids

pytestmark = pytest.mark.usefixtures("fast_ramp")


def data_files(folder: Path) -> list[str]:
    return [name for name in files(folder) if name.startswith("messages/")]


async def daily_runs(folder: Path, days: int, **plan: Any) -> int:
    """Export each day what has come since; return the number of messages."""
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        for day in range(days):
            for number in range(3):
                emulator.store.add_message("user-01", "user-02", f"day {day}, {number}")
            report = await export(session, folder, Plan(**plan))
            assert report.complete
    return 40 + 3 * days


async def test_a_run_merges_many_small_files_by_itself(tmp_path: Path) -> None:
    messages = await daily_runs(tmp_path, 9, format="parquet", partition="none")
    assert 1 <= len(data_files(tmp_path)) < 8
    assert ids(tmp_path) == list(range(1, messages + 1))
    assert verify(tmp_path).ok


async def test_small_files_are_merged_and_the_export_goes_on(tmp_path: Path) -> None:
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        plan = Plan(format="parquet", partition="none")
        for _ in range(3):
            emulator.store.add_message("user-01", "user-02", "another day")
            await export(session, tmp_path, plan)
        assert len(data_files(tmp_path)) == 3
        assert compact(tmp_path) == 2
        assert len(data_files(tmp_path)) == 1
        result = verify(tmp_path)
        assert (result.ok, result.messages) == (True, 43)
        before = (tmp_path / "manifest.json").read_bytes()
        assert compact(tmp_path) == 0
        assert (tmp_path / "manifest.json").read_bytes() == before
        emulator.store.add_message("user-01", "user-02", "and another")
        report = await export(session, tmp_path)
        assert (report.complete, report.written) == (True, 1)
        assert verify(tmp_path).ok
    assert ids(tmp_path) == list(range(1, 45))


async def test_a_crash_at_any_step_loses_nothing(tmp_path: Path) -> None:
    begin = tmp_path / "begin"
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        for _ in range(3):
            emulator.store.add_message("user-01", "user-02", "another day")
            await export(session, begin, Plan(format="parquet", partition="none"))
        for calls in count(0, 7):
            folder = shutil.copytree(begin, tmp_path / str(calls))
            disk = Failing(calls, full if calls % 3 == 2 else ProcessDeath)
            try:
                compact(folder, disk=disk)
            except (ProcessDeath, OSError):
                assert disk.failed
            if calls % 2 and disk.failed:
                compact(folder)
                assert len(data_files(folder)) == 1
            report = await export(session, folder)
            assert report.complete, calls
            assert report.written == 0, calls
            assert ids(folder) == list(range(1, 44)), calls
            assert verify(folder).ok, calls
            shutil.rmtree(folder)
            if not disk.failed:
                break
    assert calls > 8


async def test_what_cannot_be_merged_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RequestInvalidError, match="is not an export"):
        compact(tmp_path)
    with pytest.raises(RequestInvalidError, match="is not an export"):
        compact(tmp_path / "none")
    await daily_runs(tmp_path, 1, format="ndjson")
    shutil.rmtree(tmp_path / "messages")
    with pytest.raises(RequestInvalidError, match=r"lacks 43 messages .* export into it again first"):
        compact(tmp_path)


async def test_the_command(tmp_path: Path) -> None:
    await daily_runs(tmp_path, 2, format="parquet", partition="none")
    for output in ("1 file merged into others\n", "no small files to merge\n"):
        result = CliRunner().invoke(root, ["compact", str(tmp_path)])
        assert (result.exit_code, result.output) == (0, output)
    result = CliRunner().invoke(root, ["compact", str(tmp_path / "none")])
    assert result.exit_code != 0


async def test_a_database_is_one_file_already(tmp_path: Path) -> None:
    await daily_runs(tmp_path, 1, format="sqlite")
    assert compact(tmp_path) == 0
    assert verify(tmp_path).ok


async def test_a_merge_with_nothing_to_do_leaves_the_sources_of_the_messages_readable(tmp_path: Path) -> None:
    await daily_runs(tmp_path, 1, format="ndjson", partition="month")
    before = list(read_raw(tmp_path, source="user user-01"))
    assert before
    assert compact(tmp_path) == 0
    assert list(read_raw(tmp_path, source="user user-01")) == before


async def test_a_run_with_a_refused_key_leaves_the_sources_of_the_messages_readable(tmp_path: Path) -> None:
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        await export(session, tmp_path, Plan(format="ndjson", partition="month"))
        before = list(read_raw(tmp_path, source="user user-01"))
        emulator.weather.add(Status(401))
        with pytest.raises(AuthenticationError):
            await export(session, tmp_path)
    assert before
    assert list(read_raw(tmp_path, source="user user-01")) == before


async def test_a_journal_that_a_stopped_run_has_changed_is_not_read_for_sources(tmp_path: Path) -> None:
    await daily_runs(tmp_path, 1, format="ndjson", partition="month")
    assert compact(tmp_path) == 0  # it gives the journal a generation that the manifest does not have
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as database, database:
        database.execute("DELETE FROM blocks")
    with pytest.raises(ChatRestError, match="tells which source wrote"):
        read_raw(tmp_path, source="user user-01")
    assert len(list(read_raw(tmp_path))) == 43
