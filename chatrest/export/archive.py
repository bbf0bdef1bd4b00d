"""An export's folder while it is written: the journal and the sink, and the one place where both meet.

A page is committed here: its rows are on the disk first, and only then does the journal say so. A row is
written where its id is not in the export yet, whoever shows it and however often: nothing can stand twice.
Methods are synchronous and wait for the disk, so whoever has an event loop calls them in a thread; one at a
time.
"""

import errno
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Protocol, Self, TypeAlias, TypeVar, final

from msgspec import Struct

from ..core.replies.rows import Row
from ..core.requests.endpoint import Pairs
from ..errors import RequestInvalidError
from . import journal as journals
from .disk import Disk, OpenFiles
from .file_names import DATABASE
from .id_set import IdSet
from .journal import DeletedId, Journal
from .message_ids import PageIds, ids_of, key_of, number
from .opening import (
    FolderLock,
    begin_generation,
    check_folder,
    check_is_whole,
    claim_folder,
    keep_newer_files,
)
from .ownership import Source
from .plan import Plan, growth_fault
from .repeated_rows import RepeatedRows
from .sink import Sink, check_installed, sink_of
from .stored_index import StoredIndex
from .workspace import RemoteFiles, Workspace

T = TypeVar("T")

Purpose: TypeAlias = Literal["walk", "recheck", "confirm", "missing"]
"""walk: ids that were not read yet; recheck: messages are read again, to find those that have changed or are
deleted; confirm: ids that the recheck did not show are looked for once more; missing: ids that a source has
seen and nobody has written."""


class FetchedPage(Struct, frozen=True, kw_only=True):
    """A page on its way to the disk."""

    number: int
    source: Source
    purpose: Purpose = "walk"
    after: int
    last: int
    """It covers the ids above `after` up to `last`."""
    position: Pairs = ()
    """Where the list goes on."""
    proven: int = 0
    """The frozen end, where this page comes last, and the end of the source is proven."""
    seen: PageIds
    """The ids of all of its rows."""
    rows: list[Row]
    """Those that the source writes if they are not written yet, in ascending order of ids."""
    ids: PageIds
    """The ids that may be written."""
    writers: dict[Source, list[Row]] | None = None
    """Of missing ids: the rows by the source whose file they belong to."""
    shown: IdSet | None = None
    """Of a recheck and its confirmation: all ids that the service showed, in any window."""
    again: list[Row] = []
    """Rows that came again under ids that were read before."""
    compared: list[Row] = []
    """Of a recheck: the rows that are compared with those on disk."""
    bytes: int = 0
    """The memory that the page needs."""


class Adoption(Protocol):
    """Files that another process wrote, which one commit takes over."""

    def take_files(self, written: IdSet, pending: IdSet) -> int:
        """Note the files in the journal, and their ids in `pending`; return how many messages they add."""

    def put_in_place(self) -> None:
        """Give the files their names; called when the journal has them."""


class CommitStats(Struct):
    """Messages that were added, and messages that have changed."""

    written: int = 0
    changed: int = 0


MANY_SMALL_FILES: Final = 8
"""Small files of one partition that the end of a run merges."""


@final
class Archive:
    """The folder of an export, open for writing; used with `with`.

    Without a plan it goes on with the folder's own. Raises `RequestInvalidError` for a folder that holds
    something else, an export of another plan or app, or one that another process is writing.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan | None = None,
        *,
        app_id: str,
        disk: Disk | None = None,
        remote: RemoteFiles | None = None,
    ) -> None:
        self.folder = folder
        self.disk: Disk = disk or Disk()
        self._lock = threading.Lock()
        self._closed = False
        self.plan: Plan
        self._written: IdSet
        self._pending: IdSet = IdSet()
        self.index: StoredIndex | None = None
        """Rows on disk that are read again."""
        self._repeats: RepeatedRows = RepeatedRows()
        self.before_change: Callable[[], None] = lambda: None
        """Called before the first commit of this run."""
        check_installed(plan or Plan())
        claim_folder(folder, self.disk)
        if remote is None:
            check_is_whole(folder)
        begin = {"app": app_id, "plan": (plan or Plan()).encoded().decode()}
        self._folder_lock = FolderLock(folder)
        try:
            self.journal: Journal = Journal(folder / journals.NAME, begin)
        except BaseException:
            self._folder_lock.release()
            raise
        self._files = OpenFiles(self.disk)
        try:
            manifest = check_folder(folder, self.journal)
            begin_generation(self.journal, manifest)
            if plan is not None and not self.journal.sources():  # nothing was asked for yet
                self._begin_anew(plan)
            stored, self.plan = agreed(folder, {name: self.journal[name] for name in begin}, plan, app_id)
            self._grow(stored)
            self.workspace: Workspace = Workspace(folder, self.journal, self.disk, self._files, remote)
            keep_newer_files(self.workspace, manifest)
            self.sink: Sink = sink_of(self.plan, self.workspace)
            self._recover()
        except BaseException:
            self._files.close()
            self.journal.close()
            self._folder_lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder; twice is fine."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.sink.close()
            self._files.close()
            self.forget_index()
            self.journal.close()
            self._folder_lock.release()

    # ── writing ──

    def commit(self, pages: Iterable[FetchedPage], adoption: Adoption | None = None) -> CommitStats:
        """Write pages, and only then note what they cover; all of them, or none.

        With `adoption` files that another process wrote are taken over at the same time. Raises OSError where
        the disk fails, or a file was removed meanwhile.
        """
        stats = CommitStats()
        seen: dict[int, IdSet] = {}
        with self._guarded():
            self._begin_change()
        with self._guarded():
            with self.journal.transaction():
                if adoption is not None:
                    stats.written += adoption.take_files(self._written, self._pending)
                for page in pages:
                    self._take(page, stats, seen)
                for source, ids in seen.items():  # a row a batch
                    self.journal.see(source, ids)
                self.sink.flush()  # the rows are safe from here on, and so the journal may say so
                self.journal.check_in_place()
            self._written.update(self._pending)
            self._pending = IdSet()
        with self._guarded():
            if adoption is not None:
                adoption.put_in_place()
            self.sink.maintain()
        return stats

    def missing(self) -> IdSet:
        """Return the ids that a source has seen, and that are not on disk: the proof, where it is empty.

        Those that no source shows any more are left out.
        """
        with self._lock:
            return self.journal.all_seen() - self._written - self._lost

    def has_seen_newest(self, source: int, ids: IdSet, *, is_whole: bool) -> bool:
        """Return whether the newest ids of a source's list have been seen, so that nothing in it is new.

        Where they are not the whole list, they must not be all that was seen, either: a service that cannot
        go backwards shows the oldest ones.
        """
        with self._lock:
            seen = self.journal.seen(source)
        is_end = bool(ids) and ids.last == seen.last and ids <= seen
        is_dense = seen.count(ids.first, ids.last) == len(ids)
        return is_end and is_dense and (is_whole or len(seen) > len(ids))

    def last_seen(self, source: int, count: int) -> int:
        """Return the first of the last `count` ids that the list of a source has shown; 0 for none."""
        with self._lock:
            return self.journal.seen(source).from_last(count)

    def unseen(self, source: int, ids: IdSet) -> IdSet:
        """Return the ids among these that the list of a source has not shown."""
        with self._lock:
            return ids - self.journal.seen(source)

    def unseen_keys(self, source: int, keys: set[str]) -> set[str]:
        """Return the ids that are no numbers, among these, and that the list of a source has not shown."""
        with self._lock:
            return keys - self.journal.other_ids_seen(source, keys)

    def missing_keys(self) -> dict[int, set[str]]:
        """Return the ids that are no numbers, and missing, by the sources that have seen them."""
        with self._lock:
            lost = {each.id for each in self.journal.deleted(missing=True)}
            keys: dict[int, set[str]] = {}
            for key, source in self.journal.other_ids_unwritten():
                if key not in lost:
                    keys.setdefault(source, set()).add(key)
            return keys

    @property
    def deleted(self) -> IdSet:
        """The ids that no source shows any more; not to be changed."""
        return self._deleted

    def stored_since(self, since: int) -> IdSet:
        """Return the ids on disk that were sent at a time or later, as `prepare` learnt them."""
        with self._lock:
            return IdSet() if self.index is None else self.index.since(since)

    def note_deleted(self, source: int, ids: Iterable[int | str], now: int, *, missing: bool = False) -> None:
        """Note ids that no source shows any more, and with `missing` that are not on disk either."""
        if ids := list(ids):
            with self._guarded(), self.journal.transaction():
                self.journal.mark_deleted(source, ids, now, missing=missing)
                self._load_deleted()

    def look_again(self, sources: Iterable[int]) -> None:
        """Forget that messages are missing which sources have seen: they may show them again."""
        for source in sources:
            with self._guarded(), self.journal.transaction():
                self.journal.undelete(self._lost & self.journal.seen(source))
                self._load_deleted()

    def prepare(self, since: int) -> None:
        """Learn what is on disk that was sent since a time, before it is read again."""
        with self._lock:
            self.forget_index()
            self.index = StoredIndex()
            self.index.load(self.sink.scan(since=since))
            self.index.renew(self.journal.waiting())

    def finish(self) -> int:
        """Put everything into its final place; return how many messages took that of an older version."""
        with self._guarded():
            self._repeats.compare(self.sink)
            amended = self.sink.apply_updates()
            with self.journal.transaction():
                self.journal.forget_changed()  # what is left of it is not on disk any more
                self.journal.merge_seen()
            self.sink.finish()
            self.sink.compact(MANY_SMALL_FILES, self._begin_change)
            self._files.sync()
            self._check_sizes()
            self.journal.check_in_place()
            return amended

    def warnings(self) -> list[str]:
        """Return what came in two versions under one id in this run, as a sentence; after `finish`."""
        return self._repeats.warnings()

    def compact(self) -> int:
        """Merge the small files of each partition; return how many are gone."""
        with self._guarded():
            gone = self.sink.compact(2, self._begin_change)
            self._check_sizes()
            return gone

    def at_rest(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, during which nothing is written: disk and journal agree."""
        with self._lock:
            return work()

    def _begin_change(self) -> None:
        """Call `before_change`, once."""
        self.before_change()
        self.before_change = lambda: None

    def forget_index(self) -> None:
        """Let go of what `prepare` learnt."""
        if self.index is not None:
            self.index.close()
        self.index = None

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """One at a time; where it fails, what was not committed never happened."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                self._roll_back()
                raise OSError(f"{self.folder}: {error}") from error
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        self._pending = IdSet()
        self.sink.rollback()
        self._files.close()

    # ── one page ──

    def _take(self, page: FetchedPage, stats: CommitStats, seen: dict[int, IdSet]) -> None:
        if self._has_deleted:
            self._undelete(page)
        if page.shown is not None:
            self.journal.show(page.number, page.shown)
        if page.purpose == "confirm":
            return
        seen.setdefault(page.number, IdSet()).update(page.seen.numbers)
        self.journal.see_others(page.number, page.seen.others)
        if page.compared:
            self._compare(page, stats)
        self._repeats.note(page.again)
        if page.writers is None:
            is_first = page.purpose == "walk"
            stats.written += self._add(page.number, page.source, page.rows, page.ids, is_first=is_first)
        else:
            for writer, rows in page.writers.items():
                number = self.journal.source_of(writer.key) or page.number
                stats.written += self._add(number, writer, rows, ids_of(rows))
        if page.purpose == "recheck":
            self.journal.rechecked(page.number, page.last, page.position)
        elif page.purpose == "walk":
            self._cover(page)

    def _cover(self, page: FetchedPage) -> None:
        """Note what a page covers, and the end of its list where it is proven."""
        self.journal.cover(page.number, page.after, page.last, page.position)
        if page.proven:
            self.journal.prove(page.number, page.proven)

    def _add(
        self, number: int, source: Source, rows: list[Row], ids: PageIds, *, is_first: bool = False
    ) -> int:
        """Write the rows that are not in the export yet; return how many."""
        new = self._unwritten(rows, ids)
        if is_first:  # what is read again may have been edited meanwhile
            self._repeats.add(rows, new, ids)
        return self.sink.add(number, source, new, ids if new is rows else None) if new else 0

    def _unwritten(self, rows: list[Row], ids: PageIds) -> list[Row]:
        """Return the rows that are not in the export yet, each once, and note them as written."""
        new = ids.numbers - self._written
        if self._pending:
            new.discard(self._pending)
        if len(new) < len(rows):
            rows = list(self._chosen(rows, new, set(ids.others) - self.journal.other_ids_written(ids.others)))
        self._pending.update(new)
        return rows

    @staticmethod
    def _chosen(rows: list[Row], new: IdSet, others: set[str]) -> Iterator[Row]:
        left = set(new)
        for row in rows:
            if (numbered := number(row.id)) is not None:
                if numbered in left:
                    left.discard(numbered)
                    yield row
            elif (key := key_of(row)) in others:
                others.discard(key)
                yield row

    def _compare(self, page: FetchedPage, stats: CommitStats) -> None:
        """Note the rows of a page that have changed since they were written."""
        assert self.index is not None, "prepare() comes first"
        changed = self.index.changed(page.compared)
        self.index.renew(changed)
        stats.changed += len(changed)
        if self.sink.upserts:
            self.sink.add(page.number, page.source, changed)
        else:
            self.journal.change(changed)

    def _load_deleted(self) -> None:
        deleted = self.journal.deleted()
        missing = self.journal.deleted(missing=True)
        self._lost = IdSet(_numbers(missing))
        self._deleted = IdSet(_numbers(deleted)) | self._lost
        self._has_deleted = bool(deleted or missing)

    def _undelete(self, page: FetchedPage) -> None:
        """Note that what was deleted is shown again; what is missing as well is looked for again."""
        ids = page.seen.numbers if page.shown is None else page.shown
        if again := ids & self._deleted:
            self._deleted.discard(again)
            self._lost.discard(again)
            self.journal.undelete(again)
        self.journal.undelete(page.seen.others)

    # ── opening ──

    def _begin_anew(self, plan: Plan) -> None:
        """Another plan for an export that holds nothing."""
        if plan.format != "sqlite":
            self.disk.remove(self.folder / DATABASE)
        self.journal["plan"] = plan.encoded().decode()

    def _grow(self, stored: Plan) -> None:
        """Note a plan with other sources, or a wider window, as the folder's own."""
        if self.plan == stored:
            return
        with self.journal.transaction():
            self.journal["plan"] = self.plan.encoded().decode()
            if self.plan.window != stored.window:
                self.journal.forget_coverage()  # of what is read again, what is on disk is known

    def _recover(self) -> None:
        """Bring disk and journal together: what is not on disk is not written, and so it is missing."""
        try:
            with self.journal.transaction():
                self.journal.drop_unreferenced_blocks()
                self.sink.recover()
                self._written = self.sink.written_ids()
                self.journal.applied(list(self._stale_changes()))
                self._load_deleted()
        except BaseException:
            self.sink.close()
            raise

    def _stale_changes(self) -> Iterator[str]:
        """The changed messages whose older versions are not on disk any more."""
        for row in self.journal.waiting():
            numbered = number(row.id)
            if numbered not in self._written if numbered else not self.journal.other_ids_written([row.id]):
                yield row.id

    def _check_sizes(self) -> None:
        """Raise OSError where a file is not on disk any more, or not all of it."""
        for file in self.journal.files():
            path = self.folder / file.name
            if not file.size or self.workspace.is_remote(file):
                continue
            if not path.exists() or path.stat().st_size < file.size:
                raise FileNotFoundError(errno.ENOENT, "it was removed or cut while the export ran", str(path))


def _numbers(deleted: Iterable[DeletedId]) -> Iterator[int]:
    return (numbered for each in deleted if (numbered := number(each.id)) is not None)


def agreed(folder: Path, kept: Mapping[str, str | None], plan: Plan | None, app_id: str) -> tuple[Plan, Plan]:
    """Return the folder's plan, from its journal's meta, and the plan that goes on with it.

    What `plan` does not give is as in the folder's own. Raises `RequestInvalidError` where the export cannot
    be continued by it, or the app is another one.
    """
    app, encoded = kept.get("app"), kept.get("plan")
    if app is None or encoded is None:
        raise RequestInvalidError(f"{folder / journals.NAME} tells no plan: it is no export's journal")
    if app != app_id:
        raise RequestInvalidError(
            f"folder '{folder}' holds an export of the app {app!r}, and not of {app_id!r}: choose another"
        )
    stored = Plan.parse(encoded)
    continued = stored if plan is None else stored.continued(plan)
    old, new = growth_fault(stored, continued)
    if old:
        raise RequestInvalidError(
            f"folder '{folder}' was exported with {old}, and this plan has {new}: allowed are other sources "
            "and a wider window, but the same format and filters; no plan at all continues with the folder's "
            "own; or export into another folder"
        )
    return stored, continued
