"""Folders, plans and arguments that an export refuses, and what it leaves there: nothing."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest.emulator import Status
from chatrest.errors import ChatRestError, RequestInvalidError
from chatrest.export import Plan, export
from chatrest.export.fetch import page_queue
from chatrest.export.folder import journal
from chatrest.export.folder.manifest import NAME as MANIFEST
from chatrest.export.run.folder_run import export_folder
from chatrest.export.store.disk import Disk
from tests.support.cases import loop_over
from tests.support.export_runs import MIXED, assert_complete, manifest_of, records, served

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


async def test_one_of_several_exports_that_begin_at_the_same_time_runs(tmp_path: Path) -> None:
    async with served(60) as service:
        for count in (2, 3, 4):
            out = tmp_path / str(count)
            outcomes = await asyncio.gather(
                *(export(service.session, out, Plan(**MIXED)) for _ in range(count)), return_exceptions=True
            )
            errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
            assert len(errors) == count - 1, outcomes
            for error in errors:
                assert isinstance(error, RequestInvalidError), error
                assert "another export is writing here" in str(error)
            assert_complete(out, service.expected())


def data_files(out: Path) -> list[Path]:
    return [*out.glob("messages/**/*.ndjson"), *out.glob("spool/*")]


def remove_files(out: Path) -> None:
    for path in data_files(out):
        path.unlink()


def replace_files(out: Path) -> None:
    for path in data_files(out):
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)


def remove_journal(out: Path) -> None:
    for path in out.glob(f"{journal.NAME}*"):
        path.unlink()


def replace_journal(out: Path) -> None:
    data = (out / journal.NAME).read_bytes()
    remove_journal(out)
    (out / journal.NAME).write_bytes(data)


def remove_all(out: Path) -> None:
    shutil.rmtree(out)


class HarmingDisk(Disk):
    """A disk on which somebody harms the export when a file of rows is synced for the second time."""

    def __init__(self, harm: Callable[[], None], out: Path) -> None:
        self.harm, self.out, self.count = harm, out, 0

    def sync(self, file: int) -> None:
        super().sync(file)
        inode = os.fstat(file).st_ino
        self.count += any(path.stat().st_ino == inode for path in data_files(self.out))
        if self.count == 2:
            self.harm()
            self.count += 1


@pytest.mark.parametrize(
    ("harm", "later"),
    [
        (remove_files, False),
        (replace_files, True),
        (remove_journal, True),
        (replace_journal, False),
        (remove_all, False),
        (remove_all, True),
    ],
)
async def test_files_that_are_removed_under_a_running_export_are_an_error(
    harm: Callable[[Path], None], later: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_queue, "MAX_PAGES", 1)
    out = tmp_path / "out"
    async with served(150, loose=False) as service:
        if later:
            await export(service.session, out, Plan(everything=True))
            service.store.add_records(records(150, first=1000))
        disk = HarmingDisk(lambda: harm(out), out)
        with pytest.raises(OSError, match="removed"):
            await export_folder(service.session, out, Plan(everything=True), disk=disk)


async def test_a_folder_that_holds_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    async with served(10) as service:
        with pytest.raises(RequestInvalidError, match="something else than an export"):
            await export(service.session, tmp_path / "out")
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]
        with pytest.raises(RequestInvalidError, match="is not a folder"):
            await export(service.session, tmp_path / "out" / "thesis.txt")
        (tmp_path / "db").mkdir()
        with sqlite3.connect(tmp_path / "db" / journal.NAME) as db:
            db.execute("CREATE TABLE mine(a)")
        db.close()
        with pytest.raises(RequestInvalidError, match="no export's journal"):
            await export(service.session, tmp_path / "db")
        (tmp_path / "garbage").mkdir()
        (tmp_path / "garbage" / journal.NAME).write_bytes(b"no database" * 500)
        with pytest.raises(ChatRestError, match="no export's journal"):
            await export(service.session, tmp_path / "garbage")
        assert service.emulator.requests == type(service.emulator.requests)(maxlen=0)


async def test_the_export_of_another_app_is_refused_with_both_names(tmp_path: Path) -> None:
    async with served(30) as service, served(30, app_id="other-app") as other:
        await export(service.session, tmp_path / "out", Plan(users=("ann", "bob")))
        with pytest.raises(RequestInvalidError, match=r"'emulated'.*'other-app'"):
            await export(other.session, tmp_path / "out")
        assert (await export(service.session, tmp_path / "out")).complete


@loop_over(
    ("name", "value"),
    [("workers", 0), ("workers", 1.5), ("recheck", 0), ("recheck", True), ("plan", {"users": ["ann"]})],
)
async def test_wrong_arguments(name: str, value: Any, tmp_path: Path) -> None:
    async with served(0) as service:
        with pytest.raises(RequestInvalidError, match=name):
            await export(service.session, tmp_path / "out", **{name: value})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "weather", [Status(401), Status(403, route="users.list"), Status(500)], ids=["key", "users", "down"]
)
async def test_a_finished_export_stays_complete_if_a_later_run_gets_no_page(
    weather: Status, tmp_path: Path
) -> None:
    async with served(50) as service:
        await export(service.session, tmp_path / "out")
        before = (tmp_path / "out" / MANIFEST).read_bytes()
        assert manifest_of(tmp_path / "out").complete
        service.store.add_message("ann", "bob", "new")
        service.emulator.weather.add(weather)
        with pytest.raises(ChatRestError):
            await export(service.session, tmp_path / "out")
        assert (tmp_path / "out" / MANIFEST).read_bytes() == before
        service.emulator.weather.clear()
        assert (await service.export_complete(tmp_path / "out")).written == 1


async def test_a_folder_that_cannot_be_written_to_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir(mode=0o555)
    if os.access(out, os.W_OK):  # root may write everywhere: play somebody else
        own = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != out and own(path, mode))
    async with served(10) as service:
        with pytest.raises(PermissionError) as caught:
            await export(service.session, out)
        assert caught.value.filename == str(out)
        assert list(out.iterdir()) == []
        assert not service.emulator.requests


async def test_without_the_extra_for_parquet_no_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(10) as service:
        with monkeypatch.context() as patched:
            patched.setattr("chatrest.export.folder.folder_plan.find_spec", lambda name: None)
            with pytest.raises(RequestInvalidError, match=r"the extra 'parquet'"):
                await export(service.session, tmp_path / "out", Plan(format="parquet"))
        assert not (tmp_path / "out").exists()
        assert (await export(service.session, tmp_path / "out", Plan(format="parquet"))).complete
