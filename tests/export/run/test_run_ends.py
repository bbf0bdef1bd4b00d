"""Runs that end before their end: fetched messages are kept, and the next run continues."""

import asyncio
import errno
import json
import os
import sqlite3
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from chatrest import _storage as storage
from chatrest._core.replies.rows import row_of
from chatrest._threads import in_thread
from chatrest.emulator import First, Status
from chatrest.errors import AuthenticationError
from chatrest.export import Plan, changes, export, read_raw, runs, verify
from chatrest.export.fetch import page_queue
from chatrest.export.fetch.jobs import Ending, ListJob, ListPiece, PieceResult
from chatrest.export.fetch.page_check import PageCheck, Window
from chatrest.export.fetch.worker_pool import WorkerPool
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.folder.fetched_page import Coverage
from chatrest.export.folder.journal import SourceState
from chatrest.export.folder.manifest import NAME as MANIFEST
from chatrest.export.plan.message_ids import Gap
from chatrest.export.plan.ownership import OwnershipRules, Source
from chatrest.export.run.folder_run import export_folder
from chatrest.export.store import NewRows
from chatrest.export.store.disk import Disk
from tests.support.cases import loop_over
from tests.support.export_runs import MIXED, Meanwhile, manifest_of, raws_of, served
from tests.support.scripted_session import turns
from tests.support.simulated_crashes import wrap_connections
from tests.support.small_service import SmallService, talk

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


async def test_a_key_that_is_revoked_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(150) as service:
        weather = Status(401, route="messages.list_user", when=First(1000, after=6))
        service.emulator.weather.add(weather)
        with pytest.raises(AuthenticationError):
            await export(service.session, tmp_path / "out", Plan(**MIXED), workers=2)
        manifest = manifest_of(tmp_path / "out")
        assert not manifest.complete
        assert manifest.reasons
        raws = raws_of(tmp_path / "out")
        assert raws
        assert set(raws) <= set(service.expected())
        assert len(raws) == len(set(raws))
        service.emulator.weather.clear()
        report = await service.export_complete(tmp_path / "out")
        assert report.written == 150 - len(raws)


@pytest.mark.parametrize("after", [1, 8])
async def test_a_cancel_keeps_the_fetched_pages(after: int, tmp_path: Path) -> None:
    async with served(150) as service:
        task = asyncio.current_task()
        assert task is not None
        work = asyncio.ensure_future(export(service.session, tmp_path / "out", Plan(**MIXED), workers=3))
        cancel = Meanwhile(work.cancel, route="messages.list_user", when=First(1, after=after))
        service.emulator.weather.add(cancel)
        with pytest.raises(asyncio.CancelledError):
            await work
        raws = raws_of(tmp_path / "out")
        assert len(raws) == len(set(raws))
        assert not manifest_of(tmp_path / "out").complete
        service.emulator.weather.clear()
        report = await service.export_complete(tmp_path / "out")
        assert report.written == 150 - len(raws)


async def test_the_pages_that_wait_when_a_run_is_cancelled_are_written(tmp_path: Path) -> None:
    ann, service = Source("user", ("ann",)), SmallService(talk(5))
    rows = [row_of(json.dumps(each).encode()) for each in service.records]
    with ExportFolder(tmp_path / "out", Plan(users=["ann"]), app_id="app-1") as folder:
        with folder.journal.transaction():
            folder.journal.add_sources([ann])
        async with service.session() as session:
            pool = WorkerPool(session, folder, PageCheck(Window(), OwnershipRules([ann])))
            writer = asyncio.create_task(pool._write())
            await turns()
            await pool._pages.add(pool.check.page(ListJob(SourceState(1, ann)), rows))
            writer.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writer
        assert (pool.written, len(folder.store.written)) == (5, 5)


@pytest.mark.parametrize("turns", [0, 7, 30])
async def test_a_cancel_at_any_turn_of_the_loop_releases_the_folder(turns: int, tmp_path: Path) -> None:
    async with served(60) as service:
        work = asyncio.ensure_future(export(service.session, tmp_path / "out", Plan(**MIXED)))
        for _ in range(turns):
            await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await service.export_complete(tmp_path / "out", Plan(**MIXED))


class FullDisk(Disk):
    """Full after so many writes; what still fits of the one that fails is written."""

    def __init__(self, writes: int) -> None:
        self.writes = writes

    def write(self, file: int, at: int, data: bytes) -> int:
        self.writes -= 1
        if self.writes == -1:
            return super().write(file, at, data[: len(data) // 2])
        if self.writes < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(file, at, data)


class BriefFailure(Disk):
    """Full for one write, and then not any more."""

    is_full = True

    def write(self, file: int, position: int, data: bytes) -> int:
        if self.is_full:
            self.is_full = False
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(file, position, data)


class NoManifest(Disk):
    """Full when a manifest takes the place of another one, once."""

    is_full = True

    def replace(self, old: Path, new: Path) -> None:
        if self.is_full and new.name == MANIFEST:
            self.is_full = False
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().replace(old, new)


async def test_an_export_stays_complete_if_the_disk_was_full_before_anything_changed(tmp_path: Path) -> None:
    out, plan = tmp_path / "out", Plan(users=["ann"])
    async with served(20) as service:
        await export(service.session, out, plan)
        service.store.add_message("ann", "bob", "new")
        with pytest.raises(OSError, match="No space left"):
            await export_folder(service.session, out, plan, disk=NoManifest())
    assert (manifest_of(out).complete, verify(out).ok) == (True, True)


async def test_the_log_of_runs_names_a_full_disk(tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with served(20) as service:
        with pytest.raises(OSError, match="No space left") as caught:
            await export_folder(service.session, out, Plan(**MIXED), disk=BriefFailure())
    [entry] = runs(out)
    assert entry.reasons == [f"{caught.value.filename}: No space left on device"]


@pytest.mark.parametrize(("writes", "compress"), [(0, "none"), (4, "gzip")])
async def test_a_full_disk(
    writes: int, compress: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_queue, "MAX_PAGES", 2)
    async with served(150) as service:
        plan = Plan(**MIXED, compress=compress)
        with pytest.raises(OSError, match="No space left") as caught:
            await export_folder(service.session, tmp_path / "out", plan, disk=FullDisk(writes))
        assert Path(caught.value.filename).is_relative_to(tmp_path / "out")
        assert not manifest_of(tmp_path / "out").complete
        raws = list(read_raw(tmp_path / "out"))  # what is torn was never committed
        assert len(raws) == len(set(raws))
        assert set(raws) <= set(service.expected())
        report = await service.export_complete(tmp_path / "out")
        news = Counter(each.run for each in changes(tmp_path / "out"))
        assert news == +Counter({1: len(raws), 2: report.written})


class FullJournal:
    """A connection whose every statement of one kind finds no room."""

    def __init__(self, db: sqlite3.Connection, statement: str) -> None:
        self._db, self._statement = db, statement

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, sql: str, *values: Any) -> Any:
        self._check(sql)
        return self._db.execute(sql, *values)

    def executemany(self, sql: str, *values: Any) -> Any:
        self._check(sql)
        return self._db.executemany(sql, *values)

    def _check(self, sql: str) -> None:
        if sql.startswith(self._statement):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error


@pytest.mark.parametrize(
    "statement", ["INSERT INTO blocks", "COMMIT", "INSERT INTO sources", "UPDATE sources"]
)
async def test_no_room_for_the_journal_is_an_oserror_too(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(20) as service:
        with monkeypatch.context() as patched:
            wrap_connections(patched, storage, lambda db: FullJournal(db, statement))
            with pytest.raises(OSError, match="No space left"):
                await export(service.session, tmp_path / "out", Plan(**MIXED))
        await service.export_complete(tmp_path / "out", Plan(**MIXED))


async def test_the_end_of_a_run_settles_a_seal_that_a_publication_could_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk fails, and so does the note that the seal is forgotten; the run itself continues."""

    def fail(*_: object) -> None:
        raise OSError("failed")

    service = SmallService(talk(40))
    rows = [row_of(json.dumps(record).encode()) for record in service.records]
    with ExportFolder(tmp_path, Plan(users=["ann"]), app_id="app-1") as folder:
        folder.store.commit([NewRows("messages/source=user-ann/messages", 1, rows)])
        with monkeypatch.context() as patched:
            patched.setattr(folder.disk, "replace", fail)
            patched.setattr(folder.store.sealer, "end_seals", fail)
            with pytest.raises(OSError, match="failed"):
                folder.at_rest(folder.store.seal_all)
        assert [file.state for file in folder.journal.files()] == ["sealing"]
        folder.finish()
        assert [file.state for file in folder.journal.files()] == ["sealed"]
        assert len(list(folder.scan())) == 40


async def test_an_end_that_was_read_and_not_noted_is_proven_by_the_next_run(tmp_path: Path) -> None:
    """A kill between the last page, which reaches the frozen end, and the note that the end is proven."""
    service, plan, ann = SmallService(talk(40)), Plan(users=["ann"]), Source("user", ("ann",))
    rows = [row_of(json.dumps(record).encode()) for record in service.records]
    with ExportFolder(tmp_path / "out", plan, app_id="app-1") as folder:
        with folder.journal.transaction():
            folder.journal.add_sources([ann])
        page = PageCheck(Window(), OwnershipRules([ann])).page(ListJob(SourceState(1, ann)), rows)
        folder.commit([structs.replace(page, covered=Coverage(0, 40))])
    async with service.session() as session:
        report = await export(session, tmp_path / "out", plan)
    assert (report.complete, report.written) == (True, 0)
    assert verify(tmp_path / "out").ok


async def test_a_list_that_refuses_a_position_is_read_again_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the run has found before that it refuses positions that are made up."""
    ann, service, read = Source("user", ("ann",)), SmallService(talk(40)), list[ListPiece]()

    async def refuse_first(piece: ListPiece, _: object) -> PieceResult:
        read.append(piece)
        return PieceResult(1, Ending.POSITION_REFUSED if len(read) == 1 else Ending.PIECE_END)

    with ExportFolder(tmp_path / "out", Plan(users=["ann"]), app_id="app-1") as folder:
        async with service.session() as session:
            pool = WorkerPool(session, folder, PageCheck(Window(), OwnershipRules([ann])))
            pool.findings.id_refused.add(1)
            monkeypatch.setattr(pool, "_read", refuse_first)
            await pool.read_again([ListJob(SourceState(1, ann), [Gap(5, 40, (("id", "5"),))], "recheck")])
    assert [piece.is_from_start for piece in read] == [False, True]


class Gate:
    """A door where a thread waits until it is let through."""

    def __init__(self) -> None:
        self._reached, self._open = threading.Event(), threading.Event()

    def wait(self) -> None:
        self._reached.set()
        assert self._open.wait(120)

    async def reached(self) -> None:
        assert await asyncio.to_thread(self._reached.wait, 120)

    def open(self) -> None:
        self._open.set()


@loop_over("cancels", [1, 2, 5])
async def test_a_cancel_waits_for_the_thread_and_so_does_another(cancels: int) -> None:
    gate, undone = Gate(), list[str]()

    def work() -> str:
        gate.wait()
        return "made"

    task = asyncio.ensure_future(in_thread(work, undone.append))
    await gate.reached()
    for _ in range(cancels):
        task.cancel()
        await turns()
        assert not task.done()
    assert undone == []
    gate.open()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert undone == ["made"]


class SlowDisk(Disk):
    """Its `at`th sync waits at the gate."""

    def __init__(self, gate: Gate, at: int) -> None:
        self._gate, self._left = gate, at

    def sync(self, file: int) -> None:
        self._left -= 1
        if self._left == 0:
            self._gate.wait()


@pytest.mark.parametrize("sync", [1, 2, 3])
@pytest.mark.usefixtures("small_pages")
async def test_an_export_that_is_cancelled_twice_releases_its_folder(sync: int, tmp_path: Path) -> None:
    async with served(100) as service:
        gate = Gate()
        work = asyncio.ensure_future(
            export_folder(service.session, tmp_path / "out", Plan(all_users=True), disk=SlowDisk(gate, sync))
        )
        await gate.reached()
        for _ in range(3):
            work.cancel()
            await turns()
        assert not work.done()
        gate.open()
        with pytest.raises(asyncio.CancelledError):
            await work
        await service.export_complete(tmp_path / "out", Plan(all_users=True))
