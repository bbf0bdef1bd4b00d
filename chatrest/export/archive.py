"""An export's folder while it is written: the journal and the sink, and the one place where both meet.

A page is committed here: its rows are on the disk first, and only then does the journal cover them. Methods
are synchronous and wait for the disk, so whoever has an event loop calls them in a thread; one at a time.
"""

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias, final

from msgspec import Struct, structs

from ..core.endpoint import Pairs
from ..core.intervals import subtract
from ..core.rows import Row
from ..errors import RequestInvalidError
from . import journal as journals
from .compare import Index
from .disk import Disk, OpenFiles, sync_folder
from .file_names import DATABASE
from .journal import NEVER, Journal
from .message_ids import key_of, number
from .ownership import Source
from .plan import Plan
from .plan_difference import difference
from .sink import Sink, check_installed, sink_of
from .workspace import LAST, MissingIds, Workspace, missing_with

Mode: TypeAlias = Literal["fresh", "compare", "recheck", "confirm", "adopt"]
"""fresh: nothing of it can be on disk; compare: it may be, and may have changed; recheck: the same, and what
is on disk and not shown any more has vanished; confirm: what a recheck did not find is looked for once more;
adopt: what others were to write, and did not."""


class FetchedPage(Struct, frozen=True, kw_only=True):
    """A page on its way to the disk."""

    number: int
    source: Source
    after: int
    last: int
    """It covers the ids above `after` up to `last`."""
    at: Pairs = ()
    """Where the list goes on."""
    mode: Mode = "fresh"
    since: int = 0
    """A recheck reads what was sent at this time or later."""
    rows: list[Row] = []
    """In ascending order of ids; what the source writes."""
    unclaimed: frozenset[str] = frozenset()
    """The keys of those rows that no source claims."""
    shared: list[int] = []
    """The ids that other sources leave to this one."""
    theirs: list[int] = []
    """The ids that this source leaves to others: they are not among the rows."""
    shown: frozenset[int] = frozenset()
    """Of a recheck and its confirmation: all ids that the service showed, in any window, of any source."""
    adopted: list[Row] = []
    """Of a recheck: rows that are others', and that this source may have written in their place."""
    bytes: int = 0
    """What the page holds in memory."""


class CommitStats(Struct):
    """What became of some pages."""

    written: int = 0
    changed: int = 0
    vanished: int = 0


MANIFEST: Final = "manifest.json"


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
        now: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.disk: Disk = disk or Disk()
        self._now = now
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._closed = False
        self.before_change: Callable[[], None] = lambda: None
        """Called before the first commit of this run."""
        check_installed(plan or Plan())
        claim(folder, self.disk)
        begin = {"app": app_id, "plan": (plan or Plan()).encoded().decode()}
        self.journal: Journal = Journal(folder / journals.NAME, begin)
        self._files = OpenFiles(self.disk)
        try:
            if plan is not None and not self.journal.sources():  # nothing was asked for yet
                self._begin_anew(plan)
            self.plan: Plan = agreed(folder, {name: self.journal[name] for name in begin}, plan, app_id)
            self.sink: Sink = sink_of(self.plan, Workspace(folder, self.journal, self.disk, self._files))
            self._repair()
        except BaseException:
            self._files.close()
            self.journal.close()
            raise
        self._has_strays = self.journal.has_strays()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the folder; twice is fine."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.sink.close()
            self._files.close()
            self._forget_index()
            self.journal.close()

    def commit(self, pages: Iterable[FetchedPage]) -> CommitStats:
        """Writes some pages, and only then counts them as covered; all of them, or none."""
        kept = CommitStats()
        with self._guarded():
            self.before_change()
            self.before_change = lambda: None
        with self._guarded(), self.journal.transaction():
            for page in pages:
                self._take(page, kept)
            self.sink.flush()  # the rows are safe from here on, and so the journal may say so
        with self._guarded():
            self.sink.maintain()
        return kept

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """One at a time; where it fails, what was not committed never happened."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                self._forget()
                raise OSError(f"{self.folder}: {error}") from error
            except BaseException:
                self._forget()
                raise

    def _forget_index(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index = None

    def _forget(self) -> None:
        self.sink.rollback()
        self._files.close()
        self._has_strays = self.journal.has_strays()

    def prepare(self, ranges: Iterable[tuple[int, int, int]]) -> None:
        """Learns what is on disk of some ids (first, last, sent since), before they are read again."""
        with self._lock:
            self._forget_index()
            self._index = Index()
            for first, last, since in ranges:
                self._index.load(self.sink.scan(first, last, since))
            self._index.renew(self.journal.waiting())

    def missing_spans(self, apart: int) -> list[tuple[int, int, int]]:
        """The ids that this run's recheck did not find, as (source, first id, last id).

        Two spans of a source have at least `apart` of its messages between them.
        """
        with self._lock:
            return [] if self._index is None else list(self._index.missing_spans(apart))

    def may_hold(self, source: int, first: int, last: int) -> bool:
        """Whether rows of a source with such ids may be on disk already."""
        return not self.sink.upserts and self.journal.has_rows(source, first, last)

    def finish(self) -> int:
        """Puts everything into its final place; how many messages took that of an older version."""
        with self._guarded():
            amended = self.sink.apply_updates()
            with self.journal.transaction():
                self.journal.forget_changed()  # what is left of it is not on disk any more
            self.sink.finish()
            self._files.sync()
            return amended

    # ── one page ──

    def _take(self, page: FetchedPage, kept: CommitStats) -> None:
        ids = page.shown or filter(None, (number(row.id) for row in page.rows))
        covers = page.last > page.after  # if not, it is a page of a list that goes by time: ids of any height
        self.journal.undelete(*((page.after + 1, page.last) if covers else (0, LAST)), ids)
        if page.mode == "confirm":
            kept.vanished -= self._index.show(page.shown) if self._index is not None else 0
            return
        # A sink that takes a row twice without harm needs neither, but a recheck tells what has changed.
        if page.mode == "recheck" or (page.mode != "fresh" and not (self.sink.upserts and covers)):
            page = self._compared(page, kept)
        rows = page.rows
        if not self.sink.upserts and (page.unclaimed or self._has_strays or page.mode == "adopt"):
            rows = self._without_strays(page, rows)
        written = self.sink.add(page.number, page.source, rows) if rows else 0
        kept.written += written
        self._settle_accounts(page)
        if page.mode == "recheck":
            self.journal.rechecked(page.number, page.last, page.at)
        elif page.mode != "adopt":
            self.journal.cover(page.number, page.after, page.last, page.at)

    def _compared(self, page: FetchedPage, kept: CommitStats) -> FetchedPage:
        """The page without what is on disk as it is; what has changed since is noted."""
        index = self._index
        assert index is not None, "prepare() comes first"
        if page.mode == "recheck":
            missing = index.missing(page.number, page.after, page.last, page.since, page.shown)
            self.journal.mark_deleted(page.number, missing, int(self._now()))
            shown = page.theirs if page.last > page.after else page.shown
            kept.vanished += len(missing) - index.show(shown)
        new, changed = index.compare(page.rows)
        changed += index.compare(index.of(page.number, page.adopted)).changed
        if page.mode == "adopt":
            changed = []
        kept.changed += len(changed)
        index.put(page.number, [*new, *changed])
        if not self.sink.upserts and page.mode != "adopt":
            self.journal.applied(row.id for row in new)  # of a lost file: what is new is newer, too
            self.journal.change(changed)
        fresh = {row.id for row in new}
        return structs.replace(
            page,
            rows=[*new, *changed] if self.sink.upserts else new,
            shared=[each for each in page.shared if str(each) in fresh],
            theirs=index.unknown(page.theirs),
        )

    def _without_strays(self, page: FetchedPage, rows: list[Row]) -> list[Row]:
        """The rows that were not written outside of the rule before; those that are now are noted."""
        known = self.journal.strays([key_of(row) for row in rows]) if self._has_strays else set[str]()
        left = [row for row in rows if key_of(row) not in known]
        for row in left:
            if page.mode == "adopt" or key_of(row) in page.unclaimed:
                self.journal.stray(key_of(row))
                self._has_strays = True
        return left

    def _settle_accounts(self, page: FetchedPage) -> None:
        if page.theirs:
            self.journal.defer(page.number, page.theirs)
        if page.theirs or page.shared:
            balance = self.journal.balance("open").plus(page.shared).plus(page.theirs, -1)
            self.journal.keep_balance("open", balance)

    # ── opening ──

    def _begin_anew(self, plan: Plan) -> None:
        """Another plan for an export that holds nothing."""
        if plan.format != "sqlite":
            self.disk.remove(self.folder / DATABASE)
        self.journal["plan"] = plan.encoded().decode()

    def _repair(self) -> None:
        """Brings disk and journal together; what is not on disk is not covered."""
        try:
            with self.journal.transaction():
                untold = list(map(missing_with, self.journal.unreferenced_blocks()))
                if lost := [*untold, *self.sink.recover()]:
                    self._uncover(
                        [MissingIds(each.source, each.first or 1, each.last or LAST) for each in lost]
                    )
        except BaseException:
            self.sink.close()
            raise

    def _uncover(self, lost: list[MissingIds]) -> None:
        """What is lost is to be read again, by whoever may have it."""
        known = [every.number for every in self.journal.sources()]
        for source, first, last in lost:
            for each in [source] if source else known:
                self.journal.set_state(each, "lost")
                self.journal.replace_spans(each, subtract(self.journal.intervals(each), first, last))
        self._forget_lost(min(each.first for each in lost), max(each.last for each in lost))
        # What its source does not show any more, others may have left to it: they are looked for again.
        self.journal.keep_balance("settled", NEVER)

    def _forget_lost(self, first: int, last: int) -> None:
        """What the journal notes of single messages that are not on disk any more."""
        strays, waiting = self.journal.strays_of(first, last), {row.id for row in self.journal.waiting()}
        vanished = {str(each) for each in self.journal.vanished() if first <= each <= last}
        noted = strays | waiting | vanished
        for row, _ in self.sink.scan(first, last) if noted else ():
            noted.discard(key_of(row))
        self.journal.drop_strays(strays & noted)
        self.journal.lose(int(each) for each in vanished & noted)
        self.journal.applied(
            each for each in waiting & noted if (its := number(each)) is None or first <= its <= last
        )


def agreed(folder: Path, kept: Mapping[str, str | None], plan: Plan | None, app_id: str) -> Plan:
    """Return the folder's plan, from its journal's meta.

    Raises `RequestInvalidError` where the given plan differs, or the app is another one.
    """
    app, encoded = kept.get("app"), kept.get("plan")
    if app is None or encoded is None:
        raise RequestInvalidError(f"{folder / journals.NAME} tells no plan: it is no export's journal")
    if app != app_id:
        raise RequestInvalidError(f"{folder} holds an export of the app {app!r}, and not of {app_id!r}")
    stored = Plan.parse(encoded)
    if plan is not None and plan != stored:
        theirs, ours = difference(stored, plan)
        raise RequestInvalidError(
            f"folder '{folder}' was exported with {theirs}, and this plan has {ours}: allowed is the same "
            "plan, no plan at all to go on with the folder's own, or another folder"
        )
    return stored


def claim(folder: Path, disk: Disk | None = None) -> None:
    """Makes the folder; refuses one that holds something else, or an export that cannot go on."""
    if folder.exists() and not folder.is_dir():
        raise RequestInvalidError(f"{folder} is no folder: choose another")
    if not folder.exists():
        folder.mkdir(parents=True)
        sync_folder(disk or Disk(), folder.parent)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "it cannot be written to", str(folder))
    if (folder / journals.NAME).exists():
        return
    if (folder / MANIFEST).exists():
        raise RequestInvalidError(
            f"{folder} holds an export whose {journals.NAME} is lost: it can be verified, and kept, but not "
            "gone on with; export into another folder"
        )
    if any(not path.name.startswith(".") for path in folder.iterdir()):
        raise RequestInvalidError(
            f"{folder} holds something else than an export, and is not touched: choose another folder"
        )
