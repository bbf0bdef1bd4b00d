"""An export's folder while it is written: the one place where pages become rows of the store.

A page is committed here: its rows are on the disk first, and only then does the journal record it. Each id
is written once.
Methods are synchronous and wait for the disk, so call them in a thread if there is an event loop. One at a
time: a move of the store is several transactions. Others may have transactions of the journal between them,
and inside of these call nothing of an export.
"""

import errno
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol, Self, TypeVar

from ..._core.replies.rows import UNKNOWN, Row, row_of
from ..formats.stored_records import SourceLines
from ..plan.export_plan import Plan
from ..plan.file_names import STEM
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST
from ..plan.report import Report
from ..store import Difference, ExportStore, repair, salvage
from ..store.disk import Disk
from ..store.store_journal import StoreBlock
from ..store.stored_files import LOST, lost_versions
from .changed_messages import ChangedMessages, ReplacedMessages
from .fetched_page import FetchedPage
from .folder_access import FolderLock, check_is_whole, check_part, claim_folder
from .folder_plan import format_of_plan, initial_meta, kinds_of_plan, resolve_plans
from .folder_state import begin_generation, check_journal
from .journal import LOST_VERSIONS, NAME, Journal
from .manifest import write_finished, write_unfinished
from .page_commit import CommitStats, PageCommit
from .run_log import last_run
from .tables import table_stem

T = TypeVar("T")

MANY_SMALL_FILES: Final = 8


class RemoteFiles(Protocol):
    """The sealed files of an export that are in an object store: their names and sizes, always one object."""

    @property
    def names(self) -> Mapping[str, int]:
        """Their sizes in bytes, by name."""

    def fetch(self, name: str, path: Path, sha256: str) -> None:
        """Write a file with this SHA-256 to `path`, complete and durable, or raise `ObjectStoreError`."""


class ExportFolder:
    """The folder of an export, open for writing; used with `with`.

    Without a plan it continues with the folder's own. Raises `RequestInvalidError` for a folder that holds
    something else, an export of another plan or app, or one that another process is writing.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan | None = None,
        *,
        app_id: str,
        change_plan: bool = False,
        disk: Disk | None = None,
        remote: RemoteFiles | None = None,
        part: str = "",
        started: int | None = None,
    ) -> None:
        """Open the folder, or make it.

        - `change_plan`: `plan` may differ from the folder's own, whose place it takes by `commit_plan`.
        - `part`: the part of an export that the folder is, such as `7 of 64`; empty for an export by itself.
        - `started`: when the run began, in epoch seconds. From its first change on the manifest says that it
          is not complete; None for a change that the manifest does not mention.
        """
        self.folder = folder
        self.disk: Disk = disk or Disk()
        self.remote = remote
        self._started, self._has_begun = started, False
        self._lock = threading.Lock()
        format_of_plan(plan or Plan())
        claim_folder(folder, self.disk)
        if remote is None:
            check_is_whole(folder)
        with ExitStack() as stack:
            lock = FolderLock(folder)
            stack.callback(lock.release)
            meta = initial_meta(folder, app_id, plan or Plan()) | {"part": part}
            self.journal: Journal = stack.enter_context(Journal(folder / NAME, meta, is_shared=lock.is_held))
            check_part(folder, self.journal["part"] or "", part)
            manifest = check_journal(folder, self.journal)
            plans = resolve_plans(folder, self.journal, manifest, plan, app_id, may_change=change_plan)
            self.stored_plan, self.plan, self._is_unanswered = plans
            self.store: ExportStore = ExportStore(
                folder, self.journal, kinds_of_plan(self.plan), labels=self._label, disk=self.disk,
                remote_names=() if remote is None else remote.names,
                fetch=None if remote is None else remote.fetch,
            )  # fmt: skip
            stack.callback(self.store.close)
            with self.journal.transaction():
                begin_generation(self.journal, manifest)
                self.journal.news.begin_run(self.store.written, last_run(folder))
                self.journal["plan"] = self.stored_plan.encoded().decode()
            self.findings: list[Difference] = self._repair()
            self.changes: ChangedMessages = ChangedMessages(self.journal, self.store)
            stack.callback(self.changes.close)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the folder; calling it twice is fine."""
        with self._lock:
            self._stack.close()

    # ── writing ──

    def commit(self, pages: Iterable[FetchedPage]) -> CommitStats:
        """Write pages, and only then note what they cover: all of it, or nothing.

        Raises OSError if the disk fails, or a file was removed during the run.
        """
        with self._guarded():
            self._begin_change()
            with self.store.transaction() as add:
                commit = PageCommit(self.journal, self.store, self.changes, self.plan, add)
                for page in pages:
                    commit.add(page)
                commit.note()
            self.store.seal_full()
        return commit.stats

    def commit_plan(self) -> None:
        """Note the plan of this run as the folder's own: a run that fails before this leaves the old one."""
        if self.plan == self.stored_plan:
            return
        with self._guarded(), self.journal.transaction():
            if self._is_unanswered:
                self.journal.forget_sources()  # nothing is kept of what no list has shown
            if self.plan.window != self.stored_plan.window:
                self.journal.forget_coverage()  # the ids on disk stay known when lists are read again
            self.journal["plan"] = self.plan.encoded().decode()
            self.stored_plan = self.plan

    def missing(self) -> IdSet:
        """Return the ids seen but not stored. An empty set proves completeness.

        Ids that no source shows any more are left out.
        """
        with self._lock:
            return self.store.missing() - self.changes.deleted_missing

    def unseen_keys(self, source: int, keys: set[str]) -> set[str]:
        with self._lock:
            shown, named = self.journal.seen(source), self.journal.numbers_of_names(keys)
            return {key for key in keys if named.get(key, 0) not in shown}

    def counts(self) -> dict[int, int]:
        """Return how many messages are on disk, by the number of its source; 0 is for none."""
        return self.journal.row_counts([STEM])

    def scan(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[Row]:
        """Yield rows on disk, each once: at least those from id `first` to `last`, sent at `since` or later.

        Costs the reading of the files that may hold one. A row without a numeric id or a time is always
        included.
        """
        for file in self.journal.files("open", "sealed"):
            has_ids = self.store.files.kind(file.stem).identity == "id"
            blocks = self.journal.blocks(file.number) if has_ids else ()
            if any(_may_hold(block, first, last, since) for block in blocks):
                for piece in self.store.files.records(file):
                    yield from map(row_of, piece.raws)

    def stored(self, keys: Iterable[str]) -> dict[str, Row]:
        """Return the messages of these ids as they will be after pending changes.

        Costs the reading of the files that hold them.
        """
        wanted = set(keys)
        waiting = {row.id: row for row in self.journal.pending_changes.rows() if row.id in wanted}
        return self.store.files.rows_by_id(wanted) | waiting

    def note_edited(self, newer: Iterable[Row], settled_ids: Iterable[str]) -> None:
        """Note newer versions, and forget the records of edits to the settled ids: nothing more is asked."""
        with self._guarded(), self.journal.transaction():
            self.journal.pending_changes.note(newer)
            self.journal.edits.forget(settled_ids)

    def prepare_recheck(self, since: int) -> None:
        """Index the rows on disk that were sent since a time, before these are read again."""
        with self._lock:
            self.changes.prepare(self.scan(since=since))

    def note_deleted(self, source: int, ids: IdSet, now: int, *, missing: bool = False) -> int:
        """Note ids that no source shows any more, and with `missing` that are not on disk either.

        Return how many are news: not those whose record on disk says already that they were deleted.
        """
        if not ids:
            return 0
        with self._guarded(), self.journal.transaction():
            return self.changes.note_deleted(source, ids, now, missing=missing)

    def expect_again(self, sources: Iterable[int]) -> None:
        """Forget that messages are missing which sources have seen: they may show them again."""
        for source in sources:
            with self._guarded(), self.journal.transaction():
                self.changes.undelete(self.changes.deleted_missing & self.journal.seen(source))

    def replace_table(self, table: str, pieces: Iterable[SourceLines], read_at: int) -> None:
        with self._guarded():
            self._begin_change()
            stem = table_stem(table)
            self.store.snapshots.replace(stem, self.store.files.kind(stem).format, pieces, read_at)

    def salvage(self) -> int:
        """Write messages that are still missing from damaged files; return how many.

        Called after all sources were requested again: a damaged file may have wrong bytes in a record.
        """
        with self._guarded():
            return salvage(self.store) if self.store.missing() else 0

    def at_rest(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, during which nothing is written: disk and journal agree."""
        with self._lock:
            return work()

    # ── the end of a run ──

    def finish(self) -> ReplacedMessages:
        """Put everything into its final place; return how many messages replaced an older version.

        Raises OSError if a file cannot be sealed, or was removed during the run.
        """
        with self._guarded():
            if self.journal.files("sealing"):  # of a publication that failed, and could not end it either
                self.store.sealer.end_seals()
            replaced = self.changes.apply()
            self.journal.merge_seen()
            self.store.seal_all()
            self.store.compact(MANY_SMALL_FILES, begin=self._begin_change)
            self._check_sealed()
            self.journal.check_in_place()
            return replaced

    def note_finished(self, report: Report) -> None:
        """Note the end of the run in the manifest; a later change marks it as not complete again."""
        write_finished(self.folder, self.disk, self.journal, self.stored_plan, report)
        self._has_begun = False

    def note_failed(self, reason: str) -> None:
        """Note in the manifest why the run has failed, if it has changed anything."""
        if self._has_begun:
            self._note_unfinished(reason)

    def warnings(self) -> list[str]:
        return [f"{name} {LOST}" for name in lost_versions(self.findings)]

    def _begin_change(self) -> None:
        if not self._has_begun:
            self._note_unfinished()
            self._has_begun = True

    def _note_unfinished(self, *reasons: str) -> None:
        if self._started is not None:
            write_unfinished(self.folder, self.disk, self.journal, self.stored_plan, self._started, *reasons)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Allow one at a time; after a failure, uncommitted changes are undone."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise OSError(f"{self.folder}: {error}") from error

    def _check_sealed(self) -> None:
        """Raise OSError where a file is not sealed or not all on disk: no export is complete then."""
        for file in self.journal.files("open", "sealing", "sealed"):
            path = self.folder / file.name
            if file.state != "sealed":
                raise OSError(errno.EIO, "it could not be sealed: run it again", str(path))
            if self.remote is not None and not path.exists() and file.name in self.remote.names:
                continue
            if not path.exists() or path.stat().st_size < file.size:
                raise FileNotFoundError(errno.ENOENT, "it was removed or cut while the export ran", str(path))

    # ── opening ──

    def _label(self, source: int) -> str | None:
        known = self.journal.sources_of([source]).get(source)
        return None if known is None else str(known)

    def _repair(self) -> list[Difference]:
        """Make the journal agree with the disk: messages that are not on disk are missing."""
        findings = list(repair(self.store, self.journal.pending_changes.ids))
        numbers = self.journal.ids_by_key(waiting := self.journal.pending_changes.ids())
        # changes of messages that are not on the disk any more
        stale = [each for each in waiting if numbers.get(each, 0) not in self.store.written]
        if findings or stale:
            with self.journal.transaction():
                if lost := lost_versions(findings):  # `verify` reports them from now on
                    self.journal[LOST_VERSIONS] = "\n".join([*self.journal.lost_versions(), *lost])
                self.journal.pending_changes.forget(stale)
        return findings


def _may_hold(block: StoreBlock, first: int, last: int, since: int) -> bool:
    """Return False if no row of a block has an id from `first` to `last` and was sent since a time."""
    has_others = block.ids.last >= LAST or len(block.ids) < block.rows
    is_in_time = block.since == UNKNOWN or block.until >= since
    return has_others or (is_in_time and block.ids.first <= last and block.ids.last >= first)
