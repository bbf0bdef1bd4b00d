"""Data files that are in the store only: what is downloaded, what is on the local disk, what a kill does."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest import AsyncSession
from chatrest._cloud.transfer import file_sha256
from chatrest.emulator import Emulator
from chatrest.export import Plan, export, read_raw, verify
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.plan.export_plan import Format
from chatrest.export.remote.store_export import store_export
from chatrest.export.run.folder_run import ExportOptions, export_folder
from tests.cloud.store_double import CrashError, StoreDouble
from tests.export.remote.stores import Publications, assert_bucket
from tests.support.export_runs import assert_complete, edit, files_of, hide, manifest_of, served
from tests.support.simulated_crashes import Fate, dies, instants

ADDRESS = "s3://bucket/chat"
ALL = 10**9


def local(root: Path) -> list[Path]:
    return [path for path in (root / "export" / "messages").rglob("*") if path.is_file()]


def downloads(store: StoreDouble) -> int:
    """The number of data files that were downloaded since the last call."""
    number = sum(name.startswith("download messages/") for name in store.names)
    store.names.clear()
    return number


def records() -> list[bytes]:
    """The messages that a reader of the store sees, in a complete export."""
    result = verify(ADDRESS)
    assert result.ok, result.problems
    return sorted(read_raw(ADDRESS))


async def test_files_are_downloaded_where_their_bytes_are_needed(
    tmp_path: Path, at: Callable[[StoreDouble], StoreDouble], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = at(StoreDouble())
    async with served(30) as service:
        plan = Plan(format="parquet", partition="month", all_users=True, groups=("den", "oak"))
        await export(service.session, ADDRESS, plan, journal=tmp_path / "a")
        hidden = service.expected([20])
        hide(service.store, [20])  # no service could replace a copy that is lost
        for machine in ("b", "a"):
            service.store.add_message("ann", "bob", machine)
            report = await export(service.session, ADDRESS, journal=tmp_path / machine)
            assert (report.complete, report.written, local(tmp_path / machine)) == (True, 1, [])
        assert downloads(store) == 0
        edit(service.store, 29, "edited")
        expected = sorted([*service.expected(), *hidden])
        report = await export(service.session, ADDRESS, journal=tmp_path / "b", recheck=ALL)
        assert (report.changed, report.deleted, local(tmp_path / "b")) == (1, 1, [])
        assert downloads(store) > 0
        monkeypatch.setattr("chatrest.export.folder.export_folder.MANY_SMALL_FILES", 2)
        await export(service.session, ADDRESS, journal=tmp_path / "d")
        assert downloads(store) == 3
        assert local(tmp_path / "d") == []
        assert records() == expected


async def test_a_copy_without_a_journal_is_fetched_again(
    tmp_path: Path, at: Callable[[StoreDouble], StoreDouble]
) -> None:
    at(StoreDouble())
    async with served(30) as service:
        await export(service.session, ADDRESS, Plan(all_users=True), journal=tmp_path / "a")
        (tmp_path / "a" / "export" / "journal.sqlite").unlink()
        report = await export(service.session, ADDRESS, journal=tmp_path / "a")
        assert (report.complete, report.written, report.messages) == (True, 0, 30)


async def test_the_local_disk_has_the_unpublished_files(
    tmp_path: Path,
    at: Callable[[StoreDouble], StoreDouble],
    small_pages: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at(StoreDouble())
    sizes, has_read, finish = [0], False, ExportFolder.finish
    publications = Publications(monkeypatch)

    def begin_to_finish(folder: ExportFolder) -> int:
        nonlocal has_read
        has_read = True  # from now on files are merged
        return finish(folder)

    monkeypatch.setattr(ExportFolder, "finish", begin_to_finish)

    async def measure(_: float) -> None:
        size = sum(path.stat().st_size for path in files_of(tmp_path / "export"))
        sizes.append(0 if has_read else size)
        publications.note()
        await asyncio.sleep(0)

    async with (
        Emulator(users=10, messages=150) as emulator,
        AsyncSession(emulator.app) as session,
        store_export(ADDRESS, tmp_path, sleep=measure) as target,
    ):
        plan = Plan(partition="none", all_users=True)
        report = await export_folder(session, target.folder, plan, alongside=target.publishing, remote=target)
        await target.publish()
    assert report.complete
    assert len(records()) == 150
    total = sum(entry.bytes for entry in manifest_of(tmp_path / "export").files)
    assert 0 < max(sizes) < total / 4
    assert local(tmp_path) == []


async def test_a_process_that_ends_at_any_operation_of_the_store_loses_nothing(
    tmp_path: Path, at: Callable[[StoreDouble], StoreDouble]
) -> None:
    store = at(StoreDouble())
    async with served(20, loose=False) as service:
        await export(
            service.session, ADDRESS, Plan(all_users=True, groups=("den", "oak")), journal=tmp_path / "a"
        )
        hidden, ids = service.expected([5]), [str(each) for each in range(1, 21)]
        hide(service.store, [5])
        for number in instants(3, 9):
            before = records()
            edit(service.store, 9, f"edited {number}")
            dying = at(StoreDouble(store, crash_at=number, crash_is_late=number % 2 == 1))
            root = tmp_path / f"{number}"
            try:
                await export(service.session, ADDRESS, journal=root, recheck=ALL)
            except CrashError:
                store.end_lease()
            at(StoreDouble(store))
            is_published = "replace manifest.json" in dying.applied
            assert records() == (sorted([*service.expected(), *hidden]) if is_published else before)
            if len(dying.names) < number:
                break
            root = root if number % 3 else tmp_path / "a"
            report = await export(service.session, ADDRESS, journal=root, recheck=ALL)
            assert (report.complete, report.missing) == (True, 0)
            assert records() == sorted([*service.expected(), *hidden])
            await assert_bucket(store, ids)
    assert number > 25


class RemoteFolder:
    """A folder in the place of a store."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.names = {entry.name: entry.bytes for entry in manifest_of(folder).files}

    def fetch(self, name: str, path: Path, sha256: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self._folder / name, path)
        assert file_sha256(path) == sha256

    def complete(self, out: Path) -> None:
        """Copy the files that an export lacks to its folder."""
        for entry in manifest_of(out).files:
            if not (path := out / entry.name).exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self._folder / entry.name, path)


@pytest.mark.parametrize("format", ["ndjson", "parquet"])
async def test_a_run_that_is_killed_at_any_write_loses_no_remote_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Format
) -> None:
    async with served(30) as service:
        plan = Plan(format=format, partition="month", all_users=True, groups=("den", "oak"))
        await export(service.session, tmp_path / "first", plan)
        remote = RemoteFolder(tmp_path / "first")
        for number in (8, 9, 29):
            edit(service.store, number, "edited")
        expected = service.expected()
        hide(service.store, [20])
        for at in instants(1 if format == "ndjson" else 14, 29):
            out = tmp_path / str(at)
            shutil.copytree(tmp_path / "first", out, ignore=lambda *_: ["messages"])
            fate = Fate(out, at)
            if await dies(service.session, fate, None, monkeypatch, recheck=ALL, remote=remote) is not None:
                break
            report = await export_folder(
                service.session, out, options=ExportOptions(recheck=ALL), remote=remote
            )
            assert (report.complete, report.missing) == (True, 0)
            remote.complete(out)
            assert_complete(out, expected)
            assert manifest_of(out).deleted == ["20"]
    assert at > 20
