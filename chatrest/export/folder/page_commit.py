"""One commit of an export: pages become rows of the store, noted with what they show and cover."""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from ..._core.replies.rows import Row, lines_of
from ..plan.export_plan import Plan
from ..plan.file_names import STEM, partition_folder, partition_rows
from ..plan.id_set import IdSet
from ..plan.message_ids import NO_IDS, Interval, ids_of
from ..plan.ownership import Source
from ..store import ExportStore, NewRows
from .changed_messages import ACTION, ChangedMessages, shown_edits
from .fetched_page import FetchedPage, ListOrder, SourceRows
from .journal import Journal

AddRows: TypeAlias = Callable[[NewRows], int]


class CommitStats(Struct):
    """The numbers of messages that a commit has added, and of those that differ from the disk."""

    written: int = 0
    changed: int = 0


class PageCommit:
    """The pages of a commit, in a transaction of the store: `note` follows the last page."""

    def __init__(
        self, journal: Journal, store: ExportStore, changes: ChangedMessages, plan: Plan, add: AddRows
    ) -> None:
        self.stats: CommitStats = CommitStats()
        self._journal, self._store, self._changes = journal, store, changes
        self._plan, self._add_rows = plan, add
        # By the number of the source: one row of the journal for each.
        self._seen: dict[int, IdSet] = {}
        self._read: dict[int, list[Interval]] = {}
        self._orders: dict[int, ListOrder] = {}
        self._foreign: dict[int, IdSet] = {}
        """By the part that writes them."""

    def add(self, page: FetchedPage) -> None:
        if page.seen is not NO_IDS:
            self._add_shown(page)
        if page.order is not None:
            self._orders[page.number] = page.order
        covered = page.covered
        if page.purpose == "recheck":
            self._journal.rechecks.note(page.number, covered.last, covered.position)
        elif page.purpose == "walk":
            read = Interval(covered.after + 1, covered.last, covered.position)
            self._read.setdefault(page.number, []).append(read)
            if covered.proven:
                self._journal.note_proven(page.number, covered.proven)

    def _add_shown(self, page: FetchedPage) -> None:
        """Write the new rows of a page, compare the known ones, and note the ids that it has shown."""
        ids = self._journal.assign_numbers(page.seen)
        shown = ids if page.again is None else self._journal.assign_numbers(page.again.ids)
        self._changes.undelete(shown)
        if page.again is not None:
            self._journal.rechecks.note_shown(page.number, shown)
            self.stats.changed += self._changes.compare(page.again.rows)
        if page.purpose == "confirm":
            return
        self._seen.setdefault(page.number, IdSet()).update(ids)
        if page.foreign is not None:
            for part, foreign in page.foreign.ids.items():
                self._foreign.setdefault(part, IdSet()).update(self._journal.assign_numbers(foreign))
            for part, rows in page.foreign.rows.items():
                self._journal.outgoing.note_rows(part, rows)
        for each in page.rows:
            is_own = each.source == page.source
            number = page.number if is_own else self._journal.source_number(each.source.key) or page.number
            self.stats.written += self._write(number, each)

    def _write(self, number: int, rows: SourceRows) -> int:
        new, ids = self._store.unwritten(rows.rows, rows.ids) if rows.rows else (rows.rows, rows.ids)
        for stem, part in self._by_stem(rows.source, new).items():
            self._add_rows(NewRows(stem, number, part, ids if part is new else ids_of(part), is_new=True))
        if self._changes.has_older and ACTION in lines_of(new):
            self._journal.edits.note(shown_edits(new))
        return len(new)

    def _by_stem(self, source: Source, rows: list[Row]) -> dict[str, list[Row]]:
        if not rows:
            return {}
        partition = self._plan.partition or "none"
        by_key = partition_rows(partition, source, rows)
        return {f"{partition_folder(partition, key)}/{STEM}": part for key, part in by_key.items()}

    def note(self) -> None:
        for source, ids in self._seen.items():
            self._journal.note_seen(source, ids)
        for source, read in self._read.items():
            self._journal.note_covered(source, read)
        for source, order in self._orders.items():
            self._journal.note_order(source, order)
        for part, ids in self._foreign.items():
            self._journal.outgoing.note_ids(part, ids)
