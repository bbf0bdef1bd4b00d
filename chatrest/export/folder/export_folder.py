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
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from msgspec import Struct, field

from ..._core.replies.rows import UNKNOWN, Row, lines_of, row_of
from ..._texts import missing_extra
from ...errors import RequestInvalidError
from ..formats.action_records import ACTION, is_deleted, shown_edits
from ..formats.stored_records import SourceLines
from ..plan.file_names import HISTORY, STEM, partition_folder, partition_rows
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, NO_IDS, Interval, ids_of
from ..plan.ownership import Source
from ..plan.plan import Plan
from ..plan.report import Report
from ..store import Changes, Difference, ExportStore, NewRows, RowKind, repair, salvage
from ..store.disk import Disk
from ..store.formats import Format, Lines, Parquet
from ..store.inspection import LOST, lost_versions
from ..store.journal import StoreBlock
from .fetched_page import FetchedPage, ListOrder, SourceRows
from .journal import LOST_VERSIONS, NAME, Journal
from .manifest import write_finished, write_unfinished
from .opening import (
    FolderLock,
    agreed,
    begin_generation,
    check_folder,
    check_is_whole,
    check_part,
    claim_folder,
    first_meta,
    is_new,
    is_unused,
)
from .run_log import last_run
from .stored_index import StoredIndex
from .tables import ATTACHMENTS, TABLES, table_stem

T = TypeVar("T")
_Add: TypeAlias = Callable[[NewRows], int]

MANY_SMALL_FILES: Final = 8
_UNFINISHED: Final = "it is being written, or was interrupted"
_CHANGES_AT_ONCE: Final = 20_000


class CommitStats(Struct):
    written: int = 0
    changed: int = 0


class _Batch(Struct):
    stats: CommitStats = field(default_factory=CommitStats)
    seen: dict[int, IdSet] = {}
    """By their sources."""
    foreign: dict[int, IdSet] = {}
    read: dict[int, list[Interval]] = {}
    orders: dict[int, ListOrder] = {}


class RemoteFiles(Protocol):
    """The sealed files of an export that are in an object store: their names and sizes, always one object."""

    @property
    def names(self) -> Mapping[str, int]: ...

    def fetch(self, name: str, path: Path, sha256: str) -> None:
        """Write a file with this SHA-256 to `path`, complete and durable, or raise `ObjectStoreError`."""


class ReplacedMessages(NamedTuple):
    changed: int
    deleted: int
    """Those of which the newer version says that they were deleted."""


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
        """`part` is the part of an export that the folder is, such as `7 of 64`; empty for an export by
        itself. `started` is when the run began, in epoch seconds: the manifest says from its first change on
        that it is not complete; None for a change that the manifest does not mention.

        With `change_plan` the plan may be another one than the folder's, whose own it becomes by
        `commit_plan`.
        """
        self.folder = folder
        self.disk: Disk = disk or Disk()
        self.remote = remote
        self.index: StoredIndex | None = None
        self._started, self._has_begun = started, False
        self._lock = threading.Lock()
        format_of_plan(plan or Plan())
        claim_folder(folder, self.disk)
        if remote is None:
            check_is_whole(folder)
        with ExitStack() as stack:
            lock = FolderLock(folder)
            stack.callback(lock.release)
            meta = first_meta(folder, app_id, (plan or Plan()).encoded().decode()) | {"part": part}
            self.journal: Journal = stack.enter_context(Journal(folder / NAME, meta, is_shared=lock.is_held))
            check_part(folder, self.journal["part"] or "", part)
            manifest = check_folder(folder, self.journal)
            stored = {name: self.journal[name] for name in ("app", "plan")}
            if plan is not None and is_new(self.journal, manifest):
                stored["plan"] = plan.encoded().decode()
            self._is_unused = is_unused(self.journal, manifest)
            self.stored_plan, self.plan = agreed(
                folder, stored, plan, app_id, may_change=change_plan, is_unused=self._is_unused
            )
            self.store: ExportStore = ExportStore(
                folder, self.journal, kinds_of_plan(self.plan), labels=self._label, disk=self.disk,
                elsewhere=() if remote is None else remote.names,
                fetch=None if remote is None else remote.fetch,
            )  # fmt: skip
            stack.callback(self.store.close)
            with self.journal.transaction():
                begin_generation(self.journal, manifest)
                self.journal.begin_run(self.store.written, last_run(folder))
                self.journal["plan"] = self.stored_plan.encoded().decode()
            self.findings: list[Difference] = self._repaired()
            self._is_later = bool(self.store.written)
            """True if messages on disk may have been edited since they were read."""
            stack.callback(self.forget_index)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        batch = _Batch()
        with self._guarded():
            self._begin_change()
            with self.store.transaction() as add:
                for page in pages:
                    self._take(page, batch, add)
                for source, ids in batch.seen.items():  # one row per batch
                    self.journal.see(source, ids)
                for source, read in batch.read.items():
                    self.journal.cover(source, read)
                for source, order in batch.orders.items():
                    self.journal.note_order(source, order)
                for part, ids in batch.foreign.items():
                    self.journal.note_foreign_ids(part, ids)
            self.store.seal_full()
        return batch.stats

    def commit_plan(self) -> None:
        """Note the plan of this run as the folder's own: a run that fails before this leaves the old one."""
        if self.plan == self.stored_plan:
            return
        with self._guarded(), self.journal.transaction():
            if self._is_unused:
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
            return self.store.missing() - self.lost

    def seen(self, source: int) -> IdSet:
        with self._lock:
            return self.journal.seen(source)

    def unseen_keys(self, source: int, keys: set[str]) -> set[str]:
        with self._lock:
            shown, named = self.journal.seen(source), self.journal.names(keys)
            return {key for key in keys if named.get(key, 0) not in shown}

    def counts(self) -> dict[int, int]:
        """Return how many messages are on disk, by the number of its source; 0 is for none."""
        return self.journal.rows([STEM])

    def scan(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[Row]:
        """Yield rows on disk, each once: at least those from id `first` to `last`, sent at `since` or later.

        Costs the reading of the files that may hold one. A row without a numeric id or a time is always
        included.
        """
        for file in self.journal.files("open", "sealed"):
            blocks = self.journal.blocks(file.number) if self.store.kind(file.stem).has_ids else ()
            if any(_may_hold(block, first, last, since) for block in blocks):
                for piece in self.store.records(file):
                    yield from map(row_of, piece.raws)

    def stored(self, keys: Iterable[str]) -> dict[str, Row]:
        """Return the messages of these ids as they will be after pending changes.

        Costs the reading of the files that hold them.
        """
        wanted = set(keys)
        waiting = {row.id: row for row in self.journal.waiting() if row.id in wanted}
        return self.store.stored(wanted) | waiting

    def note_edited(self, newer: Iterable[Row], settled: Iterable[str]) -> None:
        with self._guarded(), self.journal.transaction():
            self.journal.change(newer)
            self.journal.forget_edits(settled)

    def stored_since(self, since: int) -> IdSet:
        """Return the ids on disk that were sent at a time or later, as `prepare` learnt them."""
        with self._lock:
            return IdSet() if self.index is None else self.index.since(since)

    def note_deleted(self, source: int, ids: IdSet, now: int, *, missing: bool = False) -> int:
        """Note ids that no source shows any more, and with `missing` that are not on disk either.

        Return how many are news: not those whose record on disk says already that they were deleted.
        """
        if not ids:
            return 0
        with self._guarded(), self.journal.transaction():
            known = IdSet() if self.index is None else self.index.deleted()
            news = IdSet() if missing else ids - known
            self.journal.mark_deleted(source, ids, now, missing=missing, news=news)
            self._load_deleted()
            return len(news)

    def look_again(self, sources: Iterable[int]) -> None:
        """Forget that messages are missing which sources have seen: they may show them again."""
        for source in sources:
            with self._guarded(), self.journal.transaction():
                self.journal.undelete(self.lost & self.journal.seen(source))
                self._load_deleted()

    def prepare(self, since: int) -> None:
        """Load the ids on disk that were sent since a time, before these are read again."""
        with self._lock:
            self.forget_index()
            self.index = StoredIndex(self.journal.names)
            self.index.load(self.scan(since=since))
            self.index.renew(self.journal.waiting())

    def replace_table(self, table: str, pieces: Iterable[SourceLines], read_at: int) -> None:
        with self._guarded():
            self._begin_change()
            stem = table_stem(table)
            self.store.snapshots.replace(stem, self.store.kind(stem).format, pieces, read_at)

    def finish(self) -> ReplacedMessages:
        """Put everything into its final place; return how many messages replaced an older version."""
        with self._guarded():
            if self.journal.files("sealing"):
                self.store.settle()  # a publication has failed within a seal, and could not end it either
            amended = self._apply_changes()
            self.journal.merge_seen()
            self.store.seal_all()
            self.store.compact(MANY_SMALL_FILES, begin=self._begin_change)
            self._check_sealed()
            self.journal.check_in_place()
            return amended

    def warnings(self) -> list[str]:
        """Return a sentence for each file of older versions that was lost."""
        return [f"{name} {LOST}" for name in lost_versions(self.findings)]

    def at_rest(self, work: Callable[[], T]) -> T:
        with self._lock:
            return work()

    def forget_index(self) -> None:
        if self.index is not None:
            self.index.close()
        self.index = None

    def finished(self, report: Report) -> None:
        """Note the end of the run in the manifest; a later change marks it as not complete again."""
        write_finished(self.folder, self.disk, self.journal, self.stored_plan, report)
        self._has_begun = False

    def failed(self, reason: str) -> None:
        """Note in the manifest why the run has failed, if it has changed anything."""
        if self._has_begun:
            self._note_unfinished(reason)

    def _begin_change(self) -> None:
        if not self._has_begun:
            self._note_unfinished(_UNFINISHED)
            self._has_begun = True

    def _note_unfinished(self, reason: str) -> None:
        if self._started is not None:
            write_unfinished(self.folder, self.disk, self.journal, self.stored_plan, self._started, reason)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Allow one at a time; after a failure, uncommitted changes are undone."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise OSError(f"{self.folder}: {error}") from error

    def _apply_changes(self) -> ReplacedMessages:
        changed = deleted = 0
        while rows := self.journal.waiting(_CHANGES_AT_ONCE):
            applied = list[str]()

            def note(ids: list[str], applied: list[str] = applied) -> None:
                applied += ids
                self.journal.applied(ids)
                self.journal.note_news("changed", ids)

            by_author = {row.id for row in rows if is_deleted(row.raw)}
            deleted_now = self._not_deleted_yet(by_author)
            self.store.update(Changes({row.id: row for row in rows}, note))
            with self.journal.transaction():
                self.journal.applied(row.id for row in rows)  # the others are not on the disk any more
            deleted += len(deleted_now.intersection(applied))
            changed += len(set(applied) - by_author)
        return ReplacedMessages(changed, deleted)

    def _not_deleted_yet(self, keys: set[str]) -> set[str]:
        """Return those of which no run has found that they were deleted: each deletion counts once."""
        known = self.journal.ids_by_key(keys)
        stored = self.store.stored(keys) if keys else {}
        return {
            key for key in keys
            if known.get(key, 0) not in self.deleted and not (key in stored and is_deleted(stored[key].raw))
        }  # fmt: skip

    def salvage(self) -> int:
        """Write messages that are still missing from damaged files; return how many.

        Called after all sources were requested again: a damaged file may have wrong bytes in a record.
        """
        with self._guarded():
            return salvage(self.store) if self.store.missing() else 0

    # ── one page ──

    def _take(self, page: FetchedPage, batch: _Batch, add: _Add) -> None:
        if page.seen is not NO_IDS:
            self._take_rows(page, batch, add)
        if page.order is not None:
            batch.orders[page.number] = page.order
        covered = page.covered
        if page.purpose == "recheck":
            self.journal.rechecked(page.number, covered.last, covered.position)
        elif page.purpose == "walk":
            read = Interval(covered.after + 1, covered.last, covered.position)
            batch.read.setdefault(page.number, []).append(read)
            if covered.proven:
                self.journal.prove(page.number, covered.proven)

    def _take_rows(self, page: FetchedPage, batch: _Batch, add: _Add) -> None:
        ids = self.journal.numbered(page.seen)
        shown = ids if page.again is None else self.journal.numbered(page.again.ids)
        self._undelete(shown)
        if page.again is not None:
            self.journal.show(page.number, shown)
            batch.stats.changed += self._compare(page.again.rows)
        if page.purpose == "confirm":
            return
        batch.seen.setdefault(page.number, IdSet()).update(ids)
        if page.foreign is not None:
            for part, foreign in page.foreign.ids.items():
                batch.foreign.setdefault(part, IdSet()).update(self.journal.numbered(foreign))
            for part, rows in page.foreign.rows.items():
                self.journal.note_foreign_rows(part, rows)
        for each in page.rows:
            is_own = each.source == page.source
            number = page.number if is_own else self.journal.source_of(each.source.key) or page.number
            batch.stats.written += self._write(number, each, add)

    def _write(self, number: int, rows: SourceRows, add: _Add) -> int:
        new, ids = self.store.unwritten(rows.rows, rows.ids) if rows.rows else (rows.rows, rows.ids)
        for stem, part in self._stems(rows.source, new).items():
            add(NewRows(stem, number, part, ids if part is new else ids_of(part), is_new=True))
        if self._is_later and ACTION in lines_of(new):
            self.journal.note_edits(shown_edits(new))
        return len(new)

    def _stems(self, source: Source, rows: list[Row]) -> dict[str, list[Row]]:
        if not rows:
            return {}
        partition = self.plan.partition or "none"
        parts = partition_rows(partition, source, rows)
        return {f"{partition_folder(partition, key)}/{STEM}": part for key, part in parts.items()}

    def _compare(self, rows: list[Row]) -> int:
        if not rows:
            return 0
        assert self.index is not None, "prepare() comes first"
        changed = self.index.changed(rows)
        self.index.renew(changed)
        self.journal.change(changed)
        return len(changed)

    def _load_deleted(self) -> None:
        """Learn the ids that no source shows any more, and which of them are not on disk either."""
        deleted = self.journal.deleted()
        lost = [each.id for each in deleted if each.missing]
        self.deleted = IdSet(self.journal.ids_by_key(each.id for each in deleted).values())
        self.lost = IdSet(self.journal.ids_by_key(lost).values())

    def _undelete(self, ids: IdSet) -> None:
        """Note that deleted messages are shown again; those also missing are read again."""
        if again := ids & self.deleted:
            self.deleted.discard(again)
            self.lost.discard(again)
            self.journal.undelete(again)

    # ── opening ──

    def _label(self, source: int) -> str | None:
        known = self.journal.sources_of([source]).get(source)
        return None if known is None else str(known)

    def _repaired(self) -> list[Difference]:
        """Make the journal agree with the disk: messages that are not on disk are missing."""
        findings = list(repair(self.store, self.journal.waiting_ids))
        numbers = self.journal.ids_by_key(waiting := self.journal.waiting_ids())
        # changes of messages that are not on the disk any more
        stale = [each for each in waiting if numbers.get(each, 0) not in self.store.written]
        if findings or stale:
            with self.journal.transaction():
                if lost := lost_versions(findings):  # `verify` reports them from now on
                    self.journal[LOST_VERSIONS] = "\n".join([*self.journal.lost_versions(), *lost])
                self.journal.applied(stale)
        self._load_deleted()
        return findings

    def _check_sealed(self) -> None:
        """Raise OSError where a file is not sealed, or not on disk any more, or not all of it: nothing may
        call the export complete then.
        """
        if left := self.journal.files("open", "sealing"):
            raise OSError(errno.EIO, "it could not be sealed: run it again", str(self.folder / left[0].name))
        for file in self.journal.files("sealed"):
            path = self.folder / file.name
            if self.remote is not None and not path.exists() and file.name in self.remote.names:
                continue
            if not path.exists() or path.stat().st_size < file.size:
                raise FileNotFoundError(errno.ENOENT, "it was removed or cut while the export ran", str(path))


# ── what it holds ──


def format_of_plan(plan: Plan) -> Format:
    """Return the format of a plan's messages; `RequestInvalidError` where what it needs is not installed."""
    match plan.format:
        case "ndjson":
            return Lines(plan.compress or "none")
        case "parquet":
            if find_spec("pyarrow") is None:
                raise RequestInvalidError(missing_extra("format = 'parquet'", "parquet"))
            return Parquet(plan.compress or "zstd")


def kinds_of_plan(plan: Plan) -> dict[str, RowKind]:
    """Return the kinds of rows that an export's store holds: all but messages are lines in every format."""
    own = format_of_plan(plan)
    lines = own if isinstance(own, Lines) else Lines("none")
    messages = {STEM: RowKind(own), HISTORY: RowKind(lines, by_content=True)}
    return messages | {
        table_stem(table): RowKind(lines, is_snapshot=True) for table in (*TABLES, ATTACHMENTS)
    }


def _may_hold(block: StoreBlock, first: int, last: int, since: int) -> bool:
    """Return False if no row of a block has an id from `first` to `last` and was sent since a time."""
    has_others = block.ids.last >= LAST or len(block.ids) < block.rows
    is_in_time = block.since == UNKNOWN or block.until >= since
    return has_others or (is_in_time and block.ids.first <= last and block.ids.last >= first)
