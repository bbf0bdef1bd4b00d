"""Make a bag of an export: its files as they are now, their hashes, and one root hash of all.

Files that never change are hard links in `BAG/data/`, or copies if the disk has no links. Of the journal, and
of the files of an interrupted run, the bag has what was committed. Files that are no part of the export are
left out. No run can begin meanwhile, and a file whose bytes are not those that were written is refused. The
bag is made as `BAG.sealing`, and gets its name when all of it is on the disk.
"""

import errno
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from ..._cloud.address import is_address
from ..._cloud.transfer import file_sha256
from ..._core.replies.rows import row_of
from ..._core.requests.arguments import check
from ..._storage import InUseError
from ..._threads import wait_for
from ...errors import ChatRestError, RequestInvalidError
from ...times import MILLISECONDS_FROM
from ..folder.folder_access import check_is_whole, run_under_way
from ..folder.folder_state import FolderState, read_folder
from ..folder.journal import NAME as JOURNAL, Journal
from ..folder.manifest import NAME as MANIFEST, put
from ..folder.part_files import find_parts, stamps_for
from ..folder.run_log import NAME as RUNS
from ..folder.tables import ATTACHMENTS
from ..plan.file_names import STEM, local_path, path_inside, seconds
from ..plan.parts import FOREIGN, NAME as PARTS, STATE
from ..read.exports import BAG, DATA, ExportAddress, addresses_of, bag_of, part_files, part_roots
from ..read.facts import ExportFacts, facts_of
from ..read.folder_view import FolderView, attachments_in, noted_files
from ..read.reading import read_raw
from ..store.disk import Disk, sync_folder
from ..store.stored_files import path_of
from .bag import write_tags

_UNFINISHED: Final = ".sealing"
"""The end of the name of a bag while it is made."""


class SealResult(Struct, frozen=True, kw_only=True):
    """A bag that was made."""

    bag: str
    root: str
    """The root hash: the SHA-256 of its `tagmanifest-sha256.txt`."""
    files: int
    """The number of files in `data/`."""
    bytes: int
    """The size of these files."""
    linked: int
    """The number of these files that are hard links, which take no room."""
    messages: int
    complete: bool
    """True if the export is complete; a bag of one that is not says so in its `bag-info.txt`."""


def seal(
    out: str | PathLike[str],
    bag: str | PathLike[str],
    *,
    progress: Callable[[int, int], object] = lambda *_: None,
) -> SealResult:
    """Make the BagIt bag (RFC 8493) `bag` of the export in `out`, a folder or the address of an object store.

    All functions that read an export read a bag, and `verify(bag, root=result.root)` finds each changed byte.
    `progress` is called with the number of bytes that were hashed, and of all bytes. It reads each file once,
    and needs room for the files that cannot be linked. If it fails or is cancelled nothing is left; one that
    was killed leaves `BAG.sealing`, which the next call removes.

    Raises `RequestInvalidError` if `bag` exists or is inside `out`, if `out` is not an export, and while a
    run writes there; `ChatRestError` for a file that is not there, or whose bytes are not those that were
    written; `OSError`, which on a full disk names the file of the bag.
    """
    target = local_path(bag, "bag")
    _check_target(out, target)
    with ExitStack() as stack:
        addresses = addresses_of(out)
        views = [stack.enter_context(each.open()) for each in addresses]
        local = [view.folder for view in views if not view.is_remote]
        local += [root.out for root in part_roots(addresses) if isinstance(root.out, Path)]
        for folder in filter(Path.is_dir, local):
            check_is_whole(folder)
            if stack.enter_context(run_under_way(folder)):
                raise InUseError(f"{folder}: an export is running here; seal it after its end")
        views = [view for view in views if view.is_begun or not view.export]
        if not views:
            raise RequestInvalidError(f"{out}: no run has begun any of its parts: there is nothing to seal")
        facts = facts_of(os.fspath(out))
        work = _new_folder(target)
        try:
            unfinished = _UnfinishedBag(work)
            for view in views:
                unfinished.add_export(view)
            for root in part_roots(addresses):
                unfinished.add_shared_files(root)
            return unfinished.finish(target, progress, facts)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise


def _check_target(out: str | PathLike[str], target: Path) -> None:
    is_new = not (target.exists() or target.is_symlink())
    check(is_new, "bag", str(target), "the path of a new folder; it exists")
    if not (isinstance(out, str) and is_address(out)):
        is_outside = not target.resolve().is_relative_to(local_path(out).resolve())
        check(is_outside, "bag", str(target), f"a folder outside of the export {out}")
    if (sealed := bag_of(out)) is not None:
        raise RequestInvalidError(f"{sealed} is a bag already: copy it, and verify it with its root hash")


def _new_folder(target: Path) -> Path:
    work = target.with_name(target.name + _UNFINISHED)
    if work.exists():
        if not (work / BAG).is_file():
            raise RequestInvalidError(f"'{work}' is in the way: it is not an unfinished bag")
        shutil.rmtree(work)
    work.mkdir(parents=True)
    (work / BAG).touch()  # by which the next call knows it
    return work


class _NotedFile(NamedTuple):
    view: FolderView
    name: str
    size: int
    """Bytes; of a file that a run has begun, those that were committed."""
    sha256: str
    """Empty for a file that an interrupted run has left."""
    is_begun: bool = False

    def error(self, size: int) -> ChatRestError:
        """Return the error for a file with other bytes; `size` is its actual size, -1 if it is not there."""
        text = f"it has {size:,} bytes, and {self.size:,} were written"
        if size in (-1, self.size):
            text = "it is not there" if size < 0 else "its bytes are not those that were written"
        name = self.view.name
        return ChatRestError(
            f"{name}/{self.name}: {text}; nothing was sealed: run `chatrest verify {name}`, which says "
            "what can safely be done"
        )


class _UnfinishedBag:
    def __init__(self, work: Path) -> None:
        self._work, self._data = work, work / DATA
        self._noted = dict[Path, _NotedFile]()
        self._linked = 0
        self._period = list[int]()

    def add_export(self, view: FolderView) -> None:
        folder = self._data / PurePosixPath(view.export)
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            state = read_folder(view.folder, stack)
            journal = state.journal
            for each in _files(view, state):
                with view.file(each.name):
                    self._linked += _put(each, folder)
                self._noted[folder / each.name] = each
            if journal is not None:
                journal.write_snapshot(folder / JOURNAL)
                with closing(sqlite3.connect(folder / JOURNAL)) as db:  # its readers make no files beside it
                    db.execute("PRAGMA journal_mode=DELETE")
            for name in (MANIFEST, RUNS, *([JOURNAL] if journal is None else [])):
                if (view.folder / name).is_file():
                    _copy(view.folder / name, folder / name)
            for time in () if journal is None else _times(journal, folder):
                self._period = [min([time, *self._period]), max([time, *self._period])]

    def add_shared_files(self, root: ExportAddress) -> None:
        """Copy the files that the parts of an export share, and those that they have left for one another."""
        files = part_files(root.out)

        async def contents() -> dict[str, bytes]:
            stored = await find_parts(files)
            names = [PARTS]
            if stored is not None:
                parts, _ = stored
                for night in parts.nights:
                    names += filter(None, (night.users, night.news))
                for number, part in enumerate(parts.names):
                    foreign_names = await stamps_for(files, parts, number)
                    names += [f"{part}/{STATE}", *(f"{part}/{FOREIGN}/{each}" for each in foreign_names)]
            stamped = {name: await files.read(name) for name in names}
            return {name: each.data for name, each in stamped.items() if each is not None}

        for name, content in wait_for(contents()).items():
            path = path_inside(self._data / PurePosixPath(root.name), name)
            path.parent.mkdir(parents=True, exist_ok=True)
            put(Disk(), path, content)

    def finish(self, target: Path, progress: Callable[[int, int], object], facts: ExportFacts) -> SealResult:
        work, disk, done = self._work, Disk(), 0
        files = sorted(path for path in self._data.rglob("*") if path.is_file())
        total = sum(path.stat().st_size for path in files)

        def step(count: int) -> None:
            nonlocal done
            done += count
            progress(done, total)

        hashes = dict[str, str]()
        for path in files:
            hashes[path.relative_to(work).as_posix()] = digest = file_sha256(path, step)
            noted = self._noted.get(path)
            if noted is not None and noted.sha256 not in ("", digest):
                raise noted.error(path.stat().st_size)
        oxum = ("Payload-Oxum", f"{total}.{len(files)}")
        info = [field for field in (*_info(facts, self._period), oxum) if field[1]]
        root_hash = write_tags(work, hashes, info)
        for folder in [work, *(path for path in work.rglob("*") if path.is_dir())]:
            sync_folder(disk, folder)
        work.rename(target)
        sync_folder(disk, target.parent)
        return SealResult(
            bag=str(target), root=root_hash, files=len(files), bytes=total, linked=self._linked,
            messages=facts.messages, complete=facts.state == "complete",
        )  # fmt: skip


def _times(journal: Journal, folder: Path) -> Iterator[int]:
    """Yield times in seconds between which all dated messages of an export are.

    The bounds of a block are not enough if it has messages without a time, or times of two units: then all
    messages in `folder` are read.
    """
    for file in journal.files("open", "sealing", "sealed"):
        is_of_messages = file.stem.partition("/")[0] == STEM
        for block in journal.iter_blocks(file.number) if is_of_messages else ():
            if block.since <= 0 or (block.since < MILLISECONDS_FROM <= block.until):
                times = (row_of(raw).sent_at for raw in read_raw(folder))
                yield from (seconds(sent) for sent in times if sent > 0)
                return
            yield from (seconds(block.since), seconds(block.until))


def _files(view: FolderView, state: FolderState) -> Iterator[_NotedFile]:
    for file in noted_files(view.folder, state):
        path = path_of(view.folder, file)
        is_begun = file.state != "sealed" and path.exists()
        name = path.relative_to(view.folder).as_posix() if is_begun else file.name
        yield _NotedFile(view, name, file.size, (file.sha256 or b"").hex(), is_begun)
        for row in attachments_in(view, file):
            yield _NotedFile(view, f"{ATTACHMENTS}/{row.file}", row.bytes, row.sha256)


def _put(noted: _NotedFile, folder: Path) -> bool:
    """Link or copy a file into the bag; return True for a link that takes no room."""
    view, name = noted.view, noted.name
    source, target = view.folder / name, folder / name
    if not noted.is_begun:  # the name of a segment is made of the name of its file
        path_inside(view.folder, name)
    size = source.stat().st_size if source.is_file() else -1
    if size < (noted.size if noted.is_begun else 0):
        raise noted.error(size)
    target.parent.mkdir(parents=True, exist_ok=True)
    if not noted.is_begun:
        with suppress(OSError):  # another disk, or one without links
            os.link(source, target)
            return not view.is_remote  # a download is removed after it: its room is that of the bag
    _copy(source, target, noted.size if noted.is_begun else None)
    return False


def _copy(source: Path, target: Path, size: int | None = None) -> None:
    try:
        shutil.copyfile(source, target)
        with target.open("r+b") as file:
            if size is not None:
                file.truncate(size)
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):  # Python names the source, whose disk may have room
            raise OSError(error.errno, error.strerror, str(target)) from None
        raise


def _info(facts: ExportFacts, period: list[int]) -> Iterator[tuple[str, str]]:
    plan = facts.plan_value
    yield "Bag-Software-Agent", f"chatrest {version()}"
    yield "Bagging-Date", datetime.now(UTC).date().isoformat()
    yield "Chat-App", facts.app
    if plan is not None:
        yield "Chat-Plan", plan.words
        yield "Chat-Plan-JSON", msgspec.json.encode(facts.plan).decode()
    yield "Chat-State", facts.state
    yield from (("Chat-Reason", each) for each in facts.reasons[:100])
    yield from (("Chat-Part", each.export) for each in facts.parts[:100])
    yield "Chat-Messages", str(facts.messages)
    yield "Chat-First-Id", facts.first_id or ""
    yield "Chat-Last-Id", facts.last_id or ""
    if period:
        yield "Chat-Period", " to ".join(time_text(each) for each in period)
    yield "Chat-Sources", str(facts.sources.total)
    yield "Chat-Exported", "" if facts.finished is None else time_text(facts.finished)
    yield "Chat-Sealed", datetime.now(UTC).isoformat(timespec="seconds")


def version() -> str:
    """Return the version of the library; its root is above this floor, and loaded."""
    return str(vars(sys.modules[__name__.partition(".")[0]])["__version__"])


def time_text(timestamp: int) -> str:
    """Return a time in epoch seconds with its zone, such as `2026-11-23T10:00:00+00:00`."""
    return datetime.fromtimestamp(timestamp, UTC).isoformat()
