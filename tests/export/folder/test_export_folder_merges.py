"""Merging: small files of daily runs become large ones, and the export stays complete at every step."""

import errno
import os
from pathlib import Path

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.export import Plan, export, verify
from chatrest.export.folder import export_folder as folder_module
from chatrest.export.folder.fetched_page import FetchedPage
from chatrest.export.plan.id_set import IdSet
from chatrest.export.plan.message_ids import PageIds
from chatrest.export.run.folder_run import export_folder
from chatrest.export.store.disk import Disk
from tests.support.export_runs import manifest_of
from tests.support.exported_files import files, ids
from tests.support.stored_exports import START, StoredExport, record


def data_files(folder: Path) -> list[str]:
    return [name for name in files(folder) if name.startswith("messages/")]


async def test_small_files_are_merged_and_the_export_continues(
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


class NoRename(Disk):
    """No file of messages gets its name."""

    def replace(self, old: Path, new: Path) -> None:
        if new.suffix == ".ndjson":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(new))
        super().replace(old, new)


async def test_a_run_that_fails_during_a_merge_is_not_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        for _ in range(2):
            emulator.store.add_message("user-001", "user-002", "another day")
            await export(session, tmp_path, Plan(partition="none"))
        monkeypatch.setattr(folder_module, "MANY_SMALL_FILES", 2)
        with pytest.raises(OSError, match="Input/output error"):
            await export_folder(session, tmp_path, disk=NoRename())
        assert not manifest_of(tmp_path).complete
        assert (await export(session, tmp_path)).complete
    assert (verify(tmp_path).ok, len(data_files(tmp_path))) == (True, 1)


def test_messages_of_two_sources_that_are_back_are_missing_again(tmp_path: Path) -> None:
    with StoredExport(tmp_path, Plan(users=["ann", "bob"])) as stored:
        for number, source in enumerate(stored.plan.sources, 1):
            ids = PageIds(IdSet([number]), {})
            stored.export.commit([FetchedPage(number=number, source=source, seen=ids)])
            stored.export.note_deleted(number, [number], START, missing=True)
        assert not stored.export.missing()
        stored.export.expect_again([1, 2])
        assert (stored.export.missing(), stored.export.changes.deleted_missing) == (IdSet([1, 2]), IdSet())


def test_a_scan_of_some_ids_has_every_message_with_a_text_id(tmp_path: Path) -> None:
    with StoredExport(tmp_path, Plan(users=["ann", "bob"])) as stored:
        stored.commit({"user ann": [record(5)]})
        stored.export.finish()
        stored.commit({"user bob": [record(6, id="m-1")]})
        stored.export.finish()
        assert [row.id for row in stored.export.scan(100, 200)] == ["m-1"]
